// SPDX-License-Identifier: Apache-2.0
// Ends of leases. A lease hangs on its command and its members; when all are gone the driver is
// asked what of it is still in use, and that is charged until it is freed.
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// As Linux numbers them on every machine; <csignal> would bring the rest of the world.
constexpr std::int32_t kTerminate = 15;
constexpr std::int32_t kKill = 9;

constexpr int kDeadlinesMax = 8;  // More than a lease has at a time.

constexpr const char* kEndedByItself = "its command has ended by itself";

}  // namespace

void Coordinator::Impl::on(const ReportExit& event) {
  LeaseId id;
  if (const auto found = by_handle.find(event.handle); found != by_handle.end()) {
    id = found->second;
  } else {
    for (const LeaseView& view : state.ended()) {
      if (view.handle == event.handle && view.user == event.actor.user) id = view.id;
    }
  }
  const Lease* lease = state.find(id);
  if (lease == nullptr) {
    const LeaseView* ended = state.find_ended(id);
    if (ended == nullptr) {
      refuse(event.token, RefusalCode::kNotFound,
             "there is no lease " + to_text(event.handle) + " any more");
      return;
    }
    const bool is_last = ended->restarts == event.restarts;
    if (!ended->exit && is_last) decide(id, CommandEnded{id, event.exit});
    answer(event.token, id);
    return;
  }
  if (lease_of(event.token, event.actor, id) == nullptr) return;
  if (event.restarts != lease->restarts) {
    answer(event.token, id);  // Of an earlier run, and it came late.
    return;
  }
  const Held* held = lease->granted();
  if (held == nullptr || !held->command) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " has no command");
    return;
  }
  const bool news = !held->command_ended;
  // Whoever has stopped it comes back instead of telling how it ended.
  if (held->requeue) drop_requeue(id, kEndedByItself);
  if (!held->exit) decide(id, CommandEnded{id, event.exit});
  Observed& seen = observed.at(id);
  seen.leftovers = event.leftovers;
  if (news) command_finished(id);
  finish_if_free(id);
  if (state.find(id) == nullptr || event.leftovers.empty()) {
    answer(event.token, id);
    return;
  }
  // Who is still on a device is known after the next sample; the asker is not kept long.
  if (seen.exit_token) answer(*seen.exit_token, id);
  seen.exit_token = event.token;
  seen.exit_answer_by = now.instant + limits::kLeftoversWithin;
  reindex(id);
}

void Coordinator::Impl::answer_exit(LeaseId id) {
  Observed& seen = observed.at(id);
  if (!seen.exit_token) return;
  answer(*seen.exit_token, id);
  seen.exit_token.reset();
  seen.exit_answer_by = Instant::never();
  reindex(id);
}

void Coordinator::Impl::on(const Release& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const UserId by = event.actor.user;
  const Held* held = lease->held();
  const bool ends_them = event.kill || event.cancel;
  const bool detaches = held != nullptr && !ends_them && would_run_on(*held, event);
  if (detaches && !event.detach) {
    const std::string number = std::to_string(id.value);
    refuse(event.token, RefusalCode::kRunning,
           text_of(id) + " still runs its command: berth cancel " + number +
               " ends it, berth pause " + number +
               " frees its GPU memory for a while, and berth release --detach " + number +
               " lets it run on without a lease");
    return;
  }
  answer(event.token, id);
  if (lease->waiting() != nullptr || (held != nullptr && !held->claimed)) {
    end_waiting(id, EndResult::kCancelled,
                {{RefusalCode::kWrongState, text_of(id) + " was cancelled while it waited"}}, by);
  } else if (held != nullptr) {
    if (ends_them) {
      const bool has_processes = held->has_processes();
      revoke(id, EndResult::kCancelled, by);
      if (!has_processes) start_releasing(id, EndResult::kCancelled, by);
    } else {
      if (held->requeue) drop_requeue(id, "it was released");
      start_releasing(id,
                      detaches              ? EndResult::kDetached
                      : held->command_ended ? result_of(*held)
                                            : EndResult::kOk,
                      by);
      if (detaches) notify(id, LeaseEvent::kDetached);
    }
  } else if (lease->releasing()->was.requeue) {
    drop_requeue(id, "it was told to end", EndResult::kCancelled);
    finish_if_free(id);
  } else if (ends_them) {
    if (!lease->releasing()->was.revoked && lease->releasing()->was.has_processes()) {
      decide(id, LeaseRevoked{id, EndResult::kCancelled, now.instant + limits::kKillAfter, by});
    }
    send_signal(id, kTerminate);
  }
}

