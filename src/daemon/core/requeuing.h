// SPDX-License-Identifier: Apache-2.0
// Leases whose command is stopped and started again when their turn comes: `--requeue`. It is
// stopped and started by the lease's own `berth run`; here it is decided whether, and remembered
// how far it has come.
//
// Note [On the way back into the queue]: a requeue is asked, begun and done, and each is a record.
// Asked, the program saves itself first, if it can; then its `berth run` is asked, and says that it
// begins. Until then nothing is stopped, and it is dropped where the save was not confirmed, the
// command ends by itself, or nobody answers. Once it is begun the command ends in any case: it has
// its grace, `berth run` waits until nothing of it is left, and comes back to wait. When the driver
// counts the memory free and `berth run` is there, the lease waits again. If `berth run` dies
// meanwhile nobody can start the command again, and the lease ends.
//
// A command that has failed goes the second half of that way (`--retry`): whether it does follows
// from how it ended, and nothing is remembered of it but that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/admission.h"
#include "core/decider.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/saves.h"

namespace berth::core {

/// On which a lease is requeued.
struct RequeueTerms {
  bool unsaved = false;  // Also if it does not save itself.
  std::optional<UserId> by = {};
};

class Requeuing {
 public:
  Requeuing(Decider& core, const Admission& admission, Presence& presence, Saves& saves)
      : core_(core), admission_(admission), presence_(presence), saves_(saves) {}

  void on(const AskRequeue& event);
  void on(const BeginRequeue& event);

  /// The next attempt of one whose command has ended so. Absent: none follows.
  std::optional<Retry> decide_retry(const Lease& lease, const ExitBody& told) const;
  /// As it was decided, unless it was told to end since.
  std::optional<Retry> retry_of(const Lease& lease) const;
  /// Its command was ended with the machine, and is started again after the next start of that.
  bool goes_on_after_boot(const Lease& lease) const;
  /// Its `berth run` comes, or is to come, to wait for the next start.
  bool comes_back(const Lease& lease) const;

  /// How its command ended is all: nobody waits for a further attempt.
  void drop_next_attempt(LeaseId id);

  std::optional<Refusal> refuse(const Lease& lease) const;
  /// Of a lease that refuse() has nothing against.
  void ask(LeaseId id, RequeueTerms terms);
  /// The save before it is over.
  void after_save(LeaseId id);
  /// Where one is asked for or begun: those who wait for it are told why it does not come to it.
  void drop(LeaseId id, const std::string& why, EndResult result = EndResult::kLost);
  /// A daemon before had asked its `berth run` for it, which comes back first.
  void expect_answer(LeaseId id, Duration within);
  /// Its `berth run` has not said that it begins. Never: it need not.
  Instant answer_due(LeaseId id) const { return known_.at(id).begins_until; }
  /// It waits again.
  void answer_waiters(LeaseId id);
  /// Why its last one came to nothing.
  const std::string& failure(LeaseId id) const { return known_.at(id).failure; }
  void forget(LeaseId id) { known_.forget(id); }

 private:
  struct OfLease {
    std::vector<Token> waiters;               // Who waits for it to wait again.
    Instant begins_until = Instant::never();  // Until then its `berth run` begins to stop it.
    std::string failure;
  };
  void ask_to_stop(LeaseId id);

  Ref<Decider> core_;
  Ref<const Admission> admission_;
  Ref<Presence> presence_;
  Ref<Saves> saves_;
  PerLease<OfLease> known_;
};

}  // namespace berth::core
