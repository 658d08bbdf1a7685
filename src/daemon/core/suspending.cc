// SPDX-License-Identifier: Apache-2.0
// Suspension and return: memory that is moved to the host and back.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"
#include "core/limits.h"
#include "core/transfers.h"

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

// What was measured of each part when it left; empty: nothing was.
std::vector<Bytes> measured_of(const Lease& lease, const TransferResult& result) {
  std::vector<Bytes> measured;
  if (!result.left) return measured;
  for (const Part& part : lease.held()->parts) {
    const auto use = std::ranges::find(*result.left, part.device, &DeviceUse::device);
    measured.push_back(use == result.left->end() ? Bytes{} : use->used);
  }
  return measured;
}

// Where its processes had memory that is on none of its devices.
std::vector<DeviceId> devices_beside(const Lease& lease, const TransferResult& result) {
  CHECK(lease.held() != nullptr);
  std::vector<DeviceId> beside;
  for (const DeviceUse& use : result.left.value_or(std::vector<DeviceUse>{})) {
    if (!lease.held()->is_on(use.device)) beside.push_back(use.device);
  }
  return beside;
}

// Of leases inside of it, which were stopped with it: what was above them may have ended since.
void add_inner_processes(const State& state, LeaseId id, std::vector<Process>& processes) {
  for (const auto& [other, lease] : state.leases()) {
    const bool is_inside =
        std::ranges::find(lease.request.ancestors, id) != lease.request.ancestors.end();
    const Held* held = lease.granted();
    if (!is_inside || held == nullptr || held->frozen) continue;
    processes.insert(processes.end(), held->members.begin(), held->members.end());
    if (held->command && !held->command_ended) processes.push_back(*held->command);
  }
}

// Nothing of it is back yet.
void charge_return(Attribution& attribution, const SwapNeeds& needs, const Lease& lease) {
  CHECK(lease.held() != nullptr && lease.held()->suspension);
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    attribution.may_use(lease.id, lease.held()->parts[i].device, needs.when_back(lease, i));
  }
}

}  // namespace

Standing Transfers::standing_of(const Lease& lease) const {
  Standing standing = core::standing_of(lease);
  const OfLease& known = known_.at(lease.id);
  if (standing.memory == Standing::Memory::kSwappingOut && !known.stuck.empty()) {
    standing.memory = Standing::Memory::kStuck;
  }
  if (known.is_freezing()) {
    standing.processes = known.direction == Direction::kFreeze ? Standing::Processes::kFreezing
                                                               : Standing::Processes::kThawing;
  }
  return standing;
}

bool Transfers::accepts(Operation operation, const Lease& lease, Token token) {
  const Verdict answer = verdict(operation, standing_of(lease));
  if (answer.answer == Answer::kRefuse) {
    core_->refuse(token, RefusalCode::kWrongState,
                  refusal_text(lease.id, answer, of(lease.id).stuck));
    return false;
  }
  const bool is_done = operation == Operation::kSuspend && answer.answer == Answer::kJoin;
  if (is_done || core_->may_grant()) return true;
  core_->refuse(token, RefusalCode::kWrongState,
                text_of(lease.id) +
                    " is not moved or stopped while nothing can be written down (berth doctor)");
  return false;
}

void Transfers::on(const Suspend& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  if (!accepts(Operation::kSuspend, *lease, event.token)) return;
  const Held& held = *lease->held();
  if (held.is_swapped_out()) {
    displaced_->forget(id);  // A user wants it to stay away.
    note_pause(id, event.body, event.actor.user);
    if (held.its_suspension().queued) {
      answer(id, &OfLease::waiters, "it was suspended again");
      core_->decide(id, ResumeQueued{id, false});
    }
    core_->answer(event.token, id);
    return;
  }
  if (held.suspension) {
    note_pause(id, event.body, event.actor.user);
    known_[id].waiters.push_back(event.token);
    return;
  }
  known_[id].waiters.push_back(event.token);
  suspend(id, {.paused = {{event.body, event.actor.user}}});
}

