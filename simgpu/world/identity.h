// SPDX-License-Identifier: Apache-2.0
// Identity of a process that has a slot, and the numbers by which others know it. A pid means a
// process in one PID namespace only, and a start time in one time namespace: neither says who is
// who, or who lives. Reads /proc and keeps nothing; any thread may call it.
#pragma once

#include <cstdint>

namespace berth::simgpu {

/// Random, drawn anew each time a slot is taken. 0 is nobody.
using Identity = std::uint64_t;
Identity draw_identity();

/// The calling process. What cannot be read without a /proc is 0.
struct ProcessNumbers {
  std::int32_t own_pid = 0;  // In its own PID namespace.
  std::int32_t pid = 0;      // As its /proc has it, which may be that of a namespace around it.
  std::uint64_t pid_namespace = 0;
  std::uint64_t start_ticks = 0;
};
ProcessNumbers own_numbers();

/// The pid by which our /proc has a process of another PID namespace; 0 if it does not show it.
std::int32_t pid_in_our_proc(std::int32_t own_pid, std::uint64_t pid_namespace);

}  // namespace berth::simgpu
