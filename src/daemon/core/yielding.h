// SPDX-License-Identifier: Apache-2.0
// Leases that make room for the request that is next: they are suspended, and come back when it has
// what it asked for, or has gone.
//
// Note [Who makes room]: only for a request that is next in the queue and asks for one device;
// which leases do, may_yield_to() says. On each device that it may use, those are taken in this
// order until it fits: the lower priority first, then the one that has least to be moved, then the
// youngest. The device on which least is moved is chosen. Nobody is asked while others are on their
// way out for it, nor of whom nothing is on a device yet: there is nothing that could be moved, and
// a suspension that comes to nothing is not tried again for a minute.
//
// Note [Who is asked]: where idle leases are to be asked (policy.idle_action), and no room can be
// made without, those of the best way are sent a message each, and make room when all have agreed.
// One that refuses is not asked for this request again, and the next best way is tried.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/indexes.h"
#include "core/messages.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/transfers.h"

namespace berth::core {

class Yielding {
 public:
  Yielding(Decider& core, const Ledger& ledger, const Devices& devices, const Indexes& indexes,
           const Presence& presence, const Attribution& attribution, Transfers& transfers,
           Messages& messages)
      : core_(core),
        ledger_(ledger),
        devices_(devices),
        indexes_(indexes),
        presence_(presence),
        attribution_(attribution),
        transfers_(transfers),
        messages_(messages) {}

  /// See Note [Who makes room].
  void make_room_for_next();
  /// Leases that made room for one that has it by now, or does not want it any more.
  void resume_yielded();

 private:
  enum class Who : std::uint8_t { kThoseWithLeave, kAlsoThoseToAsk };

  std::optional<std::vector<LeaseId>> best_way(const Lease& next, Who who) const;
  std::optional<std::vector<LeaseId>> who_makes_room(const Lease& next, const Account& account,
                                                     Who who) const;
  bool is_made_for(const Lease& next) const;
  void ask_for_room(LeaseId whom);
  bool may_yield_to(const Lease& lease, const Lease& next, Who who) const;
  bool has_leave(const Lease& lease, const Lease& next) const;
  bool may_be_asked(const Lease& lease, const Lease& next) const;
  bool is_not_there(const Lease& lease) const;

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Indexes> indexes_;
  Ref<const Presence> presence_;
  Ref<const Attribution> attribution_;
  Ref<Transfers> transfers_;
  Ref<Messages> messages_;
};

}  // namespace berth::core
