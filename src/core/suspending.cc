// SPDX-License-Identifier: Apache-2.0
// Leases whose memory is moved to the host and back. The move itself is the driver's; here it is
// decided when, and what is charged meanwhile.
//
// Note [Room before return]: a restore that runs out of memory ruins the process for ever. So a
// lease returns in three steps: its budgets are reserved in the ledger, a sample asked after that
// reports that what it had is free, and only then its memory is moved. No lease can be in the way,
// since each other one is held to a budget that the ledger counts beside these.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

using Phase = Suspension::Phase;
using Outcome = TransferResult::Outcome;

std::string resume_hint(LeaseId id) {
  return "berth resume " + std::to_string(id.value);
}

Bytes sum_of(const std::vector<Bytes>& figures) {
  Bytes sum;
  for (const Bytes figure : figures) sum += figure;
  return sum;
}

}  // namespace

void Coordinator::Impl::on(const Suspend& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  const auto refuse_state = [&](const std::string& why) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " " + why);
  };
  if (held == nullptr || !held->claimed) return refuse_state("is not held");
  if (held->revoked) return refuse_state("was told to end");
  if (!held->has_processes()) return refuse_state("has no processes whose memory could be moved");
  if (held->suspension) {
    if (held->suspension->phase == Phase::kSwappingIn) {
      return refuse_state("is on the way back: ask again when it runs");
    }
    if (held->is_swapped_out()) {
      displaced.erase(id);  // Somebody wants it to stay away.
      note_pause(id, event.terms, event.actor.user);
      if (held->suspension->queued) {
        answer_transfer_waiters(id, "it was suspended again");
        decide(id, ResumeQueued{id, false});
      }
      answer(event.token, id);
      return;
    }
    if (!observed.at(id).stuck.empty()) {
      return refuse_state("is between two states: " + observed.at(id).stuck);
    }
    note_pause(id, event.terms, event.actor.user);
    observed.at(id).transfer_tokens.push_back(event.token);
    return;
  }
  if (is_freezing(observed.at(id)))
    return refuse_state("is just being stopped or let go on: ask again");
  if (!may_grant()) {
    return refuse_state("cannot be suspended while nothing can be written down (berth doctor)");
  }
  if (held->requeue) return refuse_state("is on the way back into the queue");
  if (lease->checkpoints.asked) return refuse_state("saves itself: ask again when it has");
  observed.at(id).transfer_tokens.push_back(event.token);
  suspend(id, {});
  note_pause(id, event.terms, event.actor.user);
}

void Coordinator::Impl::note_pause(LeaseId id, const PauseTerms& terms, UserId by) {
  LeasePaused fact{.id = id, .reason = terms.reason, .by = by};
  if (terms.lasts) {
    fact.until = now.instant + *terms.lasts;
    fact.until_wall = wall_at(*fact.until, now);
  }
  decide(id, std::move(fact));
}

// Whoever is just being moved or stopped, or is stuck between two states, is looked at after that.
Instant Coordinator::Impl::pause_due(const Held& held, const Observed& seen) {
  const bool stands = seen.move == 0 && (!held.suspension || held.is_swapped_out());
  if (!stands || !held.pause_ends || held.revoked) return Instant::never();
  return std::max(*held.pause_ends, seen.thaw_not_before);
}

// When its time is over it is as if somebody let it go on: first its processes, then its memory.
bool Coordinator::Impl::tend_pause(LeaseId id) {
  const Held* held = state.find(id)->held();
  if (held == nullptr || pause_due(*held, observed.at(id)) > now.instant) return false;
  if (held->frozen) {
    begin_transfer(id, Direction::kThaw);
  } else {
    resume(id, std::nullopt);
  }
  return true;
}

void Coordinator::Impl::suspend(LeaseId id, const SuspendCause& leave) {
  const Held& held = *state.find(id)->held();
  if (held.growth) drop_growth(id, Refusal{RefusalCode::kBusy, "it was suspended"});
  SuspendBegun fact{id, {}, leave.yields_to, leave.turn};
  for (const Part& part : held.parts) {
    const Use& use = observed.at(id).use[part.device];
    // Nobody has looked since its budget fell: unless its account tells, it may have all it had.
    const Bytes charged = use.ledger.value_or(use.upper_bound);
    fact.used.push_back(std::max({use.now.value_or(Bytes{}), charged, use.last}));
  }
  decide(id, std::move(fact));
  begin_transfer(id, Direction::kSwapOut);
}

