// SPDX-License-Identifier: Apache-2.0
// The devices that this process sees, and what the driver tells of their memory. Nothing is started
// and nothing is cached here. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "gpu/nvml.h"

namespace berth::library {

/// What the driver tells of one device. Absent: unknown.
struct DeviceMemory {
  std::optional<Bytes> total;
  std::optional<Bytes> used;
  std::optional<Bytes> free;
  std::optional<Bytes> own;  // By this process.
};

struct SeenDevice {
  nvml::Device handle = nullptr;
  std::int32_t driver_index = -1;
  std::string uuid;
  std::optional<DeviceId> id;
  std::string name;
  Bytes total;  // 0: unknown.
};

/// Of the driver's devices, in its order, those that CUDA_VISIBLE_DEVICES leaves, in that one's.
/// Absent: the variable is not set. What it names and the driver does not have ends the list, as
/// CUDA has it.
std::vector<SeenDevice> visible_devices(const std::vector<SeenDevice>& all,
                                        const std::optional<std::string>& variable);

class Devices {
 public:
  /// kUnavailable, with what to do about it: no driver, or not the simulated one that BERTH_SIM
  /// asks for.
  static Result<Devices> load();

  bool simulated() const { return simulated_; }
  const std::vector<SeenDevice>& seen() const { return seen_; }
  DeviceMemory measure(std::size_t device) const;

 private:
  Devices(std::unique_ptr<gpu::Nvml> nvml, std::vector<SeenDevice> seen, bool simulated);

  std::unique_ptr<gpu::Nvml> nvml_;
  std::vector<SeenDevice> seen_;
  bool simulated_ = false;
  bool pids_are_ours_ = false;  // The driver numbers processes as we do.
};

}  // namespace berth::library
