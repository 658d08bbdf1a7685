// SPDX-License-Identifier: Apache-2.0
// Snapshots of the State: as views, and as records that rebuild it; and the rebuilding from these.
#include <utility>

#include "core/state.h"

namespace berth::core {

namespace {

RequeueStep step_of(const Lease& lease) {
  if (lease.releasing() != nullptr) return RequeueStep::kStopped;
  if (lease.held()->is_being_stopped()) return RequeueStep::kStopping;
  return lease.checkpoints.asked ? RequeueStep::kSaving : RequeueStep::kAsked;
}

Held held_of(const LeaseRestored& fact) {
  const LeaseView& view = *fact.view;
  Held held;
  for (const LeasePart& part : view.parts) held.parts.push_back({part.device, part.granted});
  held.granted.at = fact.granted_instant.value_or(fact.queued_instant);
  held.granted.wall = view.started_at.value_or(view.queued_at);
  held.granted.sequence = fact.granted_sequence;
  held.runs_since = fact.runs_since.value_or(held.granted.at);
  held.granted.passed_others = fact.passed_others;
  held.claimed = fact.claimed;
  held.command = view.command;
  held.command_ended = fact.command_ended;
  held.exit = view.exit;
  held.members.insert(view.members.begin(), view.members.end());
  held.departed = fact.departed;
  if (fact.expires) {
    held.expires = Moment{.at = *fact.expires, .wall = view.expires_at.value_or(UnixMs{})};
  }
  if (fact.kill_at) {
    held.revoked = Revocation{.result = fact.ending.value_or(EndResult::kCancelled),
                              .kill_at = *fact.kill_at,
                              .by = view.ended_by};
  }
  if (fact.growth) {
    held.growth = Growth{.vram = fact.growth->vram,
                         .queued_at = fact.growth_queued.value_or(held.granted.at),
                         .until = fact.growth->until};
  }
  held.away = fact.away;
  held.frozen = fact.frozen;
  held.pause = view.pause;
  held.pause_ends = fact.pause_ends;
  held.idle_since = fact.idle_since;
  if (fact.requeue) {
    held.requeue = Requeue{
        .unsaved = fact.requeue->unsaved, .kill_at = fact.requeue_kill_at, .by = fact.requeue->by};
  }
  if (fact.suspension) {
    using Phase = Suspension::Phase;
    held.suspension = Suspension{.phase = fact.resume_begun ? Phase::kSwappingIn
                                          : fact.suspended  ? Phase::kSuspended
                                                            : Phase::kSwappingOut,
                                 .used = fact.suspension->used,
                                 .since = fact.suspended_since.value_or(held.granted.at),
                                 .queued = fact.resume_queued,
                                 .queued_sequence = fact.resume_sequence,
                                 .yields_to = fact.suspension->yields_to,
                                 .turn = fact.suspension->turn,
                                 .moved_from = fact.moved_from.value_or(std::vector<DeviceId>{}),
                                 .moved_by = view.moved_by};
  }
  return held;
}

}  // namespace

std::optional<Lease> restored_lease(const LeaseRestored& fact) {
  const LeaseView& view = *fact.view;
  Lease lease{
      .id = view.id,
      .handle = view.handle,
      .user = view.user,
      .supervisor = view.supervisor,
      .request = view.request,
      .queued_at = fact.queued_instant,
      .queued_wall = view.queued_at,
      .queued_sequence = fact.queued_sequence,
      .checkpoints = view.checkpoints,
      .checkpoint_asked = fact.checkpoint_asked,
      .measures = Measures(view.measures),
      .restarts = view.restarts,
      .waited_before = fact.waited_before,
      .job = view.job,
      .set = view.set,
      .retries = view.retries.value_or(Retries{}),
      .messages = MessageTable(view.messages),
      .state = Waiting{
          .parked_since = fact.parked_since, .hold = view.hold, .passed_since = fact.passed_since}};
  if (view.state != LeaseState::kWaiting) {
    if (view.parts.empty()) return std::nullopt;
    Held held = held_of(fact);
    if (view.state == LeaseState::kReleasing) {
      lease.state = Releasing{.was = std::move(held),
                              .result = fact.ending.value_or(EndResult::kLost),
                              .since = fact.releasing_since.value_or(fact.queued_instant),
                              .by = view.ended_by};
    } else {
      lease.state = std::move(held);
    }
  }
  return lease;
}

LeaseView survivor_view(const Lease& lease) {
  LeaseView view;
  view.id = lease.id;
  view.handle = lease.handle;
  view.user = lease.user;
  view.request = lease.request;
  view.supervisor = lease.supervisor;
  view.queued_at = lease.queued_wall;
  view.checkpoints = lease.checkpoints;
  view.measures = lease.measures.taken();
  view.restarts = lease.restarts;
  view.job = lease.job;
  view.set = lease.set;
  const bool may_come_again = lease.request.retry_max > 0 || lease.request.on_oom != OnOom::kFail ||
                              lease.retries.kind == EndKind::kShutdown;
  if (may_come_again) view.retries = lease.retries;
  view.messages = lease.messages.all();
  view.flags.message = !lease.messages.unanswered().empty();
  view.flags.checkpointing = lease.checkpoints.asked.has_value();
  if (const Waiting* waiting = lease.waiting()) {
    view.flags.parked = waiting->parked_since.has_value();
    view.flags.on_hold = waiting->hold.has_value();
    view.hold = waiting->hold;
    return view;
  }
  const Held& held = *lease.granted();
  const bool suspended =
      held.suspension && held.suspension->phase != Suspension::Phase::kSwappingOut;
  view.state = lease.releasing() != nullptr ? LeaseState::kReleasing
               : suspended                  ? LeaseState::kSuspended
                                            : LeaseState::kHeld;
  if (lease.held() != nullptr && held.suspension) {
    view.flags.suspending = !suspended;
    view.flags.resuming =
        suspended && (held.suspension->queued.has_value() || !held.is_swapped_out());
  }
  view.flags.revoking = held.revoked.has_value();
  view.flags.requeuing = held.requeue.has_value();
  if (held.requeue) view.requeue = step_of(lease);
  if (held.requeue) view.requeued_by = held.requeue->by;
  view.flags.frozen = held.frozen;
  view.pause = held.pause;
  if (held.suspension) view.moved_by = held.suspension->moved_by;
  if (held.revoked) view.ended_by = held.revoked->by;
  if (const Releasing* releasing = lease.releasing()) view.ended_by = releasing->by;
  view.flags.unclaimed = !held.claimed;
  view.exit = held.exit;
  view.command = held.command;
  view.members.assign(held.members.begin(), held.members.end());
  view.parts.reserve(held.parts.size());
  for (const Part& part : held.parts) {
    view.parts.push_back({.device = part.device,
                          .index = std::nullopt,
                          .granted = part.budget,
                          .used = std::nullopt,
                          .peak = std::nullopt});
  }
  view.started_at = held.granted.wall;
  if (held.expires) view.expires_at = held.expires->wall;
  view.waited = lease.waited_before + (held.granted.at - lease.queued_at);
  return view;
}

std::vector<Record> State::snapshot(Instant now) const {
  std::vector<Record> records;
  records.reserve(past_.ended.size() + leases_.size() + 1);
  const auto add = [&](Fact fact) { records.push_back({0, now, UnixMs{}, std::move(fact)}); };
  for (const LeaseView& view : past_.ended) add(LeaseRestored{.view = view});
  for (const auto& [id, lease] : leases_) {
    LeaseRestored fact{.view = survivor_view(lease),
                       .queued_instant = lease.queued_at,
                       .queued_sequence = lease.queued_sequence,
                       .checkpoint_asked = lease.checkpoint_asked,
                       .waited_before = lease.waited_before};
    if (const Waiting* waiting = lease.waiting()) {
      fact.passed_since = waiting->passed_since;
      fact.parked_since = waiting->parked_since;
    }
    if (const Held* held = lease.granted()) {
      fact.granted_instant = held->granted.at;
      fact.granted_sequence = held->granted.sequence;
      fact.runs_since = held->runs_since;
      fact.passed_others = held->granted.passed_others;
      fact.claimed = held->claimed;
      fact.command_ended = held->command_ended;
      fact.departed = held->departed;
      if (held->expires) fact.expires = held->expires->at;
      if (held->revoked) {
        fact.kill_at = held->revoked->kill_at;
        fact.ending = held->revoked->result;
      }
      if (held->growth) {
        fact.growth = GrowthQueued{id, held->growth->vram, held->growth->until};
        fact.growth_queued = held->growth->queued_at;
      }
      fact.away = held->away;
      if (held->requeue) {
        fact.requeue = RequeueAsked{id, held->requeue->unsaved, held->requeue->by};
        fact.requeue_kill_at = held->requeue->kill_at;
      }
      fact.frozen = held->frozen;
      fact.pause_ends = held->pause_ends;
      fact.idle_since = held->idle_since;
      if (const auto& suspension = held->suspension) {
        fact.suspension =
            SuspendBegun{id, suspension->used, suspension->yields_to, suspension->turn};
        fact.suspended_since = suspension->since;
        fact.suspended = held->is_swapped_out();
        fact.resume_queued = suspension->queued;
        fact.resume_sequence = suspension->queued_sequence;
        fact.resume_begun = suspension->phase == Suspension::Phase::kSwappingIn;
        if (!suspension->moved_from.empty()) fact.moved_from = suspension->moved_from;
      }
    }
    if (const Releasing* releasing = lease.releasing()) {
      fact.ending = releasing->result;
      fact.releasing_since = releasing->since;
    }
    add(std::move(fact));
  }
  // As it is kept, and not as it has come to be by now: what is restored then stays equal, to the
  // last bit, to what replaying the records gives, and so does the order of the queue.
  for (const auto& [user, sessions] : shares_.users()) {
    for (const auto& [session, usage] : sessions) {
      add(UsageRestored{user, session, usage.byte_seconds, usage.at});
    }
  }
  for (CommandRestored& fact : past_.runs.all()) add(std::move(fact));
  add(CountersRestored{next_id_, last_sequence_});
  return records;
}

}  // namespace berth::core