void Transfers::note_pause(LeaseId id, const PauseBody& terms, UserId by) {
  LeasePaused fact{.id = id, .reason = terms.reason, .by = by};
  if (terms.lasts) {
    fact.until = core_->now().instant + *terms.lasts;
    fact.until_wall = wall_at(*fact.until, core_->now());
  }
  core_->decide(id, std::move(fact));
}

// One that is just being moved or stopped, or is stuck between two states, is looked at after that.
// What waits for room on its way back may do so for long: its processes need not.
Instant Transfers::pause_due(const Lease& lease) const {
  const Held* held = lease.held();
  if (held == nullptr || !held->pause_ends || held->revoked) return Instant::never();
  const bool waits_for_room = held->frozen && resuming_.contains(lease.id);
  const bool stands = !of(lease.id).is_under_way() &&
                      (!held->suspension || held->is_swapped_out() || waits_for_room);
  if (!stands) return Instant::never();
  return std::max(*held->pause_ends, known_.at(lease.id).thaw_not_before);
}

// When its time is over it is as if a user let it go on: first its processes, then its memory.
bool Transfers::tend_pause(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  if (pause_due(lease) > core_->now().instant) return false;
  if (lease.held()->frozen) {
    begin(id, Direction::kThaw);
  } else {
    resume(id, std::nullopt);
  }
  return true;
}

void Transfers::suspend(LeaseId id, const SuspendCause& cause) {
  resizing_->drop(id, Refusal{RefusalCode::kBusy, "it was suspended"});
  const Held& held = *core_->state().find(id)->held();
  CHECK(held.claimed && !held.suspension);
  SuspendBegun fact{id, {}, cause.yields_to, cause.turn};
  for (const Part& part : held.parts) {
    fact.used.push_back(attribution_->take_leave(id, part.device));
  }
  core_->decide(id, std::move(fact));
  begin(id, Direction::kSwapOut);
  if (cause.paused) note_pause(id, cause.paused->terms, cause.paused->by);
}

void Transfers::on(const Resume& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  if (held == nullptr || (!held->suspension && !held->frozen)) {
    core_->refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not suspended");
    return;
  }
  if (!held->frozen) return resume(id, event.token);
  OfLease& known = known_[id];
  // The mover of its memory may just be stopping it again.
  if (known.number != 0 && known.direction == Direction::kFreeze) {
    known.thaw_waiters.push_back(event.token);
    return;
  }
  if (known.number != 0 && known.direction != Direction::kThaw) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(id) + " is on the way: ask again when it is there");
    return;
  }
  known.freeze_waiters.push_back(event.token);
  if (known.number == 0) begin(id, Direction::kThaw);
}

void Transfers::resume(LeaseId id, std::optional<Token> token) {
  const Held* held = core_->state().find(id)->held();
  CHECK(held != nullptr);
  OfLease& known = known_[id];
  if (token) known.waiters.push_back(*token);
  known.yield_not_before = core_->now().instant + limits::kYieldAgainAfter;
  known.resume_not_before = core_->now().instant;
  if (held->is_swapped_out()) {
    if (!held->its_suspension().queued) core_->decide(id, ResumeQueued{id});
    core_->look_again();
  } else if (!known.stuck.empty()) {
    begin_swap_in(id);
  } else if (held->its_suspension().phase == Phase::kSwappingOut && !resuming_.contains(id) &&
             known.direction == Direction::kSwapOut && token) {
    // It goes on when it has left; until then nothing can be done.
    known.waiters.pop_back();
    core_->refuse(*token, RefusalCode::kWrongState,
                  text_of(id) + " is still on the way out: ask again when it is suspended");
  }
}

