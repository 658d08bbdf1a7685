// SPDX-License-Identifier: Apache-2.0
// Leases whose processes are stopped, by signals. They keep what they have, and are charged for it.
#include <string>
#include <utility>

#include "base/check.h"
#include "core/limits.h"
#include "core/transfers.h"

namespace berth::core {

void Transfers::on(const Freeze& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  if (!accepts(Operation::kFreeze, *lease, event.token)) return;
  const bool stopping = of(id).is_under_way();
  known_[id].freeze_waiters.push_back(event.token);
  if (!lease->held()->frozen) core_->decide(id, LeaseFrozen{id});
  note_pause(id, event.body, event.actor.user);
  if (!stopping) begin(id, Direction::kFreeze);
}

void Transfers::freeze_done(LeaseId id, const TransferResult& result) {
  const Lease& lease = *core_->state().find(id);
  if (lease.granted() == nullptr || !lease.granted()->frozen) return;
  OfLease& known = known_[id];
  if (known.direction == Direction::kFreeze) return frozen(id, result);
  if (result.outcome != TransferResult::Outcome::kDone) {
    core_->say(text_of(id) + " cannot be let go on: " + result.trouble);
    known.thaw_not_before = core_->now().instant + limits::kYieldAgainAfter;
    if (lease.releasing() == nullptr) return answer(id, &OfLease::freeze_waiters, result.trouble);
  }
  core_->decide(id, LeaseThawed{id});
  const Held* held = core_->state().find(id)->held();
  if (held == nullptr) return;  // It has ended, and may be over now.
  const std::vector<Token> tokens = std::exchange(known_[id].freeze_waiters, {});
  if (!held->suspension) {
    core_->notify(id, LeaseEvent::kResumed);
    for (const Token token : tokens) core_->answer(token, id);
    return;
  }
  for (const Token token : tokens) resume(id, token);
  if (resuming_.contains(id)) core_->ask_probe(core_->now().instant);
}

// What was half stopped goes on again.
void Transfers::frozen(LeaseId id, const TransferResult& result) {
  CHECK(core_->state().find(id)->granted() != nullptr);
  const bool releasing = core_->state().find(id)->releasing() != nullptr;
  const bool ends = releasing || core_->state().find(id)->granted()->revoked;
  OfLease& known = known_[id];
  const std::vector<Token> wanted = std::exchange(known.thaw_waiters, {});
  const bool done = result.outcome == TransferResult::Outcome::kDone;
  if (done && !ends) {
    core_->notify(id, LeaseEvent::kFrozen);
    answer(id, &OfLease::freeze_waiters);
    if (wanted.empty()) return;
  } else if (done) {
    // It goes on again to hear that it is to end, and not because anybody wants it back.
    answer(id, &OfLease::freeze_waiters, releasing ? "it has ended" : "it was told to end");
  } else {
    // Some may be stopped, or all still are: by the mover of its memory, just before.
    core_->say(text_of(id) + " cannot be stopped: " + result.trouble);
    answer(id, &OfLease::freeze_waiters, result.trouble);
  }
  known.freeze_waiters.insert(known.freeze_waiters.end(), wanted.begin(), wanted.end());
  begin(id, Direction::kThaw);
}

// While its memory is on the way, restore_frozen() follows; while it is being stopped,
// freeze_done(). Of two that are under way at once nobody knows which is the last.
void Transfers::thaw(LeaseId id) {
  if (core_->state().find(id)->held()->frozen && !of(id).is_under_way())
    begin(id, Direction::kThaw);
}

// It was frozen before its memory was moved, or before the daemon was killed.
void Transfers::restore_frozen(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  const Held* held = lease.granted();
  if (held == nullptr || !held->frozen || of(id).is_under_way()) return;
  const bool ends = lease.releasing() != nullptr || held->revoked;
  if (!ends && held->suspension && !held->is_swapped_out()) return;
  begin(id, ends ? Direction::kThaw : Direction::kFreeze);
}

}  // namespace berth::core
