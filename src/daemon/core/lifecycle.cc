// SPDX-License-Identifier: Apache-2.0
#include "core/lifecycle.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// As Linux numbers them on every machine; <csignal> would bring the rest of the world.
constexpr std::int32_t kTerminate = 15;
constexpr std::int32_t kKill = 9;

constexpr const char* kEndedByItself = "its command has ended by itself";

// A program that has its own lease knows what it does, and so does the last one of a lease; those
// of others may not.
bool would_run_on(const Held& held, const std::optional<Process>& requester) {
  if (!held.has_processes()) return false;
  if (!requester) return true;
  const bool has_command = held.command && !held.command_ended;
  const bool is_last =
      !has_command && held.members.size() == 1 && held.members.contains(*requester);
  return held.command != requester && !is_last;
}

}  // namespace

EndResult result_of(const Held& held) {
  if (held.revoked) return held.revoked->result;
  if (!held.command) return EndResult::kOk;
  if (!held.exit) return EndResult::kLost;
  if (held.exit->signal != 0) return EndResult::kKilled;
  return held.exit->code == 0 ? EndResult::kOk : EndResult::kFailed;
}

// Lost is what it is as long as nobody has said how its command ended.
EndResult result_of(const Releasing& releasing) {
  return releasing.result == EndResult::kLost ? result_of(releasing.was) : releasing.result;
}

// How long the one that knows how the command ended may take to say so. One that saves tells of
// that first; one that stops it to start it again sees that nothing of it is left.
Duration report_within(const Lease& lease) {
  const Releasing& releasing = *lease.releasing();
  if (const std::optional<Instant> stopped_by = releasing.was.stopped_by()) {
    const Instant from = std::max(*stopped_by, releasing.since);
    return from - releasing.since + limits::kRequeueMargin;
  }
  return lease.checkpoints.asked ? limits::kCheckpointMargin : limits::kExitReportWithin;
}

void Lifecycle::on(const ReportExit& event) {
  LeaseId id = core_->state().find(event.handle).value_or(LeaseId{});
  if (id == LeaseId{}) {
    for (const LeaseView& view : core_->state().ended()) {
      if (view.handle == event.handle && view.user == event.actor.user) id = view.id;
    }
  }
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr) {
    const LeaseView* ended = core_->state().find_ended(id);
    if (ended == nullptr) {
      core_->refuse(event.token, RefusalCode::kNotFound,
                    "there is no lease " + to_text(event.handle) + " any more");
      return;
    }
    const bool is_last = ended->restarts == event.body.restarts;
    if (!ended->exit && is_last) core_->decide(id, CommandEnded{id, event.body.exit});
    core_->answer(event.token, id);
    return;
  }
  if (core_->lease_of(event.token, event.actor, id) == nullptr) return;
  if (event.body.restarts != lease->restarts) {
    core_->answer(event.token, id);  // Of an earlier run, and it came late.
    return;
  }
  const Held* held = lease->granted();
  const bool has_begun = held != nullptr && (lease->held() == nullptr || held->claimed);
  if (lease->job && !has_begun && event.body.kind == EndKind::kFinal) {
    end_waiting(id, EndResult::kFailed, {});
    core_->decide(id, CommandEnded{id, event.body.exit});
    core_->answer(event.token, id);
    return;
  }
  if (held == nullptr || !held->command) {
    core_->refuse(event.token, RefusalCode::kWrongState, text_of(id) + " has no command");
    return;
  }
  const bool news = !held->command_ended;
  const bool is_told = held->exit.has_value();
  // A `berth run` that has stopped it comes back instead of telling how it ended.
  requeuing_->drop(id, kEndedByItself);
  const ExitBody& told = event.body;
  if (!is_told) {
    core_->decide(id,
                  CommandEnded{id, told.exit, told.kind, requeuing_->decide_retry(*lease, told)});
  }
  // Its `berth run` comes back, to wait for the next attempt.
  if (!is_told && requeuing_->comes_back(*lease)) presence_->disconnected(id);
  membership_->set_leftovers(id, event.body.leftovers);
  if (news) command_finished(id);
  finish_if_free(id);
  if (core_->state().find(id) == nullptr || event.body.leftovers.empty()) {
    core_->answer(event.token, id);
    return;
  }
  // What is still on a device is known after the next sample; the caller is not kept long.
  OfLease& known = known_[id];
  if (known.exit_waiter) core_->answer(*known.exit_waiter, id);
  known.exit_waiter = event.token;
  known.exit_answer_by = core_->now().instant + limits::kLeftoversWithin;
  core_->derive(id);
}

