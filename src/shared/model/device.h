// SPDX-License-Identifier: Apache-2.0
// Samples of the devices: a Sample is one look at all of them through NVML. Figures that the
// driver does not give are absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

/// A process seen on a device, with the facts by which it is attributed to a lease. All of them are
/// read in one go by the probe, so that attribution needs no second look at /proc.
struct ProcessSample {
  Process process;
  std::optional<Bytes> used;  // Absent in containers, under WSL and with some drivers.
  std::optional<std::uint32_t> gpu_utilization = {};  // As of a device, by this process alone.
  UserId user;
  std::string name;
  std::optional<Handle> env_lease;  // BERTH_LEASE_ID of its environment, where readable.
  std::vector<Process> ancestors;   // Parent first; at most limits::kAncestorsMax.
  bool alive = true;  // False where the driver still lists a pid that /proc no longer has.
};

/// What holds a device's clocks down, the gravest if there are several (NVML's
/// nvmlClocksThrottleReason…; that it idles, or that someone has set them, does not count).
enum class Throttle : std::uint8_t { kNone, kPower, kThermal, kHardware };
constexpr auto words_of(Throttle) {
  using enum Throttle;
  return make_words<Throttle>(
      {{kNone, "none"}, {kPower, "power"}, {kThermal, "thermal"}, {kHardware, "hardware"}});
}

/// Figures of a device that nothing is computed from on their way: the probe tells them by this
/// table, the coordinator keeps those of the last sample, and answers have them.
struct DeviceFigures {
  std::optional<Bytes> driver_reserved = {};  // NVML v2 `reserved`; part of neither free nor used.
  // Percent of the time of the driver's last look back, which lasts a second at most.
  std::optional<std::uint32_t> gpu_utilization = {};
  std::optional<std::uint32_t> memory_utilization = {};
  std::optional<std::uint32_t> temperature = {};  // Of the core, in degrees Celsius.
  std::optional<std::uint32_t> power_milliwatts = {};
  std::optional<std::uint32_t> power_limit_milliwatts = {};
  std::optional<std::uint32_t> sm_clock_mhz = {};
  std::optional<std::uint32_t> memory_clock_mhz = {};
  std::optional<std::uint32_t> fan = {};  // Percent.
  std::optional<std::uint32_t> pcie_generation = {};
  std::optional<std::uint32_t> pcie_lanes = {};
  std::optional<std::uint64_t> ecc_corrected = {};  // Since the driver was loaded.
  std::optional<std::uint64_t> ecc_uncorrected = {};
  std::optional<Throttle> throttle = {};
};
constexpr auto fields_of(Is<DeviceFigures> auto*) {
  return fields({}, field("vram_driver", &DeviceFigures::driver_reserved, "By the driver itself."),
                field("gpu_utilization_percent", &DeviceFigures::gpu_utilization,
                      "Of the last second or less, how long something was computed.")
                    .to(100),
                field("memory_utilization_percent", &DeviceFigures::memory_utilization,
                      "Of the same time, how long its memory was read or written.")
                    .to(100),
                field("temperature_celsius", &DeviceFigures::temperature, "Of the core."),
                field("power_milliwatts", &DeviceFigures::power_milliwatts, "Drawn by the board."),
                field("power_limit_milliwatts", &DeviceFigures::power_limit_milliwatts,
                      "The limit that holds."),
                field("sm_clock_mhz", &DeviceFigures::sm_clock_mhz, "Of the multiprocessors."),
                field("memory_clock_mhz", &DeviceFigures::memory_clock_mhz, "Of the memory."),
                field("fan_percent", &DeviceFigures::fan,
                      "Of the speed that is meant to be its highest; null also without a fan."),
                field("pcie_generation", &DeviceFigures::pcie_generation,
                      "Of the link as it is now: an idle device may have taken it down."),
                field("pcie_lanes", &DeviceFigures::pcie_lanes, "Of the link as it is now."),
                field("ecc_corrected_errors", &DeviceFigures::ecc_corrected,
                      "Of its memory, since the driver was loaded; null without ECC."),
                field("ecc_uncorrected_errors", &DeviceFigures::ecc_uncorrected,
                      "The same, of those that could not be mended."),
                field("throttle", &DeviceFigures::throttle,
                      "What holds its clocks down: the power limit, its heat, or the board itself "
                      "(too hot, or short of power)."));
}

struct DeviceSample {
  DeviceId id;
  std::uint32_t index = 0;  // PCI order, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them.
  std::string model;
  std::string pci_bus;
  bool lost = false;    // Fallen off the bus, or the driver answers for it with errors.
  bool asleep = false;  // Suspended by power management, and not woken to be asked.
  std::string trouble;  // For a person; empty if there is none.
  Bytes capacity;
  std::optional<Bytes> used;  // By all processes; by the driver too, if not told apart.
  DeviceFigures figures = {};
  std::optional<std::vector<ProcessSample>> processes;  // Absent: the driver does not tell.
};

/// What the programs of a lease have charged against its budget on a device, by their own account:
/// the guard's, to be compared with the driver's.
struct ChargeSample {
  Handle lease;
  DeviceId device;
  Bytes charged;              // Also by dead ones, until the driver has freed it.
  Bytes peak;                 // The most that was charged at once.
  Bytes wanted = {};          // By allocations that wait for room in the budget.
  std::uint64_t refused = 0;  // Allocations that the budget did not allow.
  struct Refusal {
    Bytes bytes;
    Bytes used;  // Of the budget, then.
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };
  std::optional<Refusal> refusal = {};  // The last, where it is also the last of the lease.
  bool unchanged = false;  // Nothing was charged or given back between the question and its answer.
  Bytes excess;            // What of the charges is for contexts that were measured to cost less.
  Bytes dead = {};  // Charged beside that by dead ones, perhaps freed by now. Guards count it.
};

/// What a CUDA context costs a user on a device, as their processes have shown.
struct ContextSample {
  UserId user;
  DeviceId device;
  Bytes cost;
};

struct Sample {
  Instant asked_at;     // When the question was sent: it shows nothing that happened later.
  Instant answered_at;  // When the answer came.
  bool simulated = false;
  std::string driver_version;           // Empty if unknown.
  std::string trouble;                  // Why there are no devices; empty if there is no trouble.
  std::vector<DeviceSample> devices;    // In PCI order.
  std::vector<ChargeSample> charges;    // Of leases whose programs keep such an account.
  std::vector<ContextSample> contexts;  // Of whom it was measured.
};

}  // namespace berth
