// SPDX-License-Identifier: Apache-2.0
// Leases whose processes are stopped, by signals. They keep what they have, and are charged for it.
//
// Note [Nobody stays stopped]: that a lease is frozen is written down before the first of its
// processes is stopped, and that it is not any more after the last goes on. So a daemon that finds
// one frozen does again what may have been half done; and one that ends is over only when all that
// was stopped goes on. Its memory may be moved meanwhile: the mover lets the processes run for that
// long, because a stopped process does not serve the driver, and stops them again.
#include <string>
#include <utility>

#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {

bool Coordinator::Impl::is_freezing(const Observed& seen) const {
  return seen.move != 0 &&
         (seen.direction == Direction::kFreeze || seen.direction == Direction::kThaw);
}

void Coordinator::Impl::on(const Freeze& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  Observed& seen = observed.at(id);
  const auto refuse_state = [&](const std::string& why) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " " + why);
  };
  if (held == nullptr || !held->claimed) return refuse_state("is not held");
  if (held->revoked) return refuse_state("was told to end");
  if (held->requeue) return refuse_state("is on the way back into the queue");
  if (!held->has_processes()) return refuse_state("has no processes that could be stopped");
  if (lease->checkpoints.asked) return refuse_state("saves itself: ask again when it has");
  if (!may_grant()) {
    return refuse_state("cannot be frozen while nothing can be written down (berth doctor)");
  }
  const bool stopping = seen.move != 0 && seen.direction == Direction::kFreeze;
  const bool under_way = seen.move != 0 || (held->suspension && !held->is_swapped_out());
  if (under_way && !stopping) return refuse_state("is on the way: ask again when it is there");
  seen.freeze_tokens.push_back(event.token);
  if (!held->frozen) decide(id, LeaseFrozen{id});
  note_pause(id, event.terms, event.actor.user);
  if (stopping) return;
  begin_transfer(id, Direction::kFreeze);
}

// What was half stopped goes on again.
void Coordinator::Impl::freeze_done(LeaseId id, const TransferResult& result) {
  const Held* granted = state.find(id)->granted();
  if (granted == nullptr || !granted->frozen) return;
  const bool releasing = state.find(id)->releasing() != nullptr;
  const bool ends = releasing || granted->revoked;
  const bool done = result.outcome == TransferResult::Outcome::kDone;
  Observed& seen = observed.at(id);
  if (seen.direction == Direction::kFreeze) {
    const std::vector<Token> wanted = std::exchange(seen.thaw_tokens, {});
    if (done && !ends) {
      notify(id, LeaseEvent::kFrozen);
      answer_freeze_waiters(id);
      if (wanted.empty()) return;
    } else if (done) {
      // It goes on again to hear that it is to end, and not because anybody wants it back.
      answer_freeze_waiters(id, releasing ? "it has ended" : "it was told to end");
    } else {
      // Some may be stopped, or all still are: by whoever moved its memory just before.
      effects.emplace_back(Say{text_of(id) + " cannot be stopped: " + result.trouble});
      answer_freeze_waiters(id, result.trouble);
    }
    seen.freeze_tokens.insert(seen.freeze_tokens.end(), wanted.begin(), wanted.end());
    return begin_transfer(id, Direction::kThaw);
  }
  if (!done) {
    effects.emplace_back(Say{text_of(id) + " cannot be let go on: " + result.trouble});
    seen.thaw_not_before = now.instant + limits::kYieldAgainAfter;
    if (!releasing) return answer_freeze_waiters(id, result.trouble);
  }
  decide(id, LeaseThawed{id});
  const Held* held = state.find(id)->held();
  if (held == nullptr) return finish_if_free(id);
  const std::vector<Token> tokens = std::exchange(observed.at(id).freeze_tokens, {});
  if (!held->suspension) {
    notify(id, LeaseEvent::kResumed);
    for (const Token token : tokens) answer(token, id);
    return;
  }
  for (const Token token : tokens) resume(id, token);
  if (resuming.contains(id)) ask_probe(now.instant);
}

// While its memory is on the way, restore_frozen() follows; while it is being stopped,
// freeze_done(). Of two that are under way at once nobody knows which is the last.
void Coordinator::Impl::thaw(LeaseId id) {
  if (state.find(id)->held()->frozen && observed.at(id).move == 0)
    begin_transfer(id, Direction::kThaw);
}

// It was frozen before its memory was moved, or before the daemon was killed.
void Coordinator::Impl::restore_frozen(LeaseId id) {
  const Lease& lease = *state.find(id);
  const Held* held = lease.granted();
  if (held == nullptr || !held->frozen || observed.at(id).move != 0) return;
  const bool ends = lease.releasing() != nullptr || held->revoked;
  if (!ends && held->suspension && !held->is_swapped_out()) return;
  begin_transfer(id, ends ? Direction::kThaw : Direction::kFreeze);
}

void Coordinator::Impl::answer_freeze_waiters(LeaseId id, const std::string& why_not) {
  for (const Token token : std::exchange(observed.at(id).freeze_tokens, {})) {
    if (why_not.empty()) {
      answer(token, id);
    } else {
      refuse(token, RefusalCode::kNotMoved, text_of(id) + ": " + why_not);
    }
  }
}

}  // namespace berth::core
