// SPDX-License-Identifier: Apache-2.0
// The pressure on each lease and each device, by the samples; see Note [Danger to others, not use].
#pragma once

#include <map>
#include <optional>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/pressure.h"

namespace berth::core {

class PressureMonitor {
 public:
  PressureMonitor(Decider& core, const Devices& devices, Attribution& attribution)
      : core_(core), devices_(devices), attribution_(attribution) {}

  /// After the processes of the sample were attributed.
  void update(const Sample& sample);
  void forget(LeaseId id) { leases_.forget(id); }

  Pressure of(LeaseId id) const { return leases_.at(id).state.level(); }
  /// At the rate at which its use grows.
  std::optional<Duration> full_in(LeaseId id) const { return leases_.at(id).full_in; }
  Pressure on(DeviceId device) const;
  /// By the last sample alone, and not by any before it.
  bool is_critical_now(DeviceId device) const;
  /// What its leases may still take, where it is known.
  std::optional<Bytes> owed(DeviceId device) const;

 private:
  struct OfLease {
    PressureState state;
    bool rises = false;  // It uses more than in the last seconds.
    std::optional<Duration> full_in;
  };
  struct OnDevice {
    PressureState state;
    Pressure measured = Pressure::kNormal;  // By the last sample.
    Trend unmanaged;
    bool rises = false;  // What is unmanaged, and more so than in the last seconds.
    std::optional<Bytes> owed;
  };

  void update_device(const Account& account, Instant at);
  void update_lease(LeaseId id, Instant at);
  bool gets_worse(const Account& account) const;

  Ref<Decider> core_;
  Ref<const Devices> devices_;
  Ref<Attribution> attribution_;
  PerLease<OfLease> leases_;
  std::map<DeviceId, OnDevice> known_;
};

/// Each of the leases on them, once.
std::vector<LeaseId> leases_on(const std::vector<const Account*>& accounts);

}  // namespace berth::core