void Coordinator::Impl::on(const Resume& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  Observed& seen = observed.at(id);
  if (held == nullptr || (!held->suspension && !held->frozen)) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not suspended");
    return;
  }
  if (!held->frozen) return resume(id, event.token);
  // Whoever moved its memory may just be stopping it again.
  if (seen.move != 0 && seen.direction == Direction::kFreeze) {
    seen.thaw_tokens.push_back(event.token);
    return;
  }
  if (seen.move != 0 && seen.direction != Direction::kThaw) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(id) + " is on the way: ask again when it is there");
    return;
  }
  seen.freeze_tokens.push_back(event.token);
  if (seen.move == 0) begin_transfer(id, Direction::kThaw);
}

void Coordinator::Impl::resume(LeaseId id, std::optional<Token> token) {
  const Held* held = state.find(id)->held();
  Observed& seen = observed.at(id);
  if (token) seen.transfer_tokens.push_back(*token);
  seen.yield_not_before = now.instant + limits::kYieldAgainAfter;
  seen.resume_not_before = now.instant;
  if (held->is_swapped_out()) {
    if (!held->its_suspension().queued) decide(id, ResumeQueued{id});
    dirty = true;
  } else if (!seen.stuck.empty()) {
    begin_swap_in(id);
  } else if (held->its_suspension().phase == Phase::kSwappingOut && !resuming.contains(id) &&
             seen.direction == Direction::kSwapOut && token) {
    // It goes on when it has left; until then nothing can be done.
    seen.transfer_tokens.pop_back();
    refuse(*token, RefusalCode::kWrongState,
           text_of(id) + " is still on the way out: ask again when it is suspended");
  }
}

void Coordinator::Impl::begin_transfer(LeaseId id, Direction direction) {
  const Lease& lease = *state.find(id);
  const Held& held = *lease.granted();
  Transfer effect{.lease = id,
                  .handle = lease.handle,
                  .user = lease.user,
                  .number = ++moves,
                  .direction = direction,
                  .processes = {held.members.begin(), held.members.end()},
                  .bytes = held.suspension ? sum_of(held.suspension->used) : Bytes{}};
  // A reservation hangs on a shell, with which it has nothing else to do.
  if (!lease.request.ttl) effect.supervisor = lease.supervisor;
  if (held.command && !held.command_ended) effect.processes.push_back(*held.command);
  if (direction == Direction::kThaw) add_inner_processes(id, effect.processes);
  if (direction == Direction::kSwapIn) effect.pairs = pairs_of(held);
  if (direction == Direction::kSwapOut) effect.measure = is_to_be_measured(lease);
  std::ranges::sort(effect.processes);
  Observed& seen = observed.at(id);
  seen.move = effect.number;
  seen.transfer_begun = now.instant;
  seen.direction = direction;
  if (!is_freezing(seen)) seen.stuck.clear();
  if (direction == Direction::kSwapIn)
    seen.swap_out_measured = false;  // Some of it may be back from now on.
  reindex_timer(id, &lease, seen);
  effects.emplace_back(std::move(effect));
}

// Of leases inside of it, which were stopped with it: whoever was above them may have ended since.
void Coordinator::Impl::add_inner_processes(LeaseId id, std::vector<Process>& processes) const {
  for (const auto& [other, lease] : state.leases()) {
    const bool is_inside =
        std::ranges::find(lease.request.ancestors, id) != lease.request.ancestors.end();
    const Held* held = lease.granted();
    if (!is_inside || held == nullptr || held->frozen) continue;
    processes.insert(processes.end(), held->members.begin(), held->members.end());
    if (held->command && !held->command_ended) processes.push_back(*held->command);
  }
}

// See Note [Room before return]. It is charged what it had until a sample tells what it has again.
void Coordinator::Impl::begin_swap_in(LeaseId id) {
  const Lease& lease = *state.find(id);
  Observed& seen = observed.at(id);
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    Use& use = seen.use[lease.held()->parts[i].device];
    use.upper_bound = std::max(use.upper_bound, bytes_before_suspend(lease, i));
  }
  seen.confirm_since = now.instant;
  seen.swap_in_begun = now.instant;
  seen.stuck.clear();
  resuming.insert(id);
  reindex(id);
  ask_probe(now.instant);
}

