// SPDX-License-Identifier: Apache-2.0
// The text of /proc/self/fdinfo/FD, as far as the guard needs it (proc_pid_fdinfo(5)). Pure.
#pragma once

#include "guard/stat_line.h"

namespace berth::guard {

/// Where the first lock begins that this open file description itself holds (OFDLCK), of those that
/// begin at `least` or above; 0: it holds none. A line of one:
/// "lock:\t1: OFDLCK ADVISORY  READ -1 00:01:2049 START END".
inline std::uint64_t locked_place(const char* text, std::uint64_t least) {
  constexpr const char* kKind = "OFDLCK";
  constexpr int kWordsBetween = 5;  // And the kind itself.
  for (const char* at = text; *at != '\0'; ++at) {
    int same = 0;
    while (kKind[same] != '\0' && at[same] == kKind[same]) ++same;
    if (kKind[same] != '\0') continue;
    for (int words = 0; words < kWordsBetween; ++words) {
      while (*at != '\0' && *at != ' ' && *at != '\n') ++at;
      while (*at == ' ') ++at;
    }
    const std::uint64_t start = read_number(at);
    if (start >= least) return start;
    if (*at == '\0') break;
  }
  return 0;
}

}  // namespace berth::guard
