// SPDX-License-Identifier: Apache-2.0
// Backfill by reservation: which requests may be granted before one that is ahead of them.
// docs/scheduling.md describes the rule for users.
//
// Note [Reservations]: the first waiting request that a device cannot take has a reservation there:
// the earliest instant at which it fits if the known ends hold, or no known instant. A later
// request may pass it if it fits now and either its own limit, which is enforced, ends before that
// instant, or it fits into the device together with the reservation and with all that will still be
// there. Nobody is passed for longer than Settings::pass_max: then nothing passes on any device
// that they could use. A request is passed only by one that takes a device it could itself use.
//
// Note [Bounds]: most of a pass goes over requests that cannot be granted, which is seen without
// looking at each device. A device without a reservation takes no budget above what is grantable
// there. One with a reservation whose instant is unknown or not later than now takes no budget
// above the room beside it either, and no whole device: no limit ends before such an instant. The
// bounds are the largest of this over all devices. Rules only get stricter in a pass, so the bounds
// only fall, and a request above them is refused by place() then and for the rest of the pass.
// Of requests that differ in nothing that the choice of devices depends on, only the first is given
// a reservation: the others would choose its devices again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/ledger.h"
#include "core/settings.h"
#include "core/state.h"
#include "model/record.h"
#include "model/request.h"

namespace berth::core {

/// When the lease is expected to end: start + min(limit, eta), where what its program has told
/// counts instead of the eta; one that has passed doubles. Instant::never() if nothing is known, as
/// of the programs that run on when their lease has ended.
Instant expected_end(const Lease& lease, const std::optional<ReportedEnd>& reported, Instant now);

/// What a lease will be charged beside its charge of now: its growth.
struct Extra {
  LeaseId lease;  // Default: nobody.
  Bytes bytes;
};

/// When `need` bytes (or the whole device) come free on the device if known ends hold, not counting
/// anybody who waits. Instant::never() if no end is known that would do.
Instant earliest_fit(const Account& account, const Request& request, const State& state,
                     Instant now, const Extra& extra = {});

/// One pass over the waiting requests in order: who may be granted now.
class Walk {
 public:
  /// `full`: without the shortcuts of Note [Bounds], which change nothing but the time it takes.
  Walk(const State& state, const Ledger& ledger, const Settings& settings, Instant now,
       bool full = false);

  /// Where the request may be granted now, or nothing.
  std::optional<std::vector<Part>> place(const Request& request, LeaseId requester = {}) const;

  /// Whose turn is next on which device: no other slice is granted anything there.
  void take_turns(std::map<DeviceId, LeaseId> next) { next_turns_ = std::move(next); }
  /// False: it runs in turns, and it is not its turn.
  bool may_take_turn(const Lease& lease) const;

  /// The request cannot be granted and stays ahead of all that follow.
  void leave_waiting(const Lease& lease);
  /// The lease waits to grow by `extra` on each of its devices, ahead of requests of at most its
  /// own priority.
  void leave_growing(const Lease& lease);

  /// Nothing that follows can be granted, whatever it is.
  bool is_over() const { return open_ == 0; }

  /// What place() would be asked in vain for is told here at once; see Note [Bounds]. The answer
  /// for a request that needs `need` on a device; Bytes::max(): the whole of it.
  bool may_place(Bytes need) const {
    return full_ || (need == Bytes::max() ? whole_left_ : need <= left_);
  }
  /// leave_waiting() may change something.
  bool is_heeded(const Lease& lease) const;

  /// The reservation's instant on the devices that the request was given, if it was given any.
  std::optional<Instant> reserved_at(LeaseId lease) const;

 private:
  struct Reservation {
    LeaseId lease;
    Instant at;  // never(): unknown.
    Bytes room;  // What may pass on this device beyond that instant.
  };
  // All of a request that the choice of its reservation depends on, where it names no devices.
  struct Shape {
    Bytes need;
    std::uint32_t device_count;
    bool mixed;
    Priority priority;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  struct Rule {
    bool closed = false;  // Nothing more is granted on this device in this pass.
    std::optional<Reservation> waiting;
    // Beside it, not in its place: a request of a higher priority than the growth's passes the
    // growth, and nobody else for that.
    std::optional<Reservation> growing;
    Priority growing_priority = Priority::kLow;
    bool growing_in_turns = false;
    Bytes growing_by;
  };

  bool may_use(const Account& account, const Request& request, LeaseId requester) const;
  bool is_others_turn(DeviceId device, LeaseId requester) const;
  bool leaves_room(const Request& request, const Reservation& reserved) const;
  bool closes(const Lease& lease) const;
  static Shape shape_of(const Request& request);
  void update_bounds();
  void reserve(const Lease& lease);
  void close_for(const Request& request);
  /// What will have grown before the request is granted anything here.
  static Extra growth_ahead(const Rule& rule, const Request& request);
  Reservation reservation(const Account& account, const Lease& lease, Instant at, Bytes need,
                          const Extra& extra = {}) const;

  const State& state_;
  const Ledger& ledger_;
  const Settings& settings_;
  Instant now_;
  bool full_;
  std::map<DeviceId, LeaseId> next_turns_;
  std::vector<Rule> rules_;     // One an account, in the ledger's order.
  std::size_t open_ = 0;        // Rules that are not closed.
  std::size_t unreserved_ = 0;  // Of them, without a reservation of who waits.
  // Chosen for already since a device was closed last: the same devices would be chosen again.
  std::vector<Shape> reserved_shapes_;
  Bytes left_;               // No larger budget is granted in this pass,
  bool whole_left_ = false;  // and a whole device only if this is true.
};

}  // namespace berth::core