// What is more important and next goes before, for as long as anybody may be passed.
bool Coordinator::Impl::may_swap_in(LeaseId id) const {
  const Lease& lease = *state.find(id);
  const std::optional<Instant> queued = lease.held()->its_suspension().queued;
  CHECK(queued.has_value());
  if (*queued + settings.pass_max <= now.instant || queue.size() == 0) return true;
  const Lease* next = InOrder(queue, now.instant, settings, state.shares()).next();
  return next == nullptr || next->request.priority <= lease.request.priority || !takes_part(*next);
}

bool Coordinator::Impl::try_resume(LeaseId id) {
  const Lease& lease = *state.find(id);
  CHECK(lease.held()->is_swapped_out());
  const bool whole = lease.request.share == Share::kExclusive;
  std::vector<Part> parts = lease.held()->parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    const Account* account = ledger.find(part.device);
    if (account == nullptr || !account->seen || account->overcommitted()) return false;
    const auto [room, others] = room_for(*account, id);
    // It had what it had beside a reserve that may be larger by now: alone it has that again.
    const Bytes alone = saturating_sub(account->capacity, account->held_back_when_alone());
    const Bytes most = others == 0 ? std::max(room, alone) : room;
    if (whole) {
      // As at a grant: what unmanaged processes use by now is not its, and what they have left is.
      // Where nobody knows what it had, a device that is as empty as it can be has to do.
      const Bytes need =
          std::min(resume_requirement(lease, i),
                   std::max(bytes_before_suspend(lease, i), account->grantable_when_empty()));
      part.budget = room;
      if (others > 0 || most < need || room == Bytes{}) return false;
    } else if (account->exclusive_count > 0 ||
               std::max(part.budget, bytes_before_suspend(lease, i)) > most) {
      return false;
    }
  }
  if (parts != lease.held()->parts) decide(id, LeaseResized{id, lease.request.share, parts});
  decide(id, ResumeBegun{id});
  begin_swap_in(id);
  return true;
}

// Its own programs tell what it has on its i-th device.
bool Coordinator::Impl::has_account(const Lease& lease, std::size_t i) const {
  const auto& uses = observed.at(lease.id).use;
  const auto use = uses.find(lease.held()->parts[i].device);
  return use != uses.end() && use->second.ledger;
}

// Without an account nothing holds it to its budget, and it may take more until it is locked.
bool Coordinator::Impl::is_to_be_measured(const Lease& lease) const {
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    if (!has_account(lease, i)) return true;
  }
  return false;
}

// On its i-th device, before it left; more than its budget where that had shrunk.
Bytes Coordinator::Impl::bytes_before_suspend(const Lease& lease, std::size_t i) const {
  const Held& held = *lease.held();
  const Observed& seen = observed.at(lease.id);
  const Bytes bytes = held.its_suspension().used[i];
  const auto found = seen.use.find(held.parts[i].device);
  const Use use = found == seen.use.end() ? Use{} : found->second;
  return use.ledger ? std::max(bytes, *use.ledger + use.unaccounted) : bytes;
}

// What was sampled before it left may be less than what did. Unless its account tells, or it was
// asked when it was locked, that may be all of its budget.
Bytes Coordinator::Impl::resume_requirement(const Lease& lease, std::size_t i) const {
  const bool is_known = observed.at(lease.id).swap_out_measured || has_account(lease, i);
  return is_known ? bytes_before_suspend(lease, i)
                  : std::max(bytes_before_suspend(lease, i), lease.held()->parts[i].budget);
}

bool Coordinator::Impl::has_room_for(const Lease& lease) const {
  const Held& held = *lease.held();
  for (std::size_t i = 0; i < held.parts.size(); ++i) {
    const DeviceId id = held.parts[i].device;
    const Account* account = ledger.find(id);
    const auto found = seen_devices.find(id);
    if (account == nullptr || !account->seen || found == seen_devices.end()) return false;
    const auto& device = found->second;
    if (!device.used || device.asleep) return false;
    const Bytes taken = account->driver + *device.used;
    const Observed& seen = observed.at(lease.id);
    const Bytes budget = held.parts[i].budget;
    const Bytes need = resume_requirement(lease, i);
    if (need == Bytes{}) continue;
    const Bytes margin = std::max(mib(256), Bytes{need.value / 100 * 3});
    const Bytes wanted = std::min(need + margin, std::max(need, budget));
    // What of it is there already need not come back; but on another device it is something else,
    // of a process that was not moved, and so it is beside what was measured when it left.
    const std::vector<DeviceId>& from = held.its_suspension().moved_from;
    const auto use = seen.use.find(id);
    const bool is_same = use != seen.use.end() && (from.empty() || from[i] == id);
    const bool counts = is_same && (has_account(lease, i) || !seen.swap_out_measured);
    const Bytes there = counts ? use->second.now.value_or(Bytes{}) : Bytes{};
    if (saturating_sub(wanted, there) > saturating_sub(account->capacity, taken)) return false;
  }
  return true;
}

