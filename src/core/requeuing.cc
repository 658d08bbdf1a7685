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
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {

std::optional<Refusal> Coordinator::Impl::refuse_requeue(const Lease& lease) const {
  const auto wrong = [&](const std::string& why) {
    return Refusal{RefusalCode::kWrongState, text_of(lease.id) + why};
  };
  if (!lease.request.requeue_grace) {
    return wrong(
        " was started without --requeue: its owner has not said that its command may be stopped "
        "and started again (berth pause moves its memory to the host instead)");
  }
  const Held* held = lease.held();
  if (lease.waiting() != nullptr || (held != nullptr && !held->claimed)) {
    return wrong(" waits in the queue already");
  }
  if (held == nullptr || held->command_ended) return wrong(": its command has ended");
  if (!lease.supervisor) return wrong(" has no berth run that could start its command again");
  if (held->revoked) return wrong(" is being ended");
  if (held->suspension || held->frozen) {
    return wrong(" is paused: berth resume " + std::to_string(lease.id.value) + " first");
  }
  if (!may_grant()) {
    return wrong(" cannot be requeued while nothing can be written down (berth doctor)");
  }
  return std::nullopt;
}

void Coordinator::Impl::on(const AskRequeue& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->granted();
  const bool under_way = held != nullptr && held->requeue;
  if (const auto refusal = under_way ? std::nullopt : refuse_requeue(*lease)) {
    effects.emplace_back(Reply{event.token, *refusal});
    return;
  }
  std::vector<Token>& requesters = observed.at(id).requeue_waiters;
  if (requesters.size() >= limits::kRequeueRequesters) {
    refuse(event.token, RefusalCode::kBusy,
           std::to_string(limits::kRequeueRequesters) + " wait already for " + text_of(id) +
               " to be requeued");
    return;
  }
  requesters.push_back(event.token);
  if (!under_way) {
    ask_requeue(id, {.unsaved = event.unsaved, .by = event.actor.user});
  } else if (event.unsaved && !held->requeue->unsaved && !held->is_being_stopped()) {
    decide(id, RequeueAsked{id, true, held->requeue->by});
  }
}

/// Of a lease that refuse_requeue() has nothing against.
void Coordinator::Impl::ask_requeue(LeaseId id, RequeueTerms terms) {
  decide(id, RequeueAsked{id, terms.unsaved, terms.by});
  if (state.find(id)->request.checkpoint) {
    ask_checkpoint(id, CheckpointReason::kRequeue);
  } else {
    ask_to_stop(id);
  }
}

// The save before it is over.
void Coordinator::Impl::requeue_after_save(LeaseId id) {
  const Lease& lease = *state.find(id);
  const Held* held = lease.held();
  if (held == nullptr || !held->requeue || held->requeue->kill_at) return;
  const CheckpointEnd& save = checked(lease.checkpoints.last);
  if (save.outcome == CheckpointOutcome::kGone) {
    drop_requeue(id, "its berth run is gone, and nobody else could start its command again");
  } else if (save.outcome == CheckpointOutcome::kSaved || held->requeue->unsaved) {
    ask_to_stop(id);
  } else {
    drop_requeue(id, "it has not saved itself (" + std::string(to_text(save.outcome)) +
                         (save.detail.empty() ? "" : ", " + save.detail) +
                         "), and was not stopped; berth requeue --unsaved " +
                         std::to_string(id.value) + " requeues it all the same");
  }
}

void Coordinator::Impl::ask_to_stop(LeaseId id) {
  observed.at(id).begins_until = now.instant + limits::kRequeueHeardWithin;
  notify(id, LeaseEvent::kRequeue);
  reindex(id);
}

void Coordinator::Impl::on(const BeginRequeue& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  const bool may = held != nullptr && held->requeue && !lease->checkpoints.asked && may_grant();
  if (!may) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not to be stopped");
    return;
  }
  if (!held->requeue->kill_at) {
    Observed& seen = observed.at(id);
    seen.begins_until = Instant::never();
    seen.connected = false;  // It comes back when all is stopped.
    decide(id, RequeueBegun{id, now.instant + checked(lease->request.requeue_grace)});
    notify(id, LeaseEvent::kRequeuing);
  }
  answer(event.token, id);
}

/// Those who wait for it are told why.
void Coordinator::Impl::drop_requeue(LeaseId id, const std::string& why, EndResult result) {
  Observed& seen = observed.at(id);
  seen.begins_until = Instant::never();
  seen.requeue_failure = why;
  decide(id, RequeueDropped{id, result});
  const Refusal refusal{RefusalCode::kNotRequeued, text_of(id) + " is not requeued: " + why};
  notify(id, LeaseEvent::kRequeueDropped, {refusal});
  for (const Token token : std::exchange(observed.at(id).requeue_waiters, {})) {
    effects.emplace_back(Reply{token, refusal});
  }
}

/// Its `berth run` is gone, or does not wait for it any more.
void Coordinator::Impl::nobody_starts_it_again(LeaseId id) {
  const Held* held = state.find(id)->granted();
  if (held == nullptr || !held->requeue) return;
  const bool begun = held->is_being_stopped();
  const std::string why = "its berth run is gone, and nobody else could start its command again";
  drop_requeue(id, why, EndResult::kCancelled);
  if (!begun) return;
  effects.emplace_back(Say{text_of(id) + " was to be requeued and ends: " + why});
  if (state.find(id)->held() != nullptr) {
    revoke(id, EndResult::kCancelled);
  } else {
    finish_if_free(id);
  }
}

/// What was measured of the run that is over says nothing of the next one.
void Coordinator::Impl::wait_again(LeaseId id) {
  answer_exit(id);
  Observed& seen = observed.at(id);
  for (const Token token : seen.requeue_waiters) answer(token, id);
  Observed fresh;
  static_cast<Derived&>(fresh) = std::move(static_cast<Derived&>(seen));
  fresh.connected = seen.connected;
  if (!fresh.connected) fresh.reconnect_until = now.instant + limits::kReconnectWithin;
  seen = std::move(fresh);
  for (std::set<LeaseId>* ids : {&settling, &shrunk, &just_swapped_out, &resuming, &measured})
    ids->erase(id);
  strays.erase(id);
  decide(id, LeaseRequeued{id});
  notify(id, LeaseEvent::kRequeued);
}

}  // namespace berth::core