void Lifecycle::answer_exit(LeaseId id) {
  const std::optional<Token> waiter = known_.at(id).exit_waiter;
  if (!waiter) return;
  OfLease& known = known_[id];
  core_->answer(*waiter, id);
  known.exit_waiter.reset();
  known.exit_answer_by = Instant::never();
  core_->derive(id);
}

void Lifecycle::on(const Release& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const UserId by = event.actor.user;
  const Held* held = lease->held();
  const bool ends_them = event.body.kill;
  if (lease->waiting() != nullptr && lease->waiting()->hold && !ends_them) {
    const std::string number = std::to_string(id.value);
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(id) + " is on hold: berth hold --off " + number +
                      " lets it be granted, and berth cancel " + number +
                      " takes it out of the queue");
    return;
  }
  const bool detaches = held != nullptr && !ends_them && would_run_on(*held, event.actor.process);
  if (detaches && !event.body.detach) {
    const std::string number = std::to_string(id.value);
    core_->refuse(event.token, RefusalCode::kRunning,
                  text_of(id) + " still runs its command: berth cancel " + number +
                      " ends it, berth pause " + number +
                      " frees its GPU memory for a while, and berth release --detach " + number +
                      " lets it run on without a lease");
    return;
  }
  core_->answer(event.token, id);
  release(id, by, {.ends_them = ends_them, .detaches = detaches});
}

void Lifecycle::release(LeaseId id, std::optional<UserId> by, ReleaseWay way) {
  const Lease* lease = core_->state().find(id);
  const Held* held = lease->held();
  if (lease->waiting() != nullptr || (held != nullptr && !held->claimed)) {
    end_waiting(id, EndResult::kCancelled,
                {{RefusalCode::kWrongState, text_of(id) + " was cancelled while it waited"}}, by);
  } else if (held != nullptr && way.ends_them) {
    const bool has_processes = held->has_processes();
    revoke(id, EndResult::kCancelled, by);
    if (!has_processes) start_releasing(id, EndResult::kCancelled, by);
  } else if (held != nullptr) {
    requeuing_->drop(id, "it was released");
    start_releasing(id,
                    way.detaches          ? EndResult::kDetached
                    : held->command_ended ? result_of(*held)
                                          : EndResult::kOk,
                    by);
    if (way.detaches) core_->notify(id, LeaseEvent::kDetached);
  } else if (lease->releasing()->was.requeue) {
    requeuing_->drop(id, "it was told to end", EndResult::kCancelled);
    finish_if_free(id);
  } else if (way.ends_them) {
    const Held& was = lease->releasing()->was;
    if (requeuing_->comes_back(*lease)) requeuing_->drop_next_attempt(id);
    if (!was.revoked && was.has_processes()) {
      const Instant kill_at = core_->now().instant + limits::kKillAfter;
      core_->decide(id, LeaseRevoked{id, EndResult::kCancelled, kill_at, by});
    }
    send_signal(id, kTerminate);
  }
}

void Lifecycle::on(const Cancel& event) {
  on(Release{event.token, event.actor, event.lease, {.kill = true}});
}

