// SPDX-License-Identifier: Apache-2.0
#include "core/requeuing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/limits.h"
#include "core/operations.h"

namespace berth::core {
namespace {

// A user has told it to end.
bool is_released(const Lease& lease) {
  return lease.releasing() != nullptr && lease.releasing()->by;
}

}  // namespace

std::optional<Refusal> Requeuing::refuse(const Lease& lease) const {
  const auto wrong = [&](const std::string& why) {
    return Refusal{RefusalCode::kWrongState, text_of(lease.id) + why};
  };
  if (!lease.request.requeue_grace) {
    return wrong(
        " was started without --requeue: its owner has not said that its command may be stopped "
        "and started again (berth pause moves its memory to the host instead)");
  }
  if (auto refusal = refusal_of(Operation::kRequeue, lease)) return refusal;
  if (!lease.supervisor) return wrong(" has no berth run that could start its command again");
  if (!core_->may_grant()) {
    return wrong(" cannot be requeued while nothing can be written down (berth doctor)");
  }
  return std::nullopt;
}

// Its `berth run` is told of it and counts on it: what could be granted later changes nothing.
std::optional<Retry> Requeuing::decide_retry(const Lease& lease, const ExitBody& told) const {
  const Held& was = *lease.granted();
  const bool failed = told.exit.signal != 0 || told.exit.code != 0;
  const bool has_starter = lease.job || lease.supervisor;
  const bool is_final = told.kind == EndKind::kFinal || told.kind == EndKind::kShutdown;
  if (!failed || is_final || !has_starter) return std::nullopt;
  const bool used_too_much = was.revoked && was.revoked->result == EndResult::kOverBudget;
  const UnixMs now = core_->now().wall;
  const bool ran_out = used_too_much || told.kind == EndKind::kOutOfMemory;
  if (ran_out && lease.request.on_oom == OnOom::kGrow && !lease.retries.grown) {
    if (const std::optional<Bytes> more = admission_->grown(lease)) return Retry{now, more};
  }
  if (used_too_much || lease.retries.left == 0) return std::nullopt;
  const Duration delay = retry_delay(lease.request, lease.retries.left);
  return Retry{.not_before = {now.value + delay.ns / milliseconds(1).ns}};
}

// One that is told to end does not come again, but where that was for its use of memory.
std::optional<Retry> Requeuing::retry_of(const Lease& lease) const {
  const Held* was = lease.granted();
  if (was == nullptr || was->requeue || is_released(lease)) return std::nullopt;
  const bool is_told_to_end = was->revoked && was->revoked->result != EndResult::kOverBudget;
  return is_told_to_end ? std::nullopt : lease.retries.next;
}

// Whatever its command said of the signal.
bool Requeuing::goes_on_after_boot(const Lease& lease) const {
  const Held* was = lease.granted();
  if (was == nullptr || !was->command_ended || !was->exit) return false;
  if (was->revoked || is_released(lease)) return false;
  return lease.retries.kind == EndKind::kShutdown && lease.job && lease.request.requeue_grace;
}

bool Requeuing::comes_back(const Lease& lease) const {
  const Held* granted = lease.granted();
  return granted != nullptr &&
         (granted->is_being_stopped() || goes_on_after_boot(lease) || retry_of(lease));
}

void Requeuing::drop_next_attempt(LeaseId id) {
  const Held& was = *core_->state().find(id)->granted();
  core_->decide(id, CommandEnded{id, was.exit, EndKind::kFinal});
}

void Requeuing::on(const AskRequeue& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->granted();
  const bool under_way = held != nullptr && held->requeue;
  if (const auto refusal = under_way ? std::nullopt : refuse(*lease)) {
    core_->refuse(event.token, *refusal);
    return;
  }
  std::vector<Token>& requesters = known_[id].waiters;
  if (requesters.size() >= limits::kRequeueRequesters) {
    core_->refuse(event.token, RefusalCode::kBusy,
                  std::to_string(limits::kRequeueRequesters) + " wait already for " + text_of(id) +
                      " to be requeued");
    return;
  }
  requesters.push_back(event.token);
  if (!under_way) {
    ask(id, {.unsaved = event.body.unsaved, .by = event.actor.user});
  } else if (event.body.unsaved && !held->requeue->unsaved && !held->is_being_stopped()) {
    core_->decide(id, RequeueAsked{id, true, held->requeue->by});
  }
}

void Requeuing::ask(LeaseId id, RequeueTerms terms) {
  CHECK(core_->state().find(id)->request.requeue_grace.has_value());
  core_->decide(id, RequeueAsked{id, terms.unsaved, terms.by});
  if (core_->state().find(id)->request.checkpoint) {
    saves_->ask(id, CheckpointReason::kRequeue);
  } else {
    ask_to_stop(id);
  }
}

void Requeuing::after_save(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  const Held* held = lease.held();
  if (held == nullptr || !held->requeue || held->requeue->kill_at) return;
  const CheckpointEnd& save = checked(lease.checkpoints.last);
  if (save.outcome == CheckpointOutcome::kGone) {
    drop(id, "its berth run is gone, and nobody else could start its command again");
  } else if (save.outcome == CheckpointOutcome::kSaved || held->requeue->unsaved) {
    ask_to_stop(id);
  } else {
    drop(id, "it has not saved itself (" + std::string(to_text(save.outcome)) +
                 (save.detail.empty() ? "" : ", " + save.detail) +
                 "), and was not stopped; berth requeue --unsaved " + std::to_string(id.value) +
                 " requeues it all the same");
  }
}

void Requeuing::ask_to_stop(LeaseId id) {
  expect_answer(id, limits::kRequeueHeardWithin);
  core_->notify(id, LeaseEvent::kRequeue);
  core_->derive(id);
}

void Requeuing::on(const BeginRequeue& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  const bool may =
      held != nullptr && held->requeue && !lease->checkpoints.asked && core_->may_grant();
  if (!may) {
    core_->refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not to be stopped");
    return;
  }
  if (!held->requeue->kill_at) {
    known_[id].begins_until = Instant::never();
    presence_->disconnected(id);  // It comes back when all is stopped.
    core_->decide(id,
                  RequeueBegun{id, core_->now().instant + checked(lease->request.requeue_grace)});
    core_->notify(id, LeaseEvent::kRequeuing);
  }
  core_->answer(event.token, id);
}

void Requeuing::drop(LeaseId id, const std::string& why, EndResult result) {
  const Held* granted = core_->state().find(id)->granted();
  if (granted == nullptr || !granted->requeue) return;
  OfLease& known = known_[id];
  known.begins_until = Instant::never();
  known.failure = why;
  core_->decide(id, RequeueDropped{id, result});
  const Refusal refusal{RefusalCode::kNotRequeued, text_of(id) + " is not requeued: " + why};
  core_->notify(id, LeaseEvent::kRequeueDropped, {refusal});
  for (const Token token : std::exchange(known.waiters, {})) {
    core_->refuse(token, refusal);
  }
}

void Requeuing::expect_answer(LeaseId id, Duration within) {
  known_[id].begins_until = core_->now().instant + within;
}

void Requeuing::answer_waiters(LeaseId id) {
  for (const Token token : std::exchange(known_[id].waiters, {})) core_->answer(token, id);
}

}  // namespace berth::core
