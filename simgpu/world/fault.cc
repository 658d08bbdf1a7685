// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/fault.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "simgpu/world/world.h"

namespace berth::simgpu {
namespace {

// The kernel wants the word itself; an atomic of 32 bits is one.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t for_ns) {
  const timespec timeout{.tv_sec = for_ns / 1'000'000'000, .tv_nsec = for_ns % 1'000'000'000};
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

}  // namespace

nvml::Return meet_nvml_faults(FaultState& faults) {
  for (;;) {
    const std::uint32_t epoch = faults.nvml_hang_epoch.load();
    const std::int64_t left_ns = faults.nvml_hang_until_ns.load() - now_ns();
    if (left_ns <= 0) break;
    futex_wait(faults.nvml_hang_epoch, epoch, left_ns);
  }
  const std::uint32_t error = faults.nvml_error.load();
  if (error == 0) return nvml::kSuccess;
  std::uint32_t left = faults.nvml_error_left.load();
  while (left != 0 && left != kForEver) {
    if (faults.nvml_error_left.compare_exchange_weak(left, left - 1)) break;
  }
  return left == 0 ? nvml::kSuccess : static_cast<nvml::Return>(error);
}

void set_nvml_hang(FaultState& faults, std::int64_t until_ns) {
  faults.nvml_hang_until_ns.store(until_ns);
  faults.nvml_hang_epoch.fetch_add(1);
  (void)::syscall(SYS_futex, &faults.nvml_hang_epoch, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace berth::simgpu
