// SPDX-License-Identifier: Apache-2.0
// Leases that have computed nothing for some time, and since when.
//
// Note [Known to be idle]: a driver tells of a device, not of a program, whether something is
// computed. So a lease is idle only while nothing at all is computed on any of its devices: what
// is, may be another's, and may be its own. What it uses of them must not have changed either, by
// the driver's account and by its programs' own. Where one of these is not told, where no look came
// for some time, and while it saves itself or is stopped, it is not known to be idle, and so it is
// not. It is said only after limits::kIdleSettled of that, for it rests as well between two steps.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/ledger.h"
#include "core/part.h"

namespace berth::core {

class IdleWatch {
 public:
  IdleWatch(Decider& core, const Ledger& ledger, const Attribution& attribution)
      : core_(core), ledger_(ledger), attribution_(attribution) {}

  /// After the processes of the sample were attributed.
  void look(const Sample& sample);
  /// Absent: it is not idle, or not known to be.
  std::optional<Instant> since(LeaseId id) const;
  void forget(LeaseId id) { known_.forget(id); }

 private:
  struct Figures {
    Bytes driver;
    std::optional<Bytes> ledger;
    friend bool operator==(const Figures&, const Figures&) = default;
  };
  struct OfLease {
    std::optional<Instant> quiet_since;
    std::optional<Instant> looked_at;
    std::vector<Figures> figures;  // Part by part, as last seen.
  };
  using Computing = std::map<DeviceId, bool>;  // Those of which the sample tells it.

  void look(const Lease& lease, const Computing& devices, Instant asked_at);
  /// Absent: something is computed on its devices, or nobody knows.
  std::optional<std::vector<Figures>> at_rest(const Lease& lease, const Computing& devices) const;

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Attribution> attribution_;
  PerLease<OfLease> known_;
};

}  // namespace berth::core