void Lifecycle::on(const Renew& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  if (lease->held() == nullptr || !lease->held()->expires) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(lease->id) + " does not expire: only a reservation is renewed");
    return;
  }
  if (event.body.ttl.ns <= 0 || event.body.ttl > limits::kTtlMax) {
    core_->refuse(event.token, RefusalCode::kInvalid,
                  "DURATION must be between 1 ms and " + to_text(limits::kTtlMax));
    return;
  }
  renew(*core_, lease->id, event.body.ttl);
  core_->answer(event.token, lease->id);
}

void Lifecycle::on(const ProcessEnded& event) {
  std::vector<LeaseId> concerned;
  for (auto i = watches_.lower_bound({event.process, LeaseId{}});
       i != watches_.end() && i->first == event.process; ++i) {
    concerned.push_back(i->second);
  }
  for (const LeaseId id : concerned) process_ended(id, event.process);
}

void Lifecycle::process_ended(LeaseId id, Process process) {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr) return;
  const bool is_supervisor = lease->supervisor == process;
  const Held* held = lease->granted();
  if (held == nullptr || !held->claimed) {
    if (is_supervisor && !lease->job) end_waiting(id, EndResult::kCancelled, {});
    return;
  }
  if (held->command == process && !held->command_ended) {
    core_->decide(id, CommandEnded{id, std::nullopt});
    command_finished(id);
    finish_if_free(id);
    return;
  }
  if (held->members.contains(process)) {
    core_->decide(id, MemberGone{id, process});
    const bool nobody_left = held->members.empty() && (held->command_ended || !held->command);
    const bool hangs_on_them = !lease->request.ttl || held->revoked;
    if (lease->held() != nullptr && nobody_left) {
      if (hangs_on_them) {
        settle(id);
      } else if (lease->request.while_used) {
        renew(*core_, id, *lease->request.ttl);
      }
    }
  }
  finish_if_free(id);
  if (is_supervisor && core_->state().find(id) != nullptr) supervisor_ended(id);
}

void Lifecycle::supervisor_ended(LeaseId id) {
  const Lease* lease = core_->state().find(id);
  // A library in the program does not need it.
  const auto& way = lease->request.checkpoint;
  const bool by_library = way && way->kind == CheckpointKind::kLibrary;
  if (lease->checkpoints.asked && !by_library) {
    saves_->end(id, CheckpointOutcome::kGone, "nobody is there to ask: its berth run is gone");
  }
  nobody_starts_it_again(id);
  lease = core_->state().find(id);
  // The terminal's session leader, on which a reservation hangs.
  if (lease != nullptr && lease->held() != nullptr && lease->request.ttl) {
    start_releasing(id, EndResult::kOk);
  }
}

void Lifecycle::command_finished(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  if (lease.held() == nullptr) return;
  // Its `berth run` sees to the rest of what it stops.
  if (lease.held()->is_being_stopped()) return settle(id);
  requeuing_->drop(id, kEndedByItself);
  switch (lease.request.leftovers) {
    case Leftovers::kRelease:
      start_releasing(id, result_of(*lease.held()));
      return;
    case Leftovers::kKill:
      if (!lease.held()->members.empty() && !lease.held()->revoked) {
        revoke(id, result_of(*lease.held()));
      }
      break;
    case Leftovers::kWait:
      break;
  }
  settle(id);
}

// Who is left on the devices is what the next sample says, if it was asked after this.
void Lifecycle::settle(LeaseId id) {
  confirmations_->await_end(id);
  core_->derive(id);
  core_->ask_probe(core_->now().instant);
}

void Lifecycle::start_releasing(LeaseId id, EndResult result, std::optional<UserId> by) {
  resizing_->drop(id, Refusal{RefusalCode::kWrongState, text_of(id) + " ended while it waited"});
  confirmations_->await_end(id);
  transfers_->thaw(id);
  core_->decide(id, LeaseReleasing{id, result, by});
  core_->ask_probe(core_->now().instant);
}

void Lifecycle::settle_with(const Sample& sample) {
  std::vector<LeaseId> due;
  for (const LeaseId id : confirmations_->ending()) {
    const std::optional<Instant> since = confirmations_->end_awaited_since(id);
    if (!since || sample.asked_at >= *since) due.push_back(id);
  }
  for (const LeaseId id : due) settle_one(id);
}

