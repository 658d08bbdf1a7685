// SPDX-License-Identifier: Apache-2.0
// The door to NVML: the library is found when the program runs, and its functions are called here
// and nowhere else. Any call may hang for ever when a GPU has fallen off the bus; so the probe
// calls them, and programs that are asked by their user (libberth, `berth query`), never the
// daemon. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/nvml.h"
#include "base/result.h"
#include "base/units.h"

namespace berth::gpu {

/// A figure, or the driver's reason for giving none.
template <class T>
struct NvmlAnswer {
  nvml::Return result = nvml::kUnknown;
  T value{};
  explicit operator bool() const { return result == nvml::kSuccess; }
};

struct MemoryFigures {
  Bytes total;
  Bytes used;                     // Without what the driver keeps for itself, if that is known.
  std::optional<Bytes> reserved;  // What the driver keeps for itself.
};

struct ProcessFigure {
  std::int32_t pid = 0;
  std::optional<Bytes> used;
};

class Nvml {
 public:
  /// Loads the library and initialises it. The error is for a person and says what to do.
  static Result<std::unique_ptr<Nvml>> load(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The name of the simulated world; nothing if NVML is a real one.
  std::optional<std::string> simulated_world() const;
  std::string driver_version() const;  // Empty if it is not told.

  NvmlAnswer<std::uint32_t> count() const;
  NvmlAnswer<nvml::Device> device(std::uint32_t index) const;
  NvmlAnswer<std::string> uuid(nvml::Device device) const;
  NvmlAnswer<std::string> name(nvml::Device device) const;
  NvmlAnswer<std::string> pci_bus(nvml::Device device) const;
  NvmlAnswer<MemoryFigures> memory(nvml::Device device) const;
  /// Compute and graphics processes, each pid once.
  NvmlAnswer<std::vector<ProcessFigure>> processes(nvml::Device device) const;
  NvmlAnswer<std::vector<ProcessFigure>> compute_processes(nvml::Device device) const;
  NvmlAnswer<nvml::Utilization> utilization(nvml::Device device) const;
  NvmlAnswer<std::uint32_t> temperature(
      nvml::Device device) const;  // Of the core, in degrees Celsius.
  NvmlAnswer<std::uint32_t> power_milliwatts(nvml::Device device) const;
  NvmlAnswer<std::uint32_t> power_limit_milliwatts(nvml::Device device) const;
  /// `clock`: kClockGraphics, kClockSm, kClockMemory.
  NvmlAnswer<std::uint32_t> clock_mhz(nvml::Device device, unsigned int clock) const;
  NvmlAnswer<std::uint32_t> fan_percent(nvml::Device device) const;
  NvmlAnswer<std::uint32_t> pcie_generation(nvml::Device device) const;
  NvmlAnswer<std::uint32_t> pcie_lanes(nvml::Device device) const;
  /// `kind`: kEccCorrected, kEccUncorrected. Since the driver was loaded.
  NvmlAnswer<unsigned long long> ecc_errors(nvml::Device device, unsigned int kind) const;
  /// Bits: kHeldBy…
  NvmlAnswer<unsigned long long> throttle_reasons(nvml::Device device) const;
  /// Of processes that computed after `since_us`, once or more often each. None did: an empty list.
  NvmlAnswer<std::vector<nvml::ProcessUtilization>> process_utilization(
      nvml::Device device, unsigned long long since_us) const;

  struct Functions;
  /// For load().
  Nvml(void* library, std::unique_ptr<Functions> functions);

 private:
  void* library_;
  std::unique_ptr<Functions> functions_;
};

/// "the GPU has fallen off the bus (NVML_ERROR_GPU_IS_LOST)".
std::string explain(nvml::Return result);

}  // namespace berth::gpu