void Coordinator::Impl::swap_in_where_confirmed(const Sample& sample) {
  for (const LeaseId id : std::set(resuming)) {
    const Lease& lease = *state.find(id);
    Observed& seen = observed.at(id);
    const bool over = lease.held() == nullptr || !lease.held()->suspension;
    if (!over) {
      if (seen.confirm_since && sample.asked_at < *seen.confirm_since) continue;
      if (is_freezing(seen)) continue;
      const bool is_back = !seen.swap_out_measured && is_all_there(lease, sample);
      if (!is_back && !has_room_for(lease)) continue;
      begin_transfer(id, Direction::kSwapIn);
    }
    seen.confirm_since.reset();
    resuming.erase(id);
  }
}

void Coordinator::Impl::on(const TransferDone& event) {
  const Lease* lease = state.find(event.lease);
  const bool awaited = lease != nullptr && observed.at(event.lease).move == event.number;
  if (!awaited || event.number == 0) return;
  take_result(event);
  lease = state.find(event.lease);  // Its pause may be over by now.
  if (lease != nullptr) reindex_timer(event.lease, lease, observed.at(event.lease));
}

void Coordinator::Impl::take_result(const TransferDone& event) {
  const Lease* lease = state.find(event.lease);
  Observed& seen = observed.at(event.lease);
  seen.move = 0;
  note_left_alone(event);
  if (seen.direction == Direction::kFreeze || seen.direction == Direction::kThaw) {
    return freeze_done(event.lease, event.result);
  }
  const bool ends = lease->releasing() != nullptr;
  if (ends && settling.contains(event.lease)) settle(event.lease);  // Now a sample can tell.
  if (lease->held() == nullptr || !lease->held()->suspension) return restore_frozen(event.lease);
  if (event.result.outcome == Outcome::kStuck) {
    seen.stuck = event.result.trouble;
    seen.migrates_to.clear();
    effects.emplace_back(Say{text_of(event.lease) + ": " + event.result.trouble + "; " +
                             resume_hint(event.lease) + " tries again, berth cancel ends it"});
    answer_transfer_waiters(event.lease, event.result.trouble);
  } else if (seen.direction == Direction::kSwapOut) {
    swapped_out(event.lease, event.result);
  } else {
    swapped_in(event.lease, event.result);
  }
}

// Told once of each: a lease may be moved every second, for its turns.
void Coordinator::Impl::note_left_alone(const TransferDone& event) {
  Observed& seen = observed.at(event.lease);
  const bool halts = seen.direction == Direction::kSwapOut || seen.direction == Direction::kFreeze;
  if (halts) seen.left_alone.clear();
  for (const std::int32_t pid : event.result.left_alone) {
    if (halts && seen.left_alone.size() < limits::kMembersPerLease) seen.left_alone.insert(pid);
    if (seen.logged_left_alone.size() >= limits::kMembersPerLease) continue;
    if (!seen.logged_left_alone.insert(pid).second) continue;
    effects.emplace_back(Say{text_of(event.lease) + ": process " + std::to_string(pid) +
                             " of it belongs to another user: it is neither stopped nor moved"});
  }
}

