// SPDX-License-Identifier: Apache-2.0
// Checkpoints that leases are asked for: one save at a time, numbered, with a deadline. The lease's
// own `berth run` does it, is notified by news, and reports; whatever happens to it, the client
// hears how the save ended, and only what was confirmed counts as a save.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/decider.h"
#include "core/part.h"

namespace berth::core {

class Saves {
 public:
  explicit Saves(Decider& core) : core_(core) {}

  void on(const AskCheckpoint& event);
  void on(const ReportCheckpoint& event);

  static std::optional<Refusal> refuse_way(const Request& request);
  /// Why it cannot be asked, if so.
  std::optional<Refusal> refuse(const Lease& lease) const;
  /// One that is under way will do.
  void ask(LeaseId id, CheckpointReason reason);
  void end(LeaseId id, CheckpointOutcome outcome, std::string detail);
  /// When something is due of its saves.
  Instant due(const Lease& lease) const;
  /// One thing at a time. False: nothing is.
  bool tend(LeaseId id);
  void forget(LeaseId id) { waiters_.forget(id); }

 private:
  /// Who waits to hear how a save went.
  struct Waiter {
    Token token;
    Instant until;
  };

  Ref<Decider> core_;
  PerLease<std::vector<Waiter>> waiters_;
};

}  // namespace berth::core
