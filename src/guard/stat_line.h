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
  std::uint64_t flags = 0;    // Of its first thread: PF_EXITING.
  std::uint64_t pending = 0;  // Signals that wait for its first thread.
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
  bool has_start = false;
  for (int field = 3; *at != '\0' && field <= 31; ++field) {
    if (field == 9) facts.flags = read_number(at);
    if (field == 20) facts.threads = read_number(at);
    if (field == 22) {
      facts.start_ticks = read_number(at);
      has_start = true;
    }
    if (field == 31) facts.pending = read_number(at);
    while (*at != '\0' && *at != ' ') ++at;
    if (*at == ' ') ++at;
  }
  return has_start;
}

/// The thread has ended, but for its number.
inline bool has_ended(const ProcessFacts& thread) {
  return thread.state == 'Z' || thread.state == 'X' || thread.state == 'x';
}

/// The thread will run no code of the program any more: it has ended, is about to, or was killed.
/// SIGKILL waits for each thread of a process until the thread takes it; from then on PF_EXITING
/// (linux/sched.h) is set.
inline bool is_ending(const ProcessFacts& thread) {
  constexpr std::uint64_t kExiting = 0x4;
  constexpr std::uint64_t kKilled = std::uint64_t{1} << (9U - 1U);
  return has_ended(thread) || (thread.flags & kExiting) != 0 || (thread.pending & kKilled) != 0;
}

}  // namespace berth::guard
