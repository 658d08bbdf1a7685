// SPDX-License-Identifier: Apache-2.0
// The text of /proc/PID/stat, as far as the guard needs it: without the C library, which
// os/processes has. Pure.
#pragma once

#include <cstdint>

namespace berth::guard {

struct ProcessFacts {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t threads = 0;
  char state = '?';
};

inline std::uint64_t read_number(const char*& at) {
  std::uint64_t number = 0;
  while (*at >= '0' && *at <= '9') number = number * 10 + static_cast<std::uint64_t>(*at++ - '0');
  return number;
}

/// "pid (name) state …"; the name may hold anything, so the last ')' ends it.
inline bool parse_stat(const char* text, ProcessFacts& facts) {
  const char* at = text;
  facts.pid = read_number(at);
  const char* after_name = nullptr;
  for (; *at != '\0'; ++at) {
    if (*at == ')') after_name = at + 1;
  }
  if (after_name == nullptr || after_name[0] != ' ') return false;
  at = after_name + 1;
  facts.state = *at;
  for (int field = 3; *at != '\0'; ++field) {
    if (field == 20) facts.threads = read_number(at);
    if (field == 22) {
      facts.start_ticks = read_number(at);
      return true;
    }
    while (*at != '\0' && *at != ' ') ++at;
    if (*at == ' ') ++at;
  }
  return false;
}

}  // namespace berth::guard
