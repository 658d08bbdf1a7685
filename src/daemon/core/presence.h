// SPDX-License-Identifier: Apache-2.0
// Presence of requesters: a request is granted to one that listens, its place is kept for one that
// is expected back, and an offer waits for its requester for so long.
#pragma once

#include <optional>

#include "core/decider.h"
#include "core/dependencies.h"
#include "core/indexes.h"
#include "core/part.h"

namespace berth::core {

class Presence {
 public:
  Presence(const Decider& core, const Indexes& indexes, const Dependencies& dependencies)
      : core_(core), indexes_(indexes), dependencies_(dependencies) {}

  bool is_connected(LeaseId id) const { return known_.at(id).connected; }
  /// Until then an absent requester keeps the place of the request.
  std::optional<Instant> reconnect_until(LeaseId id) const { return known_.at(id).reconnect_until; }
  /// Until then the offer is to be claimed.
  Instant claim_until(LeaseId id) const { return known_.at(id).claim_until; }

  void connected(LeaseId id);
  void disconnected(LeaseId id, std::optional<Instant> back_until = {});
  void expected_no_more(LeaseId id) { known_[id].reconnect_until.reset(); }
  void offered(LeaseId id, Instant until);
  void forget(LeaseId id) { known_.forget(id); }

  // Of a lease that waits.
  bool is_offerable(const Lease& lease) const;
  /// Its requester is expected back any moment: nobody takes the place meanwhile.
  bool keeps_place(const Lease& lease) const;
  /// It is granted something or others wait behind it. Does not change in a pass.
  bool takes_part(const Lease& lease) const;

 private:
  struct OfLease {
    bool connected = true;  // The requester of a waiting lease listens.
    std::optional<Instant> reconnect_until;
    Instant claim_until = Instant::never();
  };

  Ref<const Decider> core_;
  Ref<const Indexes> indexes_;
  Ref<const Dependencies> dependencies_;
  PerLease<OfLease> known_;
};

}  // namespace berth::core
