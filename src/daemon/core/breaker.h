// SPDX-License-Identifier: Apache-2.0
// Circuit breaker of sets of jobs: notices that their attempts fail one after the other. What it
// has seen dies with the daemon, and it begins to count anew.
#pragma once

#include <deque>
#include <map>

#include "base/ids.h"
#include "base/units.h"
#include "core/decider.h"
#include "core/part.h"
#include "core/settings.h"

namespace berth::core {

/// Of each set the failures in a row.
class FailureRows {
 public:
  /// An attempt of a member has ended. True: that was one failure too many.
  bool ended(LeaseId set, bool well, Instant now, const BreakerSettings& settings);
  void forget(LeaseId set) { rows_.erase(set); }

 private:
  std::map<LeaseId, std::deque<Instant>> rows_;  // The oldest first.
};

class Breaker {
 public:
  explicit Breaker(Decider& core) : core_(core) {}

  /// An attempt has ended so. If it was one of a member of a set, that may be put on hold.
  void ended(const Lease& lease, EndResult result);
  void forget(LeaseId set) { rows_.forget(set); }

 private:
  Ref<Decider> core_;
  FailureRows rows_;
};

}  // namespace berth::core
