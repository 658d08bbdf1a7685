// SPDX-License-Identifier: Apache-2.0
// Processes of a lease that belong to another user: they are neither stopped nor moved nor ended.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/decider.h"
#include "core/part.h"

namespace berth::core {

class LeftAlone {
 public:
  explicit LeftAlone(Decider& core) : core_(core) {}

  void on(const NotSignalled& event);
  /// By a transfer of the lease. One that stops them or moves them away tells of all that are.
  void take(LeaseId id, const std::vector<std::int32_t>& pids, bool are_all);
  /// By the last pause or end.
  const std::set<std::int32_t>& pids(LeaseId id) const { return known_.at(id).pids; }
  void forget(LeaseId id) { known_.forget(id); }

 private:
  struct OfLease {
    std::set<std::int32_t> pids;
    std::set<std::int32_t> logged;
  };

  Ref<Decider> core_;
  PerLease<OfLease> known_;
};

}  // namespace berth::core