// A program that has its own lease knows what it does, and so does the last one of a lease; those
// of others may not.
bool Coordinator::Impl::would_run_on(const Held& held, const Release& event) {
  if (!held.has_processes()) return false;
  if (!event.requester) return true;
  const bool has_command = held.command && !held.command_ended;
  const bool is_last =
      !has_command && held.members.size() == 1 && held.members.contains(*event.requester);
  return held.command != event.requester && !is_last;
}

void Coordinator::Impl::on(const Renew& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  if (lease->held() == nullptr || !lease->held()->expires) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(lease->id) + " does not expire: only a reservation is renewed");
    return;
  }
  if (event.ttl.ns <= 0 || event.ttl > limits::kTtlMax) {
    refuse(event.token, RefusalCode::kInvalid,
           "DURATION must be between 1 ms and " + to_text(limits::kTtlMax));
    return;
  }
  const Instant expires = now.instant + event.ttl;
  decide(lease->id, LeaseRenewed{lease->id, expires, wall_at(expires, now)});
  answer(event.token, lease->id);
}

void Coordinator::Impl::on(const ProcessEnded& event) {
  std::vector<LeaseId> concerned;
  for (auto i = watches.lower_bound({event.process, LeaseId{}});
       i != watches.end() && i->first == event.process; ++i) {
    concerned.push_back(i->second);
  }
  for (const LeaseId id : concerned) process_ended(id, event.process);
}

void Coordinator::Impl::process_ended(LeaseId id, Process process) {
  const Lease* lease = state.find(id);
  if (lease == nullptr) return;
  const bool is_supervisor = lease->supervisor == process;
  const Held* held = lease->granted();
  if (held == nullptr || !held->claimed) {
    if (is_supervisor) end_waiting(id, EndResult::kCancelled, {});
    return;
  }
  if (held->command == process && !held->command_ended) {
    decide(id, CommandEnded{id, std::nullopt});
    command_finished(id);
    finish_if_free(id);
    return;
  }
  if (held->members.contains(process)) {
    decide(id, MemberGone{id, process});
    const bool nobody_left = held->members.empty() && (held->command_ended || !held->command);
    const bool hangs_on_them = !lease->request.ttl || held->revoked;
    if (lease->held() != nullptr && nobody_left && hangs_on_them) settle(id);
  }
  finish_if_free(id);
  lease = state.find(id);
  if (lease == nullptr) return;
  // A library in the program does not need it.
  const auto& way = lease->request.checkpoint;
  const bool by_library = way && way->kind == CheckpointKind::kLibrary;
  if (is_supervisor && lease->checkpoints.asked && !by_library) {
    end_checkpoint(id, CheckpointOutcome::kGone, "nobody is there to ask: its berth run is gone");
  }
  if (is_supervisor) nobody_starts_it_again(id);
  lease = state.find(id);
  if (lease == nullptr) return;
  // The terminal's session leader, on which a reservation hangs.
  if (lease->held() != nullptr && is_supervisor && lease->request.ttl) {
    start_releasing(id, EndResult::kOk);
  }
}

