// SPDX-License-Identifier: Apache-2.0
// Requests that are to start later: after other leases have ended, or after a time. Their place in
// the queue is theirs meanwhile, and others pass them.
//
// A predecessor that lives holds its dependants back. When it ends, those that waited for this end
// are free; the others can never start, and end in the same step: so what is recorded is the end
// alone, and a dependant whose predecessor is gone was looked at.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/decider.h"
#include "core/part.h"

namespace berth::core {

class Dependencies {
 public:
  explicit Dependencies(Decider& core) : core_(core) {}

  // Of a lease that waits.
  bool waits_for_others(const Lease& lease) const;
  /// Those of them that have failed, and are started again.
  std::vector<LeaseId> retried(const Lease& lease) const;
  bool is_early(const Lease& lease) const { return until_start(lease).has_value(); }
  /// A set is granted nothing, and a member waits for what its set waits for.
  bool is_free(const Lease& lease) const {
    const Lease* set = set_of(lease);
    const bool set_waits =
        set != nullptr && (set->waiting()->hold || waits_for_others(*set) || is_early(*set));
    return !lease.set && !set_waits && !waits_for_others(lease) && !is_early(lease);
  }
  /// Null: it is no member, or of none that waits.
  const Lease* set_of(const Lease& lease) const;

  /// Why such a request can never start. Absent: it may.
  std::optional<Refusal> refuse(const Request& request, UserId user) const;
  /// The same, of when it starts.
  std::optional<Refusal> refuse_start(const Request& request) const;

  /// As derive() has it. Null: it has ended.
  void update(LeaseId id, const Lease* lease);
  /// When it starts is looked at anew by the next update().
  void leave_queue(LeaseId id);
  Instant due(LeaseId id) const;
  /// False: nothing was due.
  bool tend(LeaseId id);

  struct Broken {
    LeaseId id;
    std::string why;
  };
  /// Dependants that can never start, because of what has ended since the last call.
  std::vector<Broken> take_broken();
  /// Sets whose last member has ended since the last call.
  std::vector<LeaseId> take_over_sets();

 private:
  /// By the clock on the wall; absent: it does not wait for a time, or not any more.
  std::optional<Duration> until_start(const Lease& lease) const;
  std::optional<Refusal> refuse_member(const SetMember& member, UserId user) const;
  void note(LeaseId id, const Lease& lease);
  void note_start(LeaseId id, const Lease& lease);
  void forget(LeaseId id);
  std::string why_never(const Predecessor& predecessor) const;

  Ref<Decider> core_;
  std::map<LeaseId, std::set<LeaseId>> dependants_;  // By predecessor.
  std::map<LeaseId, Instant> starts_;                // Those that are early, by their own number.
  std::map<LeaseId, std::vector<LeaseId>> known_;    // Their predecessors.
  std::vector<LeaseId> ended_;                       // Predecessors, and not looked at yet.
  std::set<LeaseId> touched_;                        // Sets of which a member has ended.
};

}  // namespace berth::core
