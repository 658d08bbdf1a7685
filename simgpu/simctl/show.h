// SPDX-License-Identifier: Apache-2.0
// Counters of a simulated driver, as JSON for people and tests. It only looks.
#pragma once

#include <string>
#include <string_view>

#include "simgpu/world/world.h"

namespace berth::simgpu {

/// As CheckpointCall and DeviceMode count them.
constexpr std::string_view kCheckpointCallNames[] = {"lock", "checkpoint", "restore", "unlock"};
constexpr std::string_view kModeNames[] = {"usual", "mig", "mps"};

/// One object: devices, processes, faults.
std::string show_text(World& world);

/// One line a change of memory, oldest first, as far back as the world remembers.
std::string events_text(const World& world);

}  // namespace berth::simgpu