void Transfers::begin(LeaseId id, Direction direction) {
  const Lease& lease = *core_->state().find(id);
  const Held& held = *lease.granted();
  Transfer effect{.lease = id,
                  .handle = lease.handle,
                  .user = lease.user,
                  .number = ++count_,
                  .direction = direction,
                  .processes = {held.members.begin(), held.members.end()},
                  .bytes = held.suspension ? sum_of(held.suspension->used) : Bytes{}};
  // A reservation hangs on a shell, with which it has nothing else to do.
  if (!lease.request.ttl) effect.supervisor = lease.supervisor;
  if (held.command && !held.command_ended) effect.processes.push_back(*held.command);
  if (direction == Direction::kThaw) add_inner_processes(core_->state(), id, effect.processes);
  if (direction == Direction::kSwapIn) effect.pairs = pairs_of(held);
  if (direction == Direction::kSwapOut) effect.measure = needs_.is_to_be_measured(lease);
  std::ranges::sort(effect.processes);
  OfLease& known = known_[id];
  CHECK(!known.is_under_way());
  known.number = effect.number;
  known.begun = core_->now().instant;
  known.direction = direction;
  if (!known.is_freezing()) known.stuck.clear();
  // Some of it may be back from now on.
  if (direction == Direction::kSwapIn) known.swap_out_measured = known.all_away = false;
  core_->derive_deadline(id);
  core_->emit(std::move(effect));
}

// See Note [Room before return]. It is charged what it had until a sample tells what it has again.
void Transfers::begin_swap_in(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  CHECK(lease.held() != nullptr && lease.held()->suspension && !lease.held()->is_swapped_out());
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    attribution_->may_use(id, lease.held()->parts[i].device, needs_.before(lease, i));
  }
  known_[id].swap_in_begun = core_->now().instant;
  known_[id].stuck.clear();
  resuming_[id] = core_->now().instant;
  core_->derive(id);
  core_->ask_probe(core_->now().instant);
}

// The mover of its memory may have got anywhere: all that is away comes back.
void Transfers::recover(LeaseId id) {
  const Held* held = core_->state().find(id)->held();
  if (held != nullptr && held->suspension && !held->is_swapped_out()) begin_swap_in(id);
  restore_frozen(id);
}

bool Transfers::may_resume(LeaseId id) const {
  const Lease& lease = *core_->state().find(id);
  const std::optional<Instant> queued = lease.held()->its_suspension().queued;
  CHECK(queued.has_value());
  const Instant now = core_->now().instant;
  if (*queued + core_->settings().pass_max <= now || indexes_->queue().size() == 0) return true;
  const Lease* next = indexes_->in_order(now).next();
  return next == nullptr || next->request.priority <= lease.request.priority ||
         !presence_->takes_part(*next);
}

// What it had on a device to which it was sent afterwards comes back there, too, beside what was
// measured of its parts.
Away Transfers::away_of(const Lease& lease) const {
  const OfLease& known = known_.at(lease.id);
  if (!lease.held()->is_swapped_out() && !known.all_away) return Away::kPartly;
  const bool is_measured =
      known.swap_out_measured && std::ranges::none_of(known.left_elsewhere, [&](DeviceId device) {
        return lease.held()->is_on(device);
      });
  return is_measured ? Away::kMeasured : Away::kUnmeasured;
}

bool Transfers::try_resume(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  CHECK(lease.held()->is_swapped_out());
  if (returns_where_it_was(lease)) return true;
  const bool whole = lease.request.share == Share::kExclusive;
  std::vector<Part> parts = lease.held()->parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    const Account* account = ledger_->find(part.device);
    if (account == nullptr || !account->seen || account->overcommitted()) return false;
    const auto [room, others] = room_for(*account, id);
    // It had what it had beside a reserve that may be larger by now: alone it has that again.
    const Bytes alone = saturating_sub(account->capacity, account->held_back_when_alone());
    const Bytes most = others == 0 ? std::max(room, alone) : room;
    if (whole) {
      // As at a grant: what unmanaged processes use by now is not its, and what they have left is.
      // Where nobody knows what it had, a device that is as empty as it can be has to do.
      const Bytes need =
          std::min(needs_.to_return(lease, i, away_of(lease)),
                   std::max(needs_.when_back(lease, i), account->grantable_when_empty()));
      part.budget = room;
      if (others > 0 || most < need || room == Bytes{}) return false;
    } else if (account->exclusive_count > 0 ||
               std::max(part.budget, needs_.when_back(lease, i)) > most) {
      return false;
    }
  }
  if (parts != lease.held()->parts) {
    core_->decide(id, LeaseResized{id, lease.request.share, parts});
  }
  charge_return(*attribution_, needs_, lease);
  core_->decide(id, ResumeBegun{id});
  known_[id].all_away = true;
  begin_swap_in(id);
  return true;
}