void Coordinator::Impl::swapped_out(LeaseId id, const TransferResult& result) {
  if (result.outcome == Outcome::kUndone) {
    const Suspension& suspension = state.find(id)->held()->its_suspension();
    if (suspension.yields_to || suspension.turn) {
      effects.emplace_back(Say{text_of(id) + " cannot make room: " + result.trouble});
    }
    observed.at(id).yield_not_before = now.instant + limits::kYieldAgainAfter;
    observed.at(id).turn_end_not_before = now.instant + limits::kYieldAgainAfter;
    observed.at(id).suspend_failure = result.trouble;
    observed.at(id).migrates_to.clear();
    decide(id, LeaseResumed{id});
    answer_transfer_waiters(id, result.trouble);
    restore_frozen(id);
    return;
  }
  Observed& seen = observed.at(id);
  seen.suspended_at = now.instant;
  seen.swap_out_measured = result.left.has_value();
  seen.turn_cost.measured_out(now.instant - seen.transfer_begun);
  just_swapped_out.insert(id);
  decide(id, LeaseSuspended{id, measured_of(*state.find(id), result)});
  // Whoever paused it meanwhile wants more than the end of a turn.
  const Held& held = *state.find(id)->held();
  if (held.pause && held.its_suspension().queued) decide(id, ResumeQueued{id, false});
  notify(id, LeaseEvent::kSuspended);
  const std::vector<DeviceId> to = std::exchange(seen.migrates_to, {});
  if (!to.empty() && !held.revoked) {
    if (const std::optional<std::string> why_not = too_large_for(id, to)) {
      effects.emplace_back(Say{text_of(id) + " cannot go on on another GPU: " + *why_not});
      answer_transfer_waiters(id, *why_not);
    } else {
      migrate(id, to, std::exchange(seen.migrates_by, {}));
    }
    if (!held.pause) decide(id, ResumeQueued{id});
  }
  if (!held.its_suspension().queued) answer_transfer_waiters(id);
  restore_frozen(id);
  resume_yielded();
  ask_probe(now.instant);  // What it leaves free is granted when the driver says that it is.
}

std::vector<Bytes> Coordinator::Impl::measured_of(const Lease& lease,
                                                  const TransferResult& result) {
  std::vector<Bytes> measured;
  if (!result.left) return measured;
  for (const Part& part : lease.held()->parts) {
    const auto use = std::ranges::find(*result.left, part.device, &DeviceUse::device);
    measured.push_back(use == result.left->end() ? Bytes{} : use->used);
  }
  return measured;
}

void Coordinator::Impl::swapped_in(LeaseId id, const TransferResult& result) {
  Observed& seen = observed.at(id);
  if (result.outcome == Outcome::kDone) {
    // It was looked at twice whether there is room: when another had gone, and when it was its own.
    const Duration look = std::min(seen.transfer_begun - seen.swap_in_begun, seconds(1));
    seen.turn_cost.measured_back(now.instant - seen.transfer_begun + look + look);
    end_suspension(id);
    return;
  }
  if (state.find(id)->held()->its_suspension().phase == Phase::kSwappingOut) {
    // After a restart: nothing is known to be away, and nothing could be brought back.
    seen.stuck = result.trouble;
  } else {
    seen.suspended_at = now.instant;
    seen.resume_not_before = now.instant + limits::kYieldAgainAfter;
    just_swapped_out.insert(id);
    decide(id, LeaseSuspended{id});
    undo_migration(id, result.trouble);
    if (state.find(id)->request.share == Share::kSlice) {
      effects.emplace_back(Say{text_of(id) + " cannot come back for its turn: " + result.trouble});
      // Whoever asked for it is told; if it left for the turn of another it has its own all the
      // same.
      const bool in_turns = state.find(id)->held()->its_suspension().turn;
      if (in_turns || seen.transfer_tokens.empty()) decide(id, ResumeQueued{id});
    }
  }
  answer_transfer_waiters(id, result.trouble);
  restore_frozen(id);
}

void Coordinator::Impl::end_suspension(LeaseId id) {
  decide(id, LeaseResumed{id});
  observed.at(id).shrunk_at = now.instant;
  observed.at(id).shrink_confirmed = false;
  shrunk.insert(id);
  ask_probe(now.instant);
  if (!state.find(id)->held()->frozen) notify(id, LeaseEvent::kResumed);
  answer_transfer_waiters(id);
  restore_frozen(id);
}

void Coordinator::Impl::answer_transfer_waiters(LeaseId id, const std::string& why_not) {
  for (const Token token : std::exchange(observed.at(id).transfer_tokens, {})) {
    if (why_not.empty()) {
      answer(token, id);
    } else {
      refuse(token, RefusalCode::kNotMoved, text_of(id) + ": " + why_not);
    }
  }
}

}  // namespace berth::core
