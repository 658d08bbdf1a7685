// SPDX-License-Identifier: Apache-2.0
// The devices, by the last samples: which are there, how large they are, what a
// context costs on them. Who uses them is attribution.h's matter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/decider.h"
#include "core/ledger.h"
#include "core/part.h"
#include "model/device.h"

namespace berth::core {

/// Of one device, beside its account.
struct KnownDevice {
  std::string pci_bus;
  std::string trouble;
  bool asleep = false;
  Instant asked_at;
  std::optional<Bytes> used;
  DeviceFigures figures;
  bool lists_processes = false;  // The driver lists them.
  bool ever_listed = false;      // It has listed them before.
  std::optional<Instant> sampled_at;
};

class Devices {
 public:
  Devices(Decider& core, Ledger& ledger) : core_(core), ledger_(ledger) {}

  /// What it says of the driver; true: and of the devices.
  bool hear(const Sample& sample);
  /// Capacities, and which devices have come or gone.
  void update(const Sample& sample);
  /// The configuration has changed.
  void keep_reserves();
  void forget(LeaseId id) { degraded_.forget(id); }

  const std::map<DeviceId, KnownDevice>& all() const { return known_; }
  /// Null: no sample told of it.
  const KnownDevice* find(DeviceId device) const;
  /// Each of those that are named, once; or which is not there.
  std::variant<std::vector<DeviceId>, Refusal> named(const std::vector<DeviceName>& names) const;
  /// Those of which the sample tells what is used.
  std::vector<const Account*> sampled(const Sample& sample) const;
  /// What of an ended lease the driver still lists there is all that is left of it.
  bool tells_who_is_left(DeviceId device) const;
  bool sleeps(DeviceId device) const;
  /// A device of it is lost.
  bool is_degraded(LeaseId id) const { return degraded_.at(id); }

  /// What a context costs the user there, or is taken to cost as long as none was measured.
  Bytes context_cost(UserId user, DeviceId device) const;
  /// The most of it on the devices of a lease that was granted.
  Bytes dearest_context(const Lease& lease) const;

  bool sample_seen() const { return sample_seen_; }
  bool simulated() const { return simulated_; }
  const std::string& trouble() const { return trouble_; }
  const std::string& driver_version() const { return driver_version_; }

 private:
  void update(const DeviceSample& device, const Sample& sample);
  void announce_lost(LeaseId id);

  Ref<Decider> core_;
  Ref<Ledger> ledger_;
  std::map<DeviceId, KnownDevice> known_;
  std::map<std::pair<UserId, DeviceId>, Bytes> contexts_;  // What they cost, where it was measured.
  PerLease<bool> degraded_;
  bool sample_seen_ = false;
  bool simulated_ = false;
  std::string trouble_;
  std::string driver_version_;  // Empty if unknown.
};

}  // namespace berth::core
