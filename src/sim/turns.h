// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: room that the first in the queue could have is not left idle, and nobody is
// passed against the rule of docs/scheduling.md.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "core/coordinator.h"
#include "core/event.h"
#include "server/engine.h"
#include "sim/evidence.h"

namespace berth::sim {

class Turns {
 public:
  /// After an event: the first in the queue who may be offered something could have it now.
  std::string broken_by_idleness(const Evidence& evidence, const server::Engine& engine,
                                 core::Now now);
  /// A grant that was just written, while others wait.
  std::string broken_by_grant(const Evidence& evidence, const ShadowLease& granted,
                              const core::Coordinator& coordinator, core::Now now) const;
  void forget() {
    queue_.clear();
    idle_ = {};
  }

 private:
  /// Who could have had what is free, and since when.
  struct Idle {
    LeaseId lease;
    Instant since;
  };
  std::vector<LeaseId> queue_;  // As it stood after the last event.
  Idle idle_;
};

}  // namespace berth::sim