void Coordinator::Impl::command_finished(LeaseId id) {
  const Lease& lease = *state.find(id);
  if (lease.held() == nullptr) return;
  if (lease.held()->requeue) {
    // Its `berth run` sees to the rest of what it stops.
    if (lease.held()->is_being_stopped()) return settle(id);
    drop_requeue(id, kEndedByItself);
  }
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
void Coordinator::Impl::settle(LeaseId id) {
  observed.at(id).settle_since = now.instant;
  settling.insert(id);
  reindex(id);
  ask_probe(now.instant);
}

void Coordinator::Impl::end_growth(LeaseId id) {
  if (!state.find(id)->held()->growth) return;
  drop_growth(id, Refusal{RefusalCode::kWrongState, text_of(id) + " ended while it waited"});
}

void Coordinator::Impl::start_releasing(LeaseId id, EndResult result, std::optional<UserId> by) {
  end_growth(id);
  observed.at(id).settle_since = now.instant;
  thaw(id);
  decide(id, LeaseReleasing{id, result, by});
  settling.insert(id);
  ask_probe(now.instant);
}

EndResult Coordinator::Impl::result_of(const Held& held) const {
  if (held.revoked) return held.revoked->result;
  if (!held.command) return EndResult::kOk;
  if (!held.exit) return EndResult::kLost;
  if (held.exit->signal != 0) return EndResult::kKilled;
  return held.exit->code == 0 ? EndResult::kOk : EndResult::kFailed;
}

// How long whoever knows how the command ended may take to say so. Who saves while it ends tells of
// that first; who stops it to start it again sees that nothing of it is left.
Duration Coordinator::Impl::report_within(const Lease& lease) {
  const Releasing& releasing = *lease.releasing();
  if (const std::optional<Instant> stopped_by = releasing.was.stopped_by()) {
    const Instant from = std::max(*stopped_by, releasing.since);
    return from - releasing.since + limits::kRequeueMargin;
  }
  return lease.checkpoints.asked ? limits::kCheckpointMargin : limits::kExitReportWithin;
}

// Its memory is free. What may still be missing is word of how the command ended.
void Coordinator::Impl::finish_if_free(LeaseId id) {
  const Lease* lease = state.find(id);
  if (lease == nullptr || lease->releasing() == nullptr || !observed.at(id).freed) return;
  const Releasing& releasing = *lease->releasing();
  if (releasing.was.frozen) return;  // First all that was stopped goes on.
  if (releasing.was.requeue) {
    const bool is_due = now.instant >= releasing.since + report_within(*lease);
    if (observed.at(id).connected || is_due) wait_again(id);
    return;
  }
  if (kill_due(*lease, observed.at(id))) return;
  const bool awaits_exit = releasing.was.command && !releasing.was.exit && lease->supervisor &&
                           now.instant < releasing.since + report_within(*lease);
  if (awaits_exit) return;
  answer_exit(id);
  if (lease->checkpoints.asked) {
    end_checkpoint(id, CheckpointOutcome::kFailed, "its command ended before it was told");
  }
  const EndResult known = result_of(releasing.was);
  const EndResult result = releasing.result == EndResult::kLost ? known : releasing.result;
  decide(id, LeaseEnded{id, result, peaks_of(*lease)});
  notify(id, LeaseEvent::kEnded);
}

void Coordinator::Impl::end_waiting(LeaseId id, EndResult result, std::vector<Refusal> refusal,
                                    std::optional<UserId> by) {
  answer_exit(id);
  leave_to_unmanaged(id);
  decide(id, LeaseEnded{.id = id, .result = result, .by = by});
  notify(id, LeaseEvent::kEnded, std::move(refusal));
}

// The request is back in its place.
void Coordinator::Impl::lapse(LeaseId id, bool parked) {
  leave_to_unmanaged(id);
  decide(id, OfferLapsed{id, parked});
}

// A program below whoever asked may have been counted for the offer, which ends or lapses: what it
// has stays where it is, and the next sample counts it as unmanaged itself.
void Coordinator::Impl::leave_to_unmanaged(LeaseId id) {
  Observed& seen = observed.at(id);
  for (const DeviceId device : seen.charged_on) {
    const auto use = seen.use.find(device);
    if (use == seen.use.end()) continue;
    Account& account = ledger.account(device);
    if (use->second.figure_missing) {
      account.disown(id);
    } else {
      account.unmanaged += use->second.now.value_or(Bytes{});
    }
    seen.use.erase(use);  // Else it would be counted once more when the next offer lapses.
  }
}

void Coordinator::Impl::revoke(LeaseId id, EndResult result, std::optional<UserId> by) {
  if (state.find(id)->held()->requeue) drop_requeue(id, "it was told to end");
  if (!state.find(id)->held()->revoked) {
    decide(id, LeaseRevoked{id, result, now.instant + limits::kKillAfter, by});
    notify(id, LeaseEvent::kRevoked);
  }
  send_signal(id, kTerminate);
  thaw(id);  // Else it would not hear of it.
}

std::optional<Instant> kill_due(const Lease& lease, const Observed& seen) {
  const Releasing* releasing = lease.releasing();
  if (releasing == nullptr || seen.killed || !releasing->was.has_processes()) return std::nullopt;
  const std::optional<Revocation>& revoked = releasing->was.revoked;
  return revoked ? std::optional(revoked->kill_at) : std::nullopt;
}

void Coordinator::Impl::kill_programs(LeaseId id) {
  observed.at(id).killed = true;
  send_signal(id, kKill);
  reindex(id);
}

void Coordinator::Impl::send_signal(LeaseId id, std::int32_t signal) {
  const UserId user = state.find(id)->user;
  const Held& held = *state.find(id)->granted();
  if (held.command && !held.command_ended) {
    effects.emplace_back(Signal{*held.command, signal, user, id});
  }
  for (const Process& member : held.members) effects.emplace_back(Signal{member, signal, user, id});
}

void Coordinator::Impl::on(const NotSignalled& event) {
  if (state.find(event.lease) == nullptr) return;
  std::set<std::int32_t>& pids = observed.at(event.lease).left_alone;
  if (pids.size() < limits::kMembersPerLease) pids.insert(event.process.pid);
}

void Coordinator::Impl::on(const Woke&) {
  wake_at.reset();
  std::pair<Instant, LeaseId> last;
  int rounds = 0;
  while (!timers.empty() && timers.begin()->first <= now.instant) {
    // Whoever is woken late finds several things due of one lease, and does one at a time; one that
    // never left its instant behind would be asked for ever.
    rounds = *timers.begin() == last ? rounds + 1 : 0;
    CHECK(rounds < kDeadlinesMax);
    last = *timers.begin();
    on_due(last.second);
  }
  dirty = true;
}

// What has run once waits as long as it takes.
std::optional<Instant> Coordinator::Impl::ends_wait(const Lease& lease) {
  if (!lease.request.wait_max || lease.restarts > 0) return std::nullopt;
  return lease.queued_at + *lease.request.wait_max;
}

// After a restart: whose process lives keeps his place and loses his turn; who cannot even be
// watched has gone.
void Coordinator::Impl::requester_stays_away(LeaseId id) {
  observed.at(id).reconnect_until.reset();
  if (state.find(id)->supervisor) {
    decide(id, RequestParked{id, true});
  } else {
    end_waiting(id, EndResult::kCancelled, {});
  }
}

void Coordinator::Impl::on_due(LeaseId id) {
  const Lease& lease = *state.find(id);
  Observed& seen = observed.at(id);
  const auto due = [&](Instant at) { return at <= now.instant; };
  if (due(seen.exit_answer_by)) {
    answer_exit(id);
  } else if (due(seen.turn_over)) {
    seen.turn_over = Instant::never();  // take_turns() sees to it.
    reindex_timer(id, &lease, seen);
  } else if (tend_checkpoints(id) || tend_late_measure(id) || tend_pause(id)) {
    return;
  } else if (const Waiting* waiting = lease.waiting()) {
    if (due(ends_wait(lease).value_or(Instant::never()))) {
      end_waiting(
          id, EndResult::kRefused,
          {{RefusalCode::kBusy, "not granted within " + to_text(checked(lease.request.wait_max)) +
                                    ": " + shortage_text(lease.request, lease.user)}});
    } else if (waiting->parked_since && due(*waiting->parked_since + limits::kParkedMax)) {
      end_waiting(id, EndResult::kCancelled,
                  {{RefusalCode::kBusy, text_of(id) + " was set aside for " +
                                            to_text(limits::kParkedMax) + " and is cancelled"}});
    } else {
      requester_stays_away(id);
    }
  } else if (const Held* held = lease.held()) {
    if (!held->claimed) {
      lapse(id, true);
      notify(id, LeaseEvent::kParked);
    } else if (held->expires && due(*held->expires)) {
      start_releasing(id, EndResult::kOk);
    } else if (held->growth && held->growth->until && due(*held->growth->until)) {
      drop_growth(id, Refusal{RefusalCode::kBusy, "there was no room to grow in the given time"});
    } else if (held->revoked && !seen.killed && due(held->revoked->kill_at)) {
      kill_programs(id);
    } else if (due(seen.begins_until)) {
      drop_requeue(id, "its berth run does not answer (it may be stopped)");
    } else if (const auto stopped_by = held->stopped_by();
               stopped_by && !seen.killed && due(*stopped_by + limits::kRequeueMargin)) {
      effects.emplace_back(Say{text_of(id) + " is to be requeued, and its berth run has not "
                                             "stopped its command in time: it is killed"});
      kill_programs(id);
    } else if (held->command_ended && seen.settle_since &&
               due(*seen.settle_since + limits::kReleasingMax)) {
      start_releasing(id, result_of(*held));
    } else {
      revoke(id, EndResult::kLimit);
    }
  } else if (kill_due(lease, seen)) {
    kill_programs(id);
    finish_if_free(id);
  } else {
    if (!seen.freed) {
      effects.emplace_back(Say{text_of(id) + " ended " + to_text(limits::kReleasingMax) +
                               " ago and the driver has not freed its memory, or has not "
                               "answered: what is left is counted as unmanaged"});
      for (const DeviceId device : seen.charged_on) {
        ledger.account(device).disown(id);  // The next sample counts it so itself.
      }
      seen.freed = true;
    }
    reindex(id);
    finish_if_free(id);
  }
}

}  // namespace berth::core
