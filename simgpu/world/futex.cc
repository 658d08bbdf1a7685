// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace berth::simgpu {

// The kernel wants the word itself; an atomic of 32 bits is one.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t for_ns) {
  const timespec timeout{.tv_sec = for_ns / 1'000'000'000, .tv_nsec = for_ns % 1'000'000'000};
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace berth::simgpu
