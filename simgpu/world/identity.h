// SPDX-License-Identifier: Apache-2.0
// Who a process is, in one word that an atomic can hold: its pid and its start time. It reads /proc
// and keeps nothing; any thread may call it.
#pragma once

#include <cstdint>

namespace berth::simgpu {

/// pid 22 bits, the namespaces that pid and start time are of 8 bits, start time in clock ticks
/// since boot 34 bits. 0 is nobody.
using Identity = std::uint64_t;

constexpr std::int32_t pid_of(Identity identity) {
  return static_cast<std::int32_t>(identity >> 42U);
}
constexpr std::uint64_t start_of(Identity identity) {
  return identity & ((std::uint64_t{1} << 34U) - 1);
}
constexpr std::uint64_t namespaces_of(Identity identity) {
  return identity >> 34U & 0xffU;
}

/// The calling process; 0 if /proc is not there.
Identity own_identity();

/// False once nothing of the process runs any more: a zombie is dead, the kernel has closed its
/// files and a real driver has its memory back. Of a process of our own namespaces only.
bool is_alive(Identity identity);

}  // namespace berth::simgpu
