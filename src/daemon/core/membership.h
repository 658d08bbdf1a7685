// SPDX-License-Identifier: Apache-2.0
// Which process belongs to which lease.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/decider.h"
#include "core/part.h"
#include "model/device.h"

namespace berth::core {

/// A process, and the lease for which it counts. What a supervisor has told to be left behind
/// counts for its lease only where nothing else is known: it may be of another lease, inside of
/// this one.
struct Belonging {
  Process process;
  bool certain = true;
  LeaseId lease;
  friend auto operator<=>(const Belonging&, const Belonging&) = default;
};

class Membership {
 public:
  explicit Membership(Decider& core) : core_(core) {}

  /// As its state is now; null: it is no more.
  void update(LeaseId id, const Lease* lease);
  /// Told by a supervisor; not known to use a device.
  void set_leftovers(LeaseId id, std::vector<Process> left) {
    known_[id].leftovers = std::move(left);
  }
  /// Absent: it is unmanaged.
  std::optional<LeaseId> lease_of(const ProcessSample& process, DeviceId device) const;
  /// A process that was seen in time is a member from now on.
  void note(const ProcessSample& process, const Lease& lease, Instant asked_at);
  void forget_run(LeaseId id) { known_[id].leftovers.clear(); }
  void forget(LeaseId id) { known_.forget(id); }

 private:
  struct OfLease {
    std::vector<Belonging> belonging;
    std::vector<Process> leftovers;
  };
  std::optional<LeaseId> belongs_to(Process process, bool certain) const;
  std::optional<LeaseId> lease_that_had(std::int32_t pid, DeviceId device) const;

  Ref<Decider> core_;
  PerLease<OfLease> known_;
  std::set<Belonging> belongings_;
};

}  // namespace berth::core
