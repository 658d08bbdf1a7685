// SPDX-License-Identifier: Apache-2.0
// Processes on devices that they were not given: unmanaged ones, which hold no lease at all, and
// strays, whose lease is on other devices. Who is notified of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/ledger.h"
#include "core/part.h"

namespace berth::core {

class UnmanagedWatch {
 public:
  UnmanagedWatch(Decider& core, const Ledger& ledger, const Attribution& attribution)
      : core_(core), ledger_(ledger), attribution_(attribution) {}

  /// After the processes of the sample were attributed.
  void look(const Sample& sample);
  const std::vector<Stray>& strays_of(LeaseId id) const { return strays_.at(id); }
  void forget(LeaseId id);

 private:
  /// With `unmanaged = "warn"`: who was told of, how they were last seen, and when.
  struct Announced {
    UnmanagedProcess unmanaged_process;
    Instant seen_at;
  };

  void look_for_strays();
  void look_for_unmanaged(const Sample& sample);
  void announce_strays(LeaseId id, const std::vector<Stray>& found);
  void announce_unmanaged(const Account& account, const UnmanagedProcess& unmanaged_process,
                          bool gone);
  bool may_announce_unmanaged();

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Attribution> attribution_;
  PerLease<std::vector<Stray>> strays_;
  PerLease<std::set<std::pair<DeviceId, Process>>> announced_strays_;
  std::map<DeviceId, std::map<Process, Announced>> announced_;
  Instant announcing_since_;               // Of unmanaged processes, in this minute,
  std::uint32_t unmanaged_announced_ = 0;  // and of how many.
};

}  // namespace berth::core
