// SPDX-License-Identifier: Apache-2.0
// How busy a simulated device is, and how warm: what berth-simctl has set, and else what follows
// from what processes say that they do. Nothing where nobody has said anything: no figure is made
// up.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "simgpu/world/world.h"

namespace berth::simgpu {

inline constexpr std::string_view kGaugeNames[kGauges] = {
    "temperature",     "power",      "power-limit",   "sm-clock",        "memory-clock", "fan",
    "pcie-generation", "pcie-lanes", "ecc-corrected", "ecc-uncorrected", "throttle"};

/// By `percent`, until it says another. No thread of its process may say so at the same time.
void set_load(World& world, std::uint32_t slot, std::uint32_t device, std::uint32_t percent);

/// Nothing: the driver does not tell.
std::optional<UtilizationRates> utilization_of(World& world, std::uint32_t device);
std::optional<std::uint32_t> gauge_of(World& world, std::uint32_t device, Gauge gauge);

/// Of a process that has said so, or of which that is known because another has.
struct ProcessLoad {
  std::int32_t pid = 0;
  std::uint32_t percent = 0;
};
/// Nothing: the driver does not tell.
std::optional<std::vector<ProcessLoad>> loads_on(World& world, std::uint32_t device);

}  // namespace berth::simgpu
