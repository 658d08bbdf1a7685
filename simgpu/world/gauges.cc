// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/gauges.h"

#include <algorithm>

namespace berth::simgpu {
namespace {

// A card of no model in particular, between these when it idles and when it is busy.
constexpr std::uint32_t kIdleCelsius = 34;
constexpr std::uint32_t kBusyCelsius = 78;
constexpr std::uint32_t kLimitMilliwatts = 300'000;
constexpr std::uint32_t kIdleMilliwatts = 24'000;
constexpr std::uint32_t kBusyMilliwatts = 285'000;
constexpr std::uint32_t kIdleMegahertz = 210;
constexpr std::uint32_t kBusyMegahertz = 1'980;
constexpr std::uint32_t kMemoryMegahertz = 2'619;
constexpr std::uint32_t kIdleFan = 0;
constexpr std::uint32_t kBusyFan = 62;

std::optional<std::uint32_t> told(const Told& figure) {
  const std::uint32_t kept = figure.load();
  return kept == 0 ? std::nullopt : std::optional(kept - 1);
}

std::uint32_t between(std::uint32_t idle, std::uint32_t busy, std::uint32_t percent) {
  return idle + (busy - idle) * percent / 100;
}

std::uint32_t by_load(Gauge gauge, std::uint32_t percent) {
  switch (gauge) {
    case Gauge::kTemperature:
      return between(kIdleCelsius, kBusyCelsius, percent);
    case Gauge::kPower:
      return between(kIdleMilliwatts, kBusyMilliwatts, percent);
    case Gauge::kPowerLimit:
      return kLimitMilliwatts;
    case Gauge::kSmClock:
      return percent == 0 ? kIdleMegahertz : kBusyMegahertz;
    case Gauge::kMemoryClock:
      return kMemoryMegahertz;
    case Gauge::kFan:
      return between(kIdleFan, kBusyFan, percent);
    case Gauge::kPcieGeneration:
      return 4;
    case Gauge::kPcieLanes:
      return 16;
    case Gauge::kEccCorrected:
    case Gauge::kEccUncorrected:
    case Gauge::kThrottle:
      break;
  }
  return 0;
}

}  // namespace

void set_load(World& world, std::uint32_t slot, std::uint32_t device, std::uint32_t percent) {
  world.file().slots[slot].load[device] = percent;
  world.file().devices[device].has_load = 1;
}

std::optional<std::vector<ProcessLoad>> loads_on(World& world, std::uint32_t device) {
  const WorldFile& file = world.file();
  if (file.devices[device].has_load.load() == 0) return std::nullopt;
  std::vector<ProcessLoad> loads;
  const std::uint32_t end = std::min(file.slots_seen.load(), kSlotsMax);
  for (std::uint32_t slot = kUnmanagedSlot + 1; slot < end; ++slot) {
    const SlotState& state = file.slots[slot];
    const bool has_context = (state.contexts.load() >> device & 1U) != 0;
    if (state.owner.load() == 0 || !has_context || !world.lives(slot)) continue;
    loads.push_back({.pid = world.pid_of(slot), .percent = state.load[device].load()});
  }
  return loads;
}

std::optional<UtilizationRates> utilization_of(World& world, std::uint32_t device) {
  const UtilizationRates set = world.file().devices[device].utilization;
  if (set.is_told) return set;
  const auto loads = loads_on(world, device);
  if (!loads) return std::nullopt;
  std::uint32_t sum = 0;
  for (const ProcessLoad& load : *loads) sum = std::min(sum + load.percent, 100U);
  return UtilizationRates{.computing = static_cast<std::uint8_t>(sum),
                          .copying = static_cast<std::uint8_t>(sum / 2),
                          .is_told = true};
}

std::optional<std::uint32_t> gauge_of(World& world, std::uint32_t device, Gauge gauge) {
  const DeviceState& state = world.file().devices[device];
  if (const auto set = told(state.gauges[static_cast<std::size_t>(gauge)])) return set;
  if (state.has_load.load() == 0) return std::nullopt;
  const auto rates = utilization_of(world, device);
  return rates ? std::optional(by_load(gauge, rates->computing)) : std::nullopt;
}

}  // namespace berth::simgpu
