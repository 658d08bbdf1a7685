// SPDX-License-Identifier: Apache-2.0
// One look at all devices: NVML, /proc and /sys put together. It runs in the probe, where it may
// hang without harm. Unknown figures are absent. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/nvml.h"
#include "gpu/process_facts.h"
#include "model/device.h"
#include "os/clock.h"

namespace berth::gpu {

class Sampler {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    std::string sysfs = "/sys";  // Where power management tells what is asleep.
    bool simulated = false;      // BERTH_SIM is set: only the simulated NVML will do.
  };
  Sampler(Options options, const os::Clock& clock);

  /// Without instants. NVML is loaded at the first call, and again after it was in trouble.
  Sample sample();

 private:
  // What does not change while the device is there, and is told of one that is lost.
  struct Identity {
    DeviceId id;
    std::string model;
    std::string pci_bus;
  };

  std::string load();
  DeviceSample sample_device(std::uint32_t index, Instant now);
  std::string identify(nvml::Device device, Identity& identity) const;
  std::string measure(nvml::Device device, Instant now, DeviceSample& sample);
  bool is_asleep(const std::string& pci_bus) const;

  Options options_;
  const os::Clock& clock_;
  std::unique_ptr<Nvml> nvml_;
  bool simulated_ = false;
  std::vector<Identity> identities_;  // By index.
  ProcessFacts facts_;
};

}  // namespace berth::gpu
