// SPDX-License-Identifier: Apache-2.0
// The order of grants and turns: room that the first in the queue could have is not left idle, and
// nobody is passed against the rule of docs/scheduling.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/coordinator.h"
#include "core/event.h"
#include "model/view.h"
#include "server/engine.h"
#include "sim/observations.h"

namespace berth::sim {

/// The requester of a waiting lease is there, and nothing of its own holds it back.
bool may_be_offered(WhyView::Reason reason);

class Turns {
 public:
  /// After an event: the first in the queue who may be offered something could have it now.
  std::string check_idleness(const Observations& observations, const server::Engine& engine,
                             core::Now now);
  /// A grant that was just written, while others wait.
  std::string check_grant(const Observations& observations, const ReferenceLease& granted,
                          const core::Coordinator& coordinator, core::Now now) const;
  /// The turn of a lease was just ended; `lease` is how it stood before.
  static std::string check_end_of_turn(const Observations& observations,
                                       const ReferenceLease& lease,
                                       const core::Coordinator& coordinator, core::Now now);
  /// After an event: a lease waits for its turn, and could have it.
  std::string check_turn_ends(const Observations& observations, const server::Engine& engine,
                              core::Now now);
  void forget() {
    queue_.clear();
    idle_ = {};
    over_since_.clear();
  }

 private:
  /// Who could have had what is free, and since when.
  struct Idle {
    LeaseId lease;
    Instant since;
  };
  std::vector<LeaseId> queue_;  // As it stood after the last event.
  Idle idle_;
  std::map<DeviceId, Instant> over_since_;  // On which it could be another's turn.
};

}  // namespace berth::sim
