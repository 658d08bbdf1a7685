// SPDX-License-Identifier: Apache-2.0
// Faults that berth-simctl has set, as the simulated drivers meet them. May block, which is the
// point of some of them. Any thread may call these.
#pragma once

#include <cstdint>

#include "abi/nvml.h"
#include "simgpu/world/world_file.h"

namespace berth::simgpu {

/// Lets those who meet it wait until then; 0 frees those who wait. For berth-simctl.
void set_hang(HangState& hang, std::int64_t until_ns);
/// Waits as long as it was set to last.
void wait_out(HangState& hang);

/// For berth-simctl; kForEver: all calls.
void set_error(ErrorState& error, std::uint32_t code, std::uint32_t calls);
/// What a call made now must return; 0: nothing is wrong.
std::uint32_t take_error(ErrorState& error);

/// What an NVML call made now meets before it does anything.
nvml::Return meet_nvml_faults(FaultState& faults);

}  // namespace berth::simgpu
