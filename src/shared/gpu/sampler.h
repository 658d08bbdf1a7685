// SPDX-License-Identifier: Apache-2.0
// One look at all devices: NVML, /proc and /sys put together. It runs in the probe, where it may
// hang without harm. Unknown figures are absent. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/nvml.h"
#include "gpu/probe_protocol.h"
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

  /// Who the devices are, as was told before. Before the first sample.
  void remember(const std::vector<Identity>& known);
  /// Without instants. NVML is loaded as soon as a device is awake, or not known, and again after
  /// it was in trouble.
  Sample sample();

 private:
  std::string load();
  bool all_asleep() const;
  DeviceSample sample_device(std::uint32_t index, Instant now);
  std::string look_at(std::uint32_t index, Instant now, DeviceSample& sample);
  std::string identify(nvml::Device device, Identity& identity) const;
  std::string measure(nvml::Device device, Instant now, DeviceSample& sample);
  void add_utilization(nvml::Device device, DeviceSample& sample);
  DeviceFigures figures(nvml::Device device) const;
  bool is_asleep(const std::string& pci_bus) const;

  Options options_;
  const os::Clock& clock_;
  std::unique_ptr<Nvml> nvml_;
  bool simulated_ = false;
  std::vector<Identity> identities_;  // By index; of some perhaps nothing is known.
  // By index: of the last sample of what processes compute, as the driver counts time.
  std::map<std::uint32_t, unsigned long long> utilization_seen_us_;
  ProcessFacts facts_;
};

}  // namespace berth::gpu
