// SPDX-License-Identifier: Apache-2.0
// Indexes that follow from the state of each lease alone, so that no part looks at all of them:
// who waits and in which order, who wants more or back, and how much each user has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/decider.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/queue.h"

namespace berth::core {

struct UserCount {
  std::uint32_t waiting = 0;
  std::uint32_t held = 0;
  Bytes vram;
};

class Indexes {
 public:
  Indexes(const Decider& core, const Ledger& ledger) : core_(core), ledger_(ledger) {}

  /// The lease has changed, or is no more: null. True: the schedule may give another answer.
  bool update(LeaseId id, const Lease* lease);
  /// Its place is made anew by the next update(): what it asks for changes.
  void leave_queue(LeaseId id);
  /// The settings have changed, or the leases were copied, to which places point.
  void rank_again();
  void check() const;

  const Queue& queue() const { return queue_; }
  Queue& queue_for_trial() { return queue_; }
  /// Grows when others wait, or in another order.
  std::uint64_t queue_version() const { return queue_version_; }
  InOrder in_order(Instant at) const {
    return {queue_, at, core_->settings(), core_->state().shares()};
  }
  /// Or wanted back.
  const std::set<LeaseId>& growing() const { return growing_; }
  /// Suspended to make room for an urgent request.
  const std::set<LeaseId>& yielding() const { return yielding_; }
  /// A measure is under way on them.
  const std::set<LeaseId>& measuring() const { return measuring_; }
  UserCount count_of(UserId user) const;
  /// What counts of the lease for its user.
  Bytes vram_of(LeaseId id) const { return known_.at(id).vram; }
  /// The bounds of its user allow it beside what they have.
  bool user_has_room(const Lease& lease) const;

 private:
  struct OfLease {
    std::optional<Place> place;
    UserId user;
    bool waits = false;
    bool holds = false;
    Bytes vram;
  };
  bool update_queue(const Lease* lease, OfLease& known);
  bool update_user(const Lease* lease, OfLease& known);

  Ref<const Decider> core_;
  Ref<const Ledger> ledger_;
  PerLease<OfLease> known_;
  Queue queue_;
  std::uint64_t queue_version_ = 0;
  std::map<UserId, UserCount> users_;
  std::set<LeaseId> growing_;
  std::set<LeaseId> yielding_;
  std::set<LeaseId> measuring_;
};

}  // namespace berth::core