void Transfers::swap_in_where_confirmed(const Sample& sample) {
  for (const auto& [id, since] : std::map(resuming_)) {
    const Lease& lease = *core_->state().find(id);
    if (lease.held() != nullptr && lease.held()->suspension) {
      if (sample.asked_at < since || of(id).is_freezing()) continue;
      const Away away = away_of(lease);
      const bool is_back = away != Away::kMeasured && is_all_there(lease, sample);
      // Of what has stayed this sample may be the first to tell: what comes back is beside it,
      // whether there is room for it yet or not.
      if (!is_back && away != Away::kPartly) charge_return(*attribution_, needs_, lease);
      core_->derive(id);
      if (is_back || needs_.have_room(lease, away)) {
        begin(id, Direction::kSwapIn);
      } else if (!returns_where_it_was(lease)) {
        continue;
      }
    }
    resuming_.erase(id);
  }
}

// It was sent where what it has turns out never to fit: nobody had looked since it took that, or
// the driver keeps more there by now. False: it waits on.
bool Transfers::returns_where_it_was(const Lease& lease) {
  const Suspension& suspension = lease.held()->its_suspension();
  if (suspension.phase == Phase::kSwappingOut || suspension.moved_from.empty()) return false;
  std::vector<DeviceId> here;
  for (const Part& part : lease.held()->parts) here.push_back(part.device);
  const std::optional<std::string> why_not = migration_.too_large_for(lease, here);
  if (!why_not) return false;
  if (suspension.phase == Phase::kSwappingIn) {
    not_swapped_in(lease.id, *why_not);
  } else {
    undo_migration(lease.id, *why_not);
    answer(lease.id, &OfLease::waiters, *why_not);
  }
  return true;
}

void Transfers::done(const TransferDone& event) {
  take_result(event);
  core_->derive_deadline(event.lease);  // Its pause may be over by now.
}

void Transfers::take_result(const TransferDone& event) {
  const LeaseId id = event.lease;
  OfLease& known = known_[id];
  known.number = 0;
  const bool halts =
      known.direction == Direction::kSwapOut || known.direction == Direction::kFreeze;
  left_alone_->take(id, event.result.left_alone, halts);
  if (known.is_of_processes()) return freeze_done(id, event.result);
  const Held* held = core_->state().find(id)->held();
  if (held == nullptr || !held->suspension) return restore_frozen(id);
  if (event.result.outcome == Outcome::kStuck) {
    known.stuck = event.result.trouble;
    known.migrates_to.clear();
    core_->say(text_of(id) + ": " + event.result.trouble + "; " + resume_hint(id) +
               " tries again, berth cancel ends it");
    answer(id, &OfLease::waiters, event.result.trouble);
  } else if (known.direction == Direction::kSwapOut) {
    swapped_out(id, event.result);
  } else {
    swapped_in(id, event.result);
  }
}

