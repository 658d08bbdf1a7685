// SPDX-License-Identifier: Apache-2.0
// The commands of berth-simctl: faults of a simulated driver, set in its world's file. One runs at
// a time in a world; programs that use the world are never held up.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simgpu/world/world.h"

namespace berth::simgpu {

/// What each command is and takes, for --help.
std::string simctl_help();

/// Runs one; returns what is to be printed. kInvalid: no such command, or not so.
Result<std::string> run_simctl(World& world, const std::vector<std::string>& words);

}  // namespace berth::simgpu