// What is on the way to a device is listed when it is there; until then nobody can tell.
bool Lifecycle::may_be_brought_back(const Lease& lease) const {
  return lease.releasing() != nullptr && lease.releasing()->was.has_processes() &&
         transfers_->of(lease.id).is_under_way() && !transfers_->of(lease.id).is_freezing();
}

// A sample asked after the end tells who is left.
void Lifecycle::settle_one(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  CHECK(lease.granted() != nullptr);
  for (const Part& part : lease.granted()->parts) {
    // Where nothing is told, the deadline of `releasing` ends the wait.
    if (!devices_->tells_who_is_left(part.device) && !devices_->sleeps(part.device)) return;
  }
  if (may_be_brought_back(lease)) return;
  confirmations_->end_is_told(id);
  if (const Held* held = lease.held()) {
    if (!held->members.empty()) {
      confirmations_->await_no_more(id);  // They hold it; their ends are watched.
      answer_exit(id);
      const bool may_stay = held->revoked || held->is_being_stopped();
      if (!may_stay && lease.request.leftovers == Leftovers::kKill) {
        revoke(id, result_of(*held));
      }
      core_->derive(id);
      return;
    }
    resizing_->drop(id, Refusal{RefusalCode::kWrongState, text_of(id) + " ended while it waited"});
    transfers_->thaw(id);
    core_->decide(id, LeaseReleasing{id, result_of(*held)});
  }
  if (attribution_->is_measured(id)) {
    core_->derive(id);
    return;
  }
  confirmations_->free(id);
  confirmations_->await_no_more(id);
  core_->derive(id);
  finish_if_free(id);
}

void Lifecycle::transfer_over(LeaseId id) {
  const bool releasing = core_->state().find(id)->releasing() != nullptr;
  if (!releasing || transfers_->of(id).is_freezing()) return;
  if (confirmations_->ending().contains(id)) settle(id);  // Now a sample can tell.
}

// Its memory is free. What may still be missing is word of how the command ended.
void Lifecycle::finish_if_free(LeaseId id) {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr || lease->releasing() == nullptr || !confirmations_->is_free(id)) return;
  const Releasing& releasing = *lease->releasing();
  if (releasing.was.frozen) return;  // First all that was stopped goes on.
  const bool is_due = core_->now().instant >= releasing.since + report_within(*lease);
  if (releasing.was.requeue) {
    if (presence_->is_connected(id) || is_due) wait_again(id);
    return;
  }
  if (kill_due(*lease)) return;
  const bool awaits_exit =
      releasing.was.command && !releasing.was.exit && lease->supervisor && !is_due;
  if (awaits_exit) return;
  answer_exit(id);
  if (lease->checkpoints.asked) {
    saves_->end(id, CheckpointOutcome::kFailed, "its command ended before it was told");
  }
  if (auto retry = requeuing_->retry_of(*lease)) {
    breaker_.ended(*lease, result_of(releasing.was));
    return wait_again(id, retry);
  }
  if (requeuing_->goes_on_after_boot(*lease)) return wait_again(id);
  const EndResult result = result_of(releasing);
  breaker_.ended(*lease, result);
  core_->decide(id, LeaseEnded{id, result, attribution_->peaks(*lease)});
  core_->notify(id, LeaseEvent::kEnded);
}

void Lifecycle::end_waiting(LeaseId id, EndResult result, std::vector<Refusal> refusal,
                            std::optional<UserId> by) {
  answer_exit(id);
  const bool is_set = core_->state().find(id)->set.has_value();
  attribution_->leave_to_unmanaged(id);
  core_->decide(id, LeaseEnded{.id = id, .result = result, .by = by});
  core_->notify(id, LeaseEvent::kEnded, std::move(refusal));
  if (is_set) cancel_members(id, by);
}

