// SPDX-License-Identifier: Apache-2.0
// The state of the simulated NVML within one process: whether it is initialised, and its world. The
// functions of the ABI (api.cc) ask for it in each call; any thread may.
#pragma once

#include <cstdint>

#include "abi/nvml.h"
#include "simgpu/world/world.h"

namespace berth::simgpu {

/// The world, or what a call made now must return. Meets the faults that were set.
struct Entered {
  nvml::Return result;
  World* world;
};
Entered enter_nvml();

/// The same for a call on a device; null handles and lost devices are results too.
struct EnteredDevice {
  nvml::Return result;
  World* world;
  std::uint32_t device;
};
EnteredDevice enter_nvml(nvml::Device handle);

nvml::Device handle_of(std::uint32_t device);

nvml::Return initialise_nvml();
nvml::Return shut_nvml_down();

}  // namespace berth::simgpu
