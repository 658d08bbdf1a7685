// SPDX-License-Identifier: Apache-2.0
// Deadlines in the lives of leases, and the processes whose ends they wait for.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/quantity.h"
#include "core/lifecycle.h"
#include "core/limits.h"

namespace berth::core {
namespace {

std::string why_wait_ended(const Lease& lease, const Admission& admission) {
  const std::string most = to_text(checked(lease.request.wait_max));
  const std::string over = ", and the " + most + " that it may wait are over";
  if (lease.waiting()->hold) return text_of(lease.id) + " is on hold" + over;
  if (lease.waiting()->parked_since) return text_of(lease.id) + " was set aside" + over;
  return "not granted within " + most + ": " + admission.shortage_text(lease.request, lease.user);
}

}  // namespace

// What has run once waits as long as it takes.
Instant ends_wait(const Lease& lease) {
  if (!lease.request.wait_max || lease.restarts > 0) return Instant::never();
  return lease.queued_at + *lease.request.wait_max;
}

void renew(Decider& core, LeaseId id, Duration ttl) {
  CHECK(ttl.ns > 0);
  const Instant expires = core.now().instant + ttl;
  core.decide(id, LeaseRenewed{id, expires, wall_at(expires, core.now())});
}

Instant Lifecycle::due(const Lease& lease) const {
  Instant at = known_.at(lease.id).exit_answer_by;
  const auto sooner = [&](Instant other) { at = std::min(at, other); };
  if (const Waiting* waiting = lease.waiting()) {
    sooner(ends_wait(lease));
    if (waiting->parked_since) sooner(*waiting->parked_since + limits::kParkedMax);
    if (const auto until = presence_->reconnect_until(lease.id)) sooner(*until);
  } else if (const Held* held = lease.held()) {
    sooner(due_of_held(lease, *held));
  } else if (const Releasing* releasing = lease.releasing()) {
    sooner(due_of_releasing(lease, *releasing));
  }
  return at;
}

Instant Lifecycle::due_of_held(const Lease& lease, const Held& held) const {
  // Its limit is looked at when there is something to end.
  if (!held.claimed) return presence_->claim_until(lease.id);
  Instant at = requeuing_->answer_due(lease.id);
  const auto sooner = [&](Instant other) { at = std::min(at, other); };
  if (held.expires) sooner(held.expires->at);
  if (held.growth && held.growth->until) sooner(*held.growth->until);
  const bool killed = known_.at(lease.id).killed;
  if (held.revoked) {
    if (!killed) sooner(held.revoked->kill_at);
  } else if (const std::optional<Instant> stopped_by = held.stopped_by()) {
    if (!killed) sooner(*stopped_by + limits::kRequeueMargin);
  } else if (lease.request.limit && !held.suspension) {
    sooner(held.granted.at + held.away + *lease.request.limit);
  }
  const std::optional<Instant> since = confirmations_->end_awaited_since(lease.id);
  if (held.command_ended && since) sooner(*since + limits::kReleasingMax);
  return at;
}

Instant Lifecycle::due_of_releasing(const Lease& lease, const Releasing& releasing) const {
  // Nothing of it is given up before.
  if (const std::optional<Instant> kill_at = kill_due(lease)) return *kill_at;
  const bool freed = confirmations_->is_free(lease.id);
  const bool awaits_move = freed && releasing.was.frozen;
  if (awaits_move) return Instant::never();
  return releasing.since + (freed ? report_within(lease) : limits::kReleasingMax);
}

bool Lifecycle::tend_exit(LeaseId id) {
  if (known_.at(id).exit_answer_by > core_->now().instant) return false;
  answer_exit(id);
  return true;
}

void Lifecycle::tend(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  if (const Waiting* waiting = lease.waiting()) {
    tend_waiting(lease, *waiting);
  } else if (const Held* held = lease.held()) {
    tend_held(lease, *held);
  } else {
    tend_releasing(lease);
  }
}

void Lifecycle::tend_waiting(const Lease& lease, const Waiting& waiting) {
  const LeaseId id = lease.id;
  const Instant now = core_->now().instant;
  if (ends_wait(lease) <= now) {
    end_waiting(id, EndResult::kRefused,
                {{RefusalCode::kBusy, why_wait_ended(lease, *admission_)}});
  } else if (waiting.parked_since && *waiting.parked_since + limits::kParkedMax <= now) {
    end_waiting(id, EndResult::kCancelled,
                {{RefusalCode::kBusy, text_of(id) + " was set aside for " +
                                          to_text(limits::kParkedMax) + " and is cancelled"}});
  } else if (lease.job) {
    presence_->expected_no_more(id);
    core_->derive_deadline(id);
    core_->look_again();
  } else if (lease.supervisor) {
    // After a restart: whose process lives keeps the place and loses the turn.
    presence_->expected_no_more(id);
    core_->decide(id, RequestParked{id, true});
  } else {
    end_waiting(id, EndResult::kCancelled, {});  // Who cannot even be watched has gone.
  }
}

void Lifecycle::tend_held(const Lease& lease, const Held& held) {
  const LeaseId id = lease.id;
  const auto due = [&](std::optional<Instant> at) { return at && *at <= core_->now().instant; };
  const bool killed = known_.at(id).killed;
  const std::optional<Instant> stopped_by = held.stopped_by();
  const std::optional<Instant> awaited_since = confirmations_->end_awaited_since(id);
  if (!held.claimed && lease.job) {
    presence_->disconnected(id);  // Nobody came for what was offered.
    lapse(id, false);
  } else if (!held.claimed) {
    lapse(id, true);
    core_->notify(id, LeaseEvent::kParked);
  } else if (held.expires && due(held.expires->at)) {
    const bool is_used = lease.request.while_used && held.has_processes() && !held.revoked;
    is_used ? renew(*core_, id, checked(lease.request.ttl)) : start_releasing(id, EndResult::kOk);
  } else if (held.growth && due(held.growth->until)) {
    resizing_->drop(id, Refusal{RefusalCode::kBusy, "there was no room to grow in the given time"});
  } else if (held.revoked && !killed && due(held.revoked->kill_at)) {
    kill_programs(id);
  } else if (due(requeuing_->answer_due(id))) {
    requeuing_->drop(id, "its berth run does not answer (it may be stopped)");
  } else if (stopped_by && !killed && due(*stopped_by + limits::kRequeueMargin)) {
    core_->say(text_of(id) +
               " is to be requeued, and its berth run has not stopped its command "
               "in time: it is killed");
    kill_programs(id);
  } else if (held.command_ended && awaited_since && due(*awaited_since + limits::kReleasingMax)) {
    start_releasing(id, result_of(held));
  } else {
    revoke(id, EndResult::kLimit);
  }
}

void Lifecycle::tend_releasing(const Lease& lease) {
  const LeaseId id = lease.id;
  if (kill_due(lease)) {
    kill_programs(id);
  } else {
    if (!confirmations_->is_free(id)) {
      core_->say(text_of(id) + " ended " + to_text(limits::kReleasingMax) +
                 " ago and the driver has not freed its memory, or has not answered: what is left "
                 "is counted as unmanaged");
      attribution_->disown(id);
      confirmations_->free(id);
    }
    core_->derive(id);
  }
  finish_if_free(id);
}

std::vector<Process> Lifecycle::watch_list(const Lease& lease) const {
  std::vector<Process> watch;
  const bool is_there = presence_->is_connected(lease.id);
  if (lease.waiting() != nullptr && !is_there && lease.supervisor && !lease.job) {
    watch.push_back(*lease.supervisor);
  }
  const Held* held = lease.granted();
  if (held == nullptr) return watch;
  if (held->command && !held->command_ended) watch.push_back(*held->command);
  if (lease.supervisor) {
    const bool anchored = lease.request.ttl && lease.held() != nullptr;
    const bool works = lease.checkpoints.asked || held->requeue;  // It does that.
    if (anchored || (!held->claimed && !is_there) || works) watch.push_back(*lease.supervisor);
  }
  watch.insert(watch.end(), held->members.begin(), held->members.end());
  std::ranges::sort(watch);
  watch.erase(std::ranges::unique(watch).begin(), watch.end());
  return watch;
}

// A process is watched once, however many leases wait for its end.
void Lifecycle::update_watches(LeaseId id, const Lease* lease) {
  std::vector<Process> watch = lease == nullptr ? std::vector<Process>() : watch_list(*lease);
  const std::vector<Process>& before = known_.at(id).watched;
  if (watch == before) return;
  const auto watched_for_another = [&](const Process& process) {
    const auto other = watches_.lower_bound({process, LeaseId{}});
    return other != watches_.end() && other->first == process;
  };
  for (const Process& process : before) {
    if (std::ranges::binary_search(watch, process)) continue;
    watches_.erase({process, id});
    if (!watched_for_another(process)) core_->emit(Unwatch{process});
  }
  for (const Process& process : watch) {
    if (std::ranges::binary_search(before, process)) continue;
    if (!watched_for_another(process)) core_->emit(Watch{process});
    watches_.emplace(process, id);
  }
  known_[id].watched = std::move(watch);
}

}  // namespace berth::core
