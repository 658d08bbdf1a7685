// SPDX-License-Identifier: Apache-2.0
#include "core/saves.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/limits.h"
#include "core/operations.h"

namespace berth::core {
namespace {

// The grace ends with the limit, or begins half-way where that is nearer.
Instant ask_before_limit(const Held& held, Duration limit, Duration grace) {
  const std::int64_t lead_ns = std::min(grace.ns, limit.ns / 2);
  return held.granted.at + held.away + Duration{limit.ns - lead_ns};
}

bool asks_by_itself(const Lease& lease) {
  // Where its `berth run` was gone it will not come back.
  const auto& last = lease.checkpoints.last;
  return !last || last->outcome != CheckpointOutcome::kGone;
}

struct Due {
  Instant at = Instant::never();
  CheckpointReason reason = CheckpointReason::kPeriodic;
};

// When it is to be asked without anybody saying so.
Due next_of(const Lease& lease) {
  Due due;
  const std::optional<CheckpointWay>& way = lease.request.checkpoint;
  if (!way || lease.checkpoints.asked || !asks_by_itself(lease)) return due;
  if (verdict(Operation::kSave, standing_of(lease)).answer == Answer::kRefuse) return due;
  const Held* held = lease.held();
  const Instant asked = lease.checkpoint_asked.value_or(held->granted.at);
  if (way->every) due.at = asked + *way->every;
  if (const auto& limit = lease.request.limit) {
    const Instant before = ask_before_limit(*held, *limit, way->grace);
    const bool done = lease.checkpoint_asked && *lease.checkpoint_asked >= before;
    if (!done && before <= due.at) due = {.at = before, .reason = CheckpointReason::kLimit};
  }
  return due;
}

Instant deadline_of_save(const Lease& lease) {
  const auto& way = lease.request.checkpoint;
  if (!lease.checkpoints.asked || !lease.checkpoint_asked || !way) return Instant::never();
  return *lease.checkpoint_asked + way->grace + limits::kCheckpointMargin;
}

}  // namespace

std::optional<Refusal> Saves::refuse_way(const Request& request) {
  if (!request.checkpoint) return std::nullopt;
  const CheckpointWay& way = *request.checkpoint;
  if (request.ttl) {
    return Refusal{RefusalCode::kInvalid, "a reservation has no program that could save itself"};
  }
  if (way.grace.ns <= 0 || way.grace > limits::kCheckpointGraceMax) {
    return Refusal{RefusalCode::kInvalid, "the time of a save must be greater than 0 and at most " +
                                              to_text(limits::kCheckpointGraceMax)};
  }
  if (way.every && *way.every < limits::kCheckpointEveryMin) {
    return Refusal{RefusalCode::kInvalid,
                   "it can be asked each " + to_text(limits::kCheckpointEveryMin) + " at most"};
  }
  return std::nullopt;
}

std::optional<Refusal> Saves::refuse(const Lease& lease) const {
  if (!lease.request.checkpoint) {
    return Refusal{RefusalCode::kWrongState,
                   text_of(lease.id) +
                       " was started without --checkpoint: nobody knows how it could save itself"};
  }
  if (!lease.checkpoints.asked) {
    if (auto refusal = refusal_of(Operation::kSave, lease)) return refusal;
  }
  if (waiters_.at(lease.id).size() >= limits::kCheckpointRequesters) {
    return Refusal{RefusalCode::kBusy, std::to_string(limits::kCheckpointRequesters) +
                                           " wait already for " + text_of(lease.id) +
                                           " to have saved itself"};
  }
  return std::nullopt;
}

void Saves::on(const AskCheckpoint& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  if (std::optional<Refusal> refusal = refuse(*lease)) {
    core_->refuse(event.token, *std::move(refusal));
    return;
  }
  ask(id, CheckpointReason::kAsked);
  if (event.body.wait_max && event.body.wait_max->ns <= 0) {
    core_->answer(event.token, id);
    return;
  }
  const Instant until =
      event.body.wait_max ? core_->now().instant + *event.body.wait_max : Instant::never();
  waiters_[id].push_back({.token = event.token, .until = until});
  core_->derive(id);
}

/// One that is under way will do.
void Saves::ask(LeaseId id, CheckpointReason reason) {
  const Lease& lease = *core_->state().find(id);
  CHECK(lease.request.checkpoint.has_value());
  const Checkpoints& saves = lease.checkpoints;
  if (saves.asked) return;
  const std::uint64_t number = saves.last ? saves.last->number + 1 : 1;
  core_->decide(id, CheckpointAsked{id, number, reason});
  core_->notify(id, LeaseEvent::kCheckpoint);
}

void Saves::on(const ReportCheckpoint& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const auto& asked = lease->checkpoints.asked;
  // What comes too late, or twice, changes nothing of what was said.
  const CheckpointedBody& report = event.body;
  if (asked && asked->number == report.number) end(id, report.outcome, report.detail);
  core_->answer(event.token, id);
}

void Saves::end(LeaseId id, CheckpointOutcome outcome, std::string detail) {
  detail.resize(std::min(detail.size(), limits::kCheckpointDetail));
  const std::uint64_t number = checked(core_->state().find(id)->checkpoints.asked).number;
  core_->decide(id, CheckpointEnded{id, number, outcome, std::move(detail)});
  core_->notify(id, LeaseEvent::kCheckpointed);
  for (const Waiter& waiter : waiters_.at(id)) core_->answer(waiter.token, id);
  waiters_.forget(id);
  core_->derive(id);
  core_->save_ended(id);
}

Instant Saves::due(const Lease& lease) const {
  if (!lease.request.checkpoint) return Instant::never();
  Instant at = std::min(deadline_of_save(lease), next_of(lease).at);
  for (const Waiter& waiter : waiters_.at(lease.id)) at = std::min(at, waiter.until);
  return at;
}

// What is due of the saves of a lease: one thing at a time. False: nothing is.
bool Saves::tend(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  if (due(lease) > core_->now().instant) return false;
  if (deadline_of_save(lease) <= core_->now().instant) {
    end(id, CheckpointOutcome::kTimedOut,
        "nothing was heard within " + to_text(checked(lease.request.checkpoint).grace));
    return true;
  }
  const Due next = next_of(lease);
  if (next.at <= core_->now().instant) {
    ask(id, next.reason);
    return true;
  }
  std::vector<Waiter>& waiters = waiters_[id];
  for (const Waiter& waiter : waiters) {
    if (waiter.until <= core_->now().instant) core_->answer(waiter.token, id);
  }
  std::erase_if(waiters,
                [&](const Waiter& waiter) { return waiter.until <= core_->now().instant; });
  core_->derive(id);
  return true;
}

}  // namespace berth::core