void Transfers::swapped_out(LeaseId id, const TransferResult& result) {
  if (result.outcome == Outcome::kUndone) return not_swapped_out(id, result.trouble);
  OfLease& known = known_[id];
  known.swap_out_measured = result.left.has_value();
  known.left_elsewhere = devices_beside(*core_->state().find(id), result);
  known.cost.measured_out(core_->now().instant - known.begun);
  confirmations_->await_swapped_out(id);
  core_->decide(id, LeaseSuspended{id, measured_of(*core_->state().find(id), result)});
  // A user who paused it meanwhile wants more than the end of a turn.
  const Held& held = *core_->state().find(id)->held();
  if (held.pause && held.its_suspension().queued) core_->decide(id, ResumeQueued{id, false});
  core_->notify(id, LeaseEvent::kSuspended);
  migrate_when_out(id);
  if (!held.its_suspension().queued) answer(id, &OfLease::waiters);
  restore_frozen(id);
}

void Transfers::not_swapped_out(LeaseId id, const std::string& why) {
  const Suspension& suspension = core_->state().find(id)->held()->its_suspension();
  if (suspension.yields_to || suspension.turn) {
    core_->say(text_of(id) + " cannot make room: " + why);
  }
  OfLease& known = known_[id];
  known.yield_not_before = core_->now().instant + limits::kYieldAgainAfter;
  known.turn_end_not_before = core_->now().instant + limits::kYieldAgainAfter;
  known.failure = why;
  known.migrates_to.clear();
  core_->decide(id, LeaseResumed{id});
  answer(id, &OfLease::waiters, why);
  restore_frozen(id);
}

void Transfers::swapped_in(LeaseId id, const TransferResult& result) {
  if (result.outcome != Outcome::kDone) return not_swapped_in(id, result.trouble);
  OfLease& known = known_[id];
  // It was looked at twice whether there is room: when another had gone, and when it was its own.
  const Duration look = std::min(known.begun - known.swap_in_begun, seconds(1));
  known.cost.measured_back(core_->now().instant - known.begun + look + look);
  core_->decide(id, LeaseResumed{id});
  confirmations_->await_shrunk(id);
  core_->ask_probe(core_->now().instant);
  if (!core_->state().find(id)->held()->frozen) core_->notify(id, LeaseEvent::kResumed);
  answer(id, &OfLease::waiters);
  restore_frozen(id);
}

void Transfers::not_swapped_in(LeaseId id, const std::string& why) {
  OfLease& known = known_[id];
  if (core_->state().find(id)->held()->its_suspension().phase == Phase::kSwappingOut) {
    // After a restart: nothing is known to be away, and nothing could be brought back.
    known.stuck = why;
  } else {
    known.resume_not_before = core_->now().instant + limits::kYieldAgainAfter;
    confirmations_->await_swapped_out(id);
    core_->decide(id, LeaseSuspended{id});
    undo_migration(id, why);
    if (core_->state().find(id)->request.share == Share::kSlice) {
      core_->say(text_of(id) + " cannot come back for its turn: " + why);
      // The client that asked for it is told; if it left for the turn of another it has its own all
      // the same.
      const bool in_turns = core_->state().find(id)->held()->its_suspension().turn;
      if (in_turns || known.waiters.empty()) core_->decide(id, ResumeQueued{id});
    }
  }
  answer(id, &OfLease::waiters, why);
  restore_frozen(id);
}

void Transfers::answer(LeaseId id, std::vector<Token> OfLease::* waiters,
                       const std::string& why_not) {
  if ((known_.at(id).*waiters).empty()) return;
  for (const Token token : std::exchange(known_[id].*waiters, {})) {
    if (why_not.empty()) {
      core_->answer(token, id);
    } else {
      core_->refuse(token, RefusalCode::kNotMoved, text_of(id) + ": " + why_not);
    }
  }
}

void Transfers::refuse_waiters_of_ended(LeaseId id) {
  const std::string why = "it has ended";
  answer(id, &OfLease::waiters, why);
  answer(id, &OfLease::freeze_waiters, why);
  answer(id, &OfLease::thaw_waiters, why);
}

void Transfers::forget(LeaseId id) {
  known_.forget(id);
  resuming_.erase(id);
}

}  // namespace berth::core