// The youngest first: none takes the place of another meanwhile.
void Lifecycle::cancel_members(LeaseId set, std::optional<UserId> by) {
  std::vector<LeaseId> members;
  for (const auto& [id, lease] : core_->state().leases()) {
    if (lease.request.member && lease.request.member->set == set) members.push_back(id);
  }
  for (const LeaseId id : members | std::views::reverse) {
    release(id, by, {.ends_them = true, .detaches = false});
  }
}

void Lifecycle::lapse(LeaseId id, bool parked) {
  attribution_->leave_to_unmanaged(id);
  core_->decide(id, OfferLapsed{id, parked});
}

void Lifecycle::revoke(LeaseId id, EndResult result, std::optional<UserId> by) {
  requeuing_->drop(id, "it was told to end");
  CHECK(core_->state().find(id)->held() != nullptr);
  if (!core_->state().find(id)->held()->revoked) {
    const Instant kill_at = core_->now().instant + limits::kKillAfter;
    core_->decide(id, LeaseRevoked{id, result, kill_at, by});
    core_->notify(id, LeaseEvent::kRevoked);
  }
  send_signal(id, kTerminate);
  transfers_->thaw(id);  // Else it would not hear of it.
}

void Lifecycle::nobody_starts_it_again(LeaseId id) {
  const Held* held = core_->state().find(id)->granted();
  if (held == nullptr || !held->requeue) return;
  const bool begun = held->is_being_stopped();
  const std::string why = "its berth run is gone, and nobody else could start its command again";
  requeuing_->drop(id, why, EndResult::kCancelled);
  if (!begun) return;
  core_->say(text_of(id) + " was to be requeued and ends: " + why);
  if (core_->state().find(id)->held() != nullptr) {
    revoke(id, EndResult::kCancelled);
  } else {
    finish_if_free(id);
  }
}

// What was measured of the run that is over says nothing of the next one.
void Lifecycle::wait_again(LeaseId id, std::optional<Retry> retry) {
  answer_exit(id);
  if (!retry) requeuing_->answer_waiters(id);
  const bool is_there = presence_->is_connected(id);
  core_->forget_run(id);
  if (!is_there) presence_->disconnected(id, core_->now().instant + limits::kReconnectWithin);
  core_->decide(id, LeaseRequeued{id, retry});
  core_->notify(id, LeaseEvent::kRequeued);
}

bool Lifecycle::suppose_requeued(LeaseId id) {
  const Lease* lease = core_->state().find(id);
  if (lease->waiting() != nullptr) return true;
  if (lease->held() != nullptr) start_releasing(id, EndResult::kOk);
  if (lease->releasing() == nullptr || !lease->releasing()->was.is_being_stopped()) return false;
  presence_->connected(id);
  wait_again(id);
  return true;
}

std::optional<Instant> Lifecycle::kill_due(const Lease& lease) const {
  const Releasing* releasing = lease.releasing();
  if (releasing == nullptr || known_.at(lease.id).killed) return std::nullopt;
  if (!releasing->was.has_processes()) return std::nullopt;
  const std::optional<Revocation>& revoked = releasing->was.revoked;
  return revoked ? std::optional(revoked->kill_at) : std::nullopt;
}

void Lifecycle::kill_programs(LeaseId id) {
  known_[id].killed = true;
  send_signal(id, kKill);
  core_->derive(id);
}

void Lifecycle::send_signal(LeaseId id, std::int32_t signal) {
  const UserId user = core_->state().find(id)->user;
  const Held& held = *core_->state().find(id)->granted();
  if (held.command && !held.command_ended) {
    core_->emit(Signal{*held.command, signal, user, id});
  }
  for (const Process& member : held.members) core_->emit(Signal{member, signal, user, id});
}

void Lifecycle::forget_run(LeaseId id) {
  OfLease fresh;
  fresh.watched = std::move(known_[id].watched);
  known_[id] = std::move(fresh);
}

}  // namespace berth::core
