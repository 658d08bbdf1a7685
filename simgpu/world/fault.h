// SPDX-License-Identifier: Apache-2.0
// Faults that berth-simctl has set, as the simulated NVML meets them. May block, which is the point
// of one of them. Any thread may call it.
#pragma once

#include "gpu/nvml_abi.h"
#include "simgpu/world/world_file.h"

namespace berth::simgpu {

/// What an NVML call made now meets before it does anything: it hangs as long as told, then fails
/// if told.
nvml::Return meet_nvml_faults(FaultState& faults);

/// Lets NVML calls hang until then; 0 frees those that hang. For berth-simctl.
void set_nvml_hang(FaultState& faults, std::int64_t until_ns);

}  // namespace berth::simgpu
