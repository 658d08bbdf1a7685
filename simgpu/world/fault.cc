// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/fault.h"

#include "simgpu/world/clock.h"
#include "simgpu/world/futex.h"

namespace berth::simgpu {

void set_hang(HangState& hang, std::int64_t until_ns) {
  hang.until_ns.store(until_ns);
  hang.epoch.fetch_add(1);
  futex_wake(hang.epoch);
}

void wait_out(HangState& hang) {
  for (;;) {
    const std::uint32_t epoch = hang.epoch.load();
    const std::int64_t left_ns = hang.until_ns.load() - now_ns();
    if (left_ns <= 0) return;
    futex_wait(hang.epoch, epoch, left_ns);
  }
}

void set_error(ErrorState& error, std::uint32_t code, std::uint32_t calls) {
  error.left.store(code == 0 ? 0 : calls);
  error.code.store(code);
}

std::uint32_t take_error(ErrorState& error) {
  const std::uint32_t code = error.code.load();
  if (code == 0) return 0;
  std::uint32_t left = error.left.load();
  while (left != 0 && left != kForEver) {
    if (error.left.compare_exchange_weak(left, left - 1)) break;
  }
  return left == 0 ? 0 : code;
}

nvml::Return meet_nvml_faults(FaultState& faults) {
  wait_out(faults.nvml_hang);
  return static_cast<nvml::Return>(take_error(faults.nvml_error));
}

}  // namespace berth::simgpu
