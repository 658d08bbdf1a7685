// SPDX-License-Identifier: Apache-2.0
// Leases that share a device in turns: whose turn is next there, and when a turn ends.
//
// Note [Turns]: a slice is granted memory as a budget is, and keeps it while nobody else wants a
// turn. Those who do are the slices that wait for their first one and those that wait to come back;
// they stand in one order, the policy's, in which each counts from when it began to wait. On each
// device the first of them that would fit there if no slice ran has the next turn, unless another
// slice leaves another device for it: no other slice comes before it, and slices whose turns are
// over are suspended until it fits. A turn begins with the grant or the return, and lasts as Note
// [How long a turn is] says; a slice that is suspended for that waits for its next one at once.
// Slices take turns with slices alone: a request of another kind gets what is free beside them and
// beside those of them that are away, and a slice that asks after it, on a device that it could
// use, has no first turn before it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/decider.h"
#include "core/devices.h"
#include "core/indexes.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/queue.h"
#include "core/slicing.h"
#include "core/transfers.h"

namespace berth::core {

/// Who of those that run in turns comes next on a device.
using NextTurns = std::map<DeviceId, LeaseId>;

/// It waits for a turn: its first, or the next.
bool wants_turn(const Lease& lease);

class Slices {
 public:
  Slices(Decider& core, const Ledger& ledger, const Devices& devices, const Indexes& indexes,
         const Presence& presence, const Attribution& attribution,
         const Confirmations& confirmations, Transfers& transfers)
      : core_(core),
        ledger_(ledger),
        devices_(devices),
        indexes_(indexes),
        presence_(presence),
        attribution_(attribution),
        confirmations_(confirmations),
        transfers_(transfers) {}

  /// The lease has changed, or is no more: null. True: the schedule may give another answer.
  bool update(LeaseId id, const Lease* lease);
  /// Its place is made anew by the next update().
  void leave_queue(LeaseId id);
  /// The settings have changed, or the leases were copied, to which places point.
  void rank_again();
  void check() const;
  void forget_run(LeaseId id);
  void forget(LeaseId id) { known_.forget(id); }

  NextTurns next_turns() const;
  /// Ends turns for those who are next.
  void take_turns(const NextTurns& next);
  /// Another waits for the end of its turn, which is then.
  Instant due(const Lease& lease) const;
  /// take_turns() sees to it. False: it is not due.
  bool tend(LeaseId id);
  /// Those that wait, the first first.
  std::size_t waiting() const { return turns_.size(); }
  InOrder in_order(Instant at) const {
    return {turns_, at, core_->settings(), core_->state().shares()};
  }
  /// When the turn of one that is next somewhere comes.
  std::optional<Instant> turn_comes(LeaseId id) const;
  /// Although slices may have to go for it.
  bool fits_without_slices(const Account& account, const Lease& lease) const;

 private:
  struct OfLease {
    std::optional<Place> place;         // Among those who wait for a turn.
    Instant over = Instant::never();    // Of its turn.
    std::optional<LeaseId> leaves_for;  // It is suspended so that this one has its turn.
  };

  bool comes_free(LeaseId id, DeviceId device) const;
  bool resumes_alone(const Account& account, const Lease& lease) const;
  std::vector<FirstTurn> first_turns() const;
  std::optional<DeviceId> room_is_made_on(LeaseId id) const;
  bool may_end_turn(const Lease& lease) const;
  Instant over_at(const Lease& lease) const;
  TurnEnds room_for_turn(const Account& account, const Lease& lease) const;
  void end_turn(LeaseId id, LeaseId next);

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Indexes> indexes_;
  Ref<const Presence> presence_;
  Ref<const Attribution> attribution_;
  Ref<const Confirmations> confirmations_;
  Ref<Transfers> transfers_;
  PerLease<OfLease> known_;
  Queue turns_;                       // Those that wait for a turn, the first or the next.
  std::set<LeaseId> ending_;          // Are suspended because their turn is over.
  std::set<LeaseId> timed_;           // Another waits for the end of their turn.
  std::map<LeaseId, Instant> comes_;  // Of those that are next somewhere.
};

}  // namespace berth::core
