// SPDX-License-Identifier: Apache-2.0
// Names of simulated worlds and places of their driver. The simulated driver, the daemon and the
// command line each find their world by it, so it is written here, once. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace berth {

/// One item of BERTH_SIM that names devices: "2x16GiB:RTX-5080".
struct SimulatedDevices {
  std::size_t count = 1;
  Bytes capacity;
  std::string model = "GPU";
};
Result<SimulatedDevices> parse_simulated_devices(std::string_view item);

/// kInvalid, with the item and an example, where an item of BERTH_SIM names no devices and is no
/// option. Options, and the world as a whole, are for the driver to judge.
Status check_simulated_devices(std::string_view spec);

/// BERTH_SIM_NAME where it is set; else "w" and eight hexadecimal digits that BERTH_SIM's text
/// decides (FNV-1a).
std::string simulated_world_name(std::string_view spec, std::string_view name);

/// What LD_LIBRARY_PATH must be so that a program finds the simulated driver of this installation
/// before any other. `program`: the path of one of our programs; `path`: what it is now. Already
/// there, it is not put there again. `spec`: BERTH_SIM, which may ask for the driver of another
/// CUDA (cuda=11.4).
std::string simulated_library_path(std::string_view program, std::string_view path,
                                   std::string_view spec = {});

}  // namespace berth
