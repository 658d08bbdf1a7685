// SPDX-License-Identifier: Apache-2.0
#include "sim/reference_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace berth::sim {
namespace {

using State = ReferenceLease::State;
using Away = ReferenceLease::Away;

// What a lease of a snapshot is.
ReferenceLease restored(const LeaseRestored& fact) {
  const LeaseView& view = fact.view;
  ReferenceLease lease{.id = view.id,
                       .handle = view.handle,
                       .user = view.user,
                       .supervisor = view.supervisor,
                       .request = view.request,
                       .queued_at = fact.queued_instant,
                       .passed_since = fact.passed_since,
                       .parts = {},
                       .moved_from = fact.moved_from.value_or(std::vector<DeviceId>{}),
                       .granted_at = fact.granted_instant.value_or(Instant{}),
                       .command = view.command,
                       .members = {view.members.begin(), view.members.end()},
                       .kill_at = fact.kill_at,
                       .expires = fact.expires,
                       .releasing_since = fact.releasing_since,
                       .growth_until = fact.growth ? fact.growth->until : std::nullopt,
                       .saving = std::nullopt,
                       .parked = view.flags.parked,
                       .passed_others = fact.passed_others,
                       .command_ended = fact.command_ended,
                       .growing = view.state == LeaseState::kHeld && fact.growth,
                       .frozen = fact.frozen,
                       .paused = view.pause.has_value(),
                       .paused_until = fact.pause_ends};
  for (const LeasePart& part : view.parts) lease.parts.push_back({part.device, part.granted});
  if (view.checkpoints.last) lease.saves = view.checkpoints.last->number;
  if (view.checkpoints.last) lease.saved_as = view.checkpoints.last->outcome;
  lease.restarts = view.restarts;
  lease.measures.restore(view);
  lease.requeuing = fact.requeue.has_value();
  lease.unsaved = fact.requeue && fact.requeue->unsaved;
  lease.stop_at = fact.requeue_kill_at;
  lease.saving_since = fact.checkpoint_asked.value_or(Instant{});
  if (view.checkpoints.asked) lease.saving = lease.saves = view.checkpoints.asked->number;
  if (view.state == LeaseState::kHeld || view.state == LeaseState::kSuspended) {
    lease.state = fact.claimed ? State::kClaimed : State::kOffered;
    if (fact.suspension) {
      lease.away = fact.resume_begun ? Away::kSwappingIn
                   : fact.suspended  ? Away::kSuspended
                                     : Away::kSwappingOut;
    }
    lease.wanted_back = fact.resume_queued.has_value();
    lease.runs_since = fact.runs_since.value_or(lease.granted_at);
    if (fact.suspension) {
      lease.turn = fact.suspension->turn;
      lease.away_used = fact.suspension->used.front();
    }
    lease.away_since = fact.suspended_since;
    lease.away_before = fact.away;
  } else if (view.state == LeaseState::kReleasing) {
    lease.state = State::kReleasing;
  }
  return lease;
}

// What no record of a snapshot tells. Where records were never written, it may differ otherwise.
void remember(const ReferenceLease& before, ReferenceLease& lease) {
  lease.limited_from = before.limited_from;
  lease.shrunk_at = before.shrunk_at;
  lease.ended_at = before.ended_at;
  // Only by a move does what is held come to other devices.
  const bool stays =
      std::ranges::equal(before.parts, lease.parts, {}, &Part::device, &Part::device);
  lease.migrated = before.migrated || (before.holds() && lease.holds() && !stays);
  lease.requeue_since = before.requeue_since;
  lease.returns_since = before.returns_since;
  lease.undone_at = before.undone_at;
  lease.stands_since = before.stands_since;
  lease.belonged = before.belonged;
}

}  // namespace

// One function a fact. Each returns false where the fact cannot follow.
struct ReferenceModel::Applier {
  ReferenceModel& self;
  const Record& record;
  Coverage& coverage;

  ReferenceLease* lease(LeaseId id) const {
    const auto found = self.leases_.find(id);
    return found == self.leases_.end() ? nullptr : &found->second;
  }
  ReferenceLease* holding(LeaseId id) const {
    ReferenceLease* found = lease(id);
    return found != nullptr && found->holds() ? found : nullptr;
  }
  ReferenceLease* waiting(LeaseId id) const {
    ReferenceLease* found = lease(id);
    return found != nullptr && found->state == State::kWaiting ? found : nullptr;
  }
  bool reached(Moment moment) const {
    coverage.reached(moment);
    return true;
  }

  bool operator()(const RequestQueued& fact) const {
    if (fact.id.value <= self.last_id_) return false;  // Never reused.
    self.last_id_ = fact.id.value;
    ReferenceLease& lease = self.leases_[fact.id];
    lease.id = fact.id;
    lease.handle = fact.handle;
    lease.user = fact.user;
    lease.supervisor = fact.supervisor;
    lease.request = fact.request;
    lease.queued_at = record.at;
    return true;
  }
  bool operator()(const RequestPassed& fact) const {
    ReferenceLease* found = waiting(fact.id);
    if (found == nullptr) return false;
    if (!found->passed_since) found->passed_since = record.at;
    return true;
  }
  bool operator()(const RequestParked& fact) const {
    ReferenceLease* found = waiting(fact.id);
    if (found == nullptr) return false;
    found->parked = fact.parked;
    return true;
  }
  bool operator()(const LeaseGranted& fact) const {
    ReferenceLease* found = waiting(fact.id);
    if (found == nullptr || found->parked || fact.parts.empty()) return false;
    found->state = State::kOffered;
    found->parts = fact.parts;
    found->granted_at = found->runs_since = record.at;
    found->passed_others = fact.passed_others;
    return true;
  }
  bool operator()(const OfferLapsed& fact) const {
    ReferenceLease* found = lease(fact.id);
    // A reservation is claimed with its grant, and lapses with it if that could not be written.
    const bool lapses = found != nullptr && found->holds() && !found->command;
    if (!lapses) return false;
    found->expires.reset();
    found->state = State::kWaiting;
    found->parked = fact.parked;
    found->parts.clear();
    found->passed_others = false;
    found->passed_since.reset();
    return true;
  }
  bool operator()(const LeaseClaimed& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state != State::kOffered) return false;
    found->state = State::kClaimed;
    found->limited_from = record.at;
    found->command = fact.command;
    if (fact.command) found->belonged.insert(*fact.command);
    return true;
  }
  bool operator()(const MemberSeen& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state == State::kWaiting) return false;
    found->members.insert(fact.process);
    found->belonged.insert(fact.process);
    return true;
  }
  bool operator()(const MemberGone& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->members.erase(fact.process) == 0) return false;
    if (found->command_ended && found->holds()) found->ended_at = record.at;
    return true;
  }
  bool operator()(const CommandEnded& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found != nullptr && !found->command_ended) {
      found->command_ended = true;
      if (found->holds()) found->ended_at = record.at;
    }
    // An exit status may be told after the end.
    return found != nullptr || fact.exit;
  }
  bool operator()(const LeaseResized& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr || fact.parts.size() != found->parts.size()) return false;
    bool grows = false;
    for (std::size_t i = 0; i < fact.parts.size(); ++i) {
      if (fact.parts[i].budget < found->parts[i].budget) found->shrunk_at = record.at;
      if (fact.parts[i].device != found->parts[i].device) return false;
      grows = grows || fact.parts[i].budget > found->parts[i].budget;
    }
    found->parts = fact.parts;
    found->request.share = fact.share;
    found->request.vram =
        fact.share == Share::kExclusive ? Bytes{} : fact.parts.front().budget;  // Requeued, too.
    found->growing = false;
    return reached(grows ? Moment::kGrown : Moment::kShrunk);
  }
  bool operator()(const GrowthQueued& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr) return false;
    found->growing = true;
    found->growth_until = fact.until;
    return true;
  }
  bool operator()(const GrowthDropped& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr || !found->growing) return false;
    found->growing = false;
    return true;
  }
  bool operator()(const LeaseRenewed& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr) return false;
    const bool again = found->expires.has_value();
    found->expires = fact.expires;
    return !again || reached(Moment::kRenewed);
  }
  bool operator()(const LeaseRevoked& fact) const {
    ReferenceLease* found = lease(fact.id);
    const bool may = found != nullptr && (found->holds() || found->state == State::kReleasing);
    if (!may || found->kill_at) return false;
    // Nobody is ended for what he uses but by a measure.
    const bool is_one = found->measures.is_under_way(Measure::kKill);
    if (fact.result == EndResult::kOverBudget && !is_one) return false;
    found->kill_at = fact.kill_at;
    return true;
  }
  bool operator()(const LeaseReleasing& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr) return false;
    found->state = State::kReleasing;
    if (fact.result == EndResult::kDetached) found->kill_at.reset();
    found->releasing_since = record.at;
    found->growing = false;
    found->end_pause();
    return true;
  }
  bool operator()(const LeaseEnded& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr) return false;
    if (found->state == State::kWaiting) coverage.reached(Moment::kWithdrawn);
    self.leases_.erase(fact.id);
    return true;
  }
  bool operator()(const CheckpointAsked& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state != State::kClaimed || found->saving) return false;
    if (!found->request.checkpoint || fact.number != found->saves + 1) return false;
    found->saving = found->saves = fact.number;
    found->saving_since = record.at;
    return true;
  }
  bool operator()(const CheckpointEnded& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->saving != fact.number) return false;
    found->saving.reset();
    found->saved_as = fact.outcome;
    found->requeue_since = record.at;
    return true;
  }
  bool operator()(const UsageRestored&) const { return true; }
  bool operator()(const CommandRestored&) const { return false; }
  bool operator()(const SuspendBegun& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state != State::kClaimed) return false;
    if (found->away != Away::kNo || found->growing) return false;
    if (fact.turn && !may_lose_turn(*found)) return false;
    found->away = Away::kSwappingOut;
    found->away_since = record.at;
    found->away_used = fact.used.front();
    found->turn = fact.turn;
    return true;
  }
  // Somebody else waits for a turn.
  bool may_lose_turn(const ReferenceLease& lease) const {
    if (lease.request.share != Share::kSlice || lease.requeuing || lease.kill_at) return false;
    return std::ranges::any_of(self.leases_, [&](const auto& entry) {
      const ReferenceLease& other = entry.second;
      const bool waits = other.state == State::kWaiting || other.wanted_back;
      return other.id != lease.id && other.request.share == Share::kSlice && waits;
    });
  }
  bool operator()(const LeaseSuspended& fact) const {
    ReferenceLease* found = holding(fact.id);
    const bool moves =
        found != nullptr && (found->away == Away::kSwappingOut || found->away == Away::kSwappingIn);
    if (!moves) return false;
    if (found->away == Away::kSwappingOut) {
      found->wanted_back = found->turn;
    } else {
      found->undone_at = record.at;
    }
    if (!fact.used.empty()) found->away_used = fact.used.front();
    found->away = Away::kSuspended;
    found->stands_since = record.at;
    return true;
  }
  bool operator()(const ResumeQueued& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr || found->away != Away::kSuspended) return false;
    found->wanted_back = fact.queued;
    if (fact.queued) found->goes_on();
    return true;
  }
  bool operator()(const ResumeBegun& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr || found->away != Away::kSuspended || !found->wanted_back) return false;
    found->away = Away::kSwappingIn;
    found->returns_since = record.at;
    found->wanted_back = false;
    if (found->turn) coverage.reached(Moment::kTurnTaken);
    return true;
  }
  bool operator()(const LeaseResumed& fact) const {
    ReferenceLease* found = holding(fact.id);
    if (found == nullptr || found->away == Away::kNo || found->away == Away::kSuspended)
      return false;
    const bool was_away = found->away == Away::kSwappingIn;
    found->away = Away::kNo;
    if (found->away_since) {
      found->away_before = found->away_before + (record.at - *found->away_since);
    }
    found->away_since.reset();
    found->runs_since = record.at;
    found->limited_from = record.at;
    if (!was_away) found->undone_at = record.at;
    found->goes_on();
    found->moved_from.clear();
    return was_away || reached(Moment::kSuspendUndone);
  }
  bool operator()(const LeaseMoved& fact) const {
    ReferenceLease* found = holding(fact.id);
    const bool may = found != nullptr && found->away == Away::kSuspended &&
                     fact.devices.size() == found->parts.size() &&
                     found->request.share != Share::kSlice;
    if (!may) return false;
    found->put_on(fact.devices);
    return true;
  }
  bool operator()(const RequeueAsked& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state != State::kClaimed || found->stop_at) return false;
    if (!found->request.requeue_grace || found->away != Away::kNo) return false;
    found->requeuing = true;
    found->unsaved = fact.unsaved;
    found->requeue_since = record.at;
    return true;
  }
  bool operator()(const RequeueBegun& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || !found->requeuing || found->stop_at || found->saving) return false;
    // Nothing is stopped that could have been saved and was not, unless that was said.
    const bool saved = found->saved_as == CheckpointOutcome::kSaved;
    if (found->request.checkpoint && !saved && !found->unsaved) return false;
    found->stop_at = fact.kill_at;
    return true;
  }
  bool operator()(const RequeueDropped& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || !found->requeuing) return false;
    found->requeuing = found->unsaved = false;
    if (found->stop_at) found->limited_from = record.at;
    found->stop_at.reset();
    return true;
  }
  bool operator()(const LeaseRequeued& fact) const {
    ReferenceLease* found = lease(fact.id);
    const bool may = found != nullptr && found->state == State::kReleasing && found->stop_at &&
                     !found->saving && found->members.empty() && found->command_ended;
    if (!may) return false;
    ReferenceLease waits;
    waits.id = found->id;
    waits.handle = found->handle;
    waits.user = found->user;
    waits.supervisor = found->supervisor;
    waits.request = found->request;
    waits.queued_at = record.at;
    waits.saves = found->saves;
    waits.saved_as = found->saved_as;
    waits.restarts = found->restarts + 1;
    waits.measures = found->measures;
    *found = std::move(waits);
    return true;
  }
  bool operator()(const LeaseFrozen& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || found->state != State::kClaimed || found->frozen) return false;
    if (found->away == Away::kSwappingOut || found->away == Away::kSwappingIn) return false;
    found->frozen = true;
    return true;
  }
  bool operator()(const LeaseThawed& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || !found->frozen) return false;
    found->frozen = false;
    found->stands_since = record.at;
    const bool comes = found->wanted_back || found->away == Away::kSwappingIn;
    if (found->away == Away::kNo || comes) found->goes_on();
    return true;
  }
  bool operator()(const LeasePaused& fact) const {
    ReferenceLease* found = lease(fact.id);
    if (found == nullptr || (found->away == Away::kNo && !found->frozen)) return false;
    found->paused = true;
    found->paused_until = fact.until;
    return true;
  }
  bool operator()(const MeasureBegun& fact) const {
    ReferenceLease* found = lease(fact.id);
    const bool runs = found != nullptr && found->state == State::kClaimed;
    return runs && found->measures.begin(fact, record.at);
  }
  bool operator()(const MeasureEnded& fact) const {
    ReferenceLease* found = lease(fact.id);
    return found != nullptr && found->measures.end(fact);
  }
  // These make up a snapshot and come in no other way.
  bool operator()(const LeaseRestored&) const { return false; }
  bool operator()(const CountersRestored&) const { return false; }
};

std::string ReferenceModel::apply(const Record& record, Coverage& coverage) {
  if (record.sequence != last_sequence_ + 1) {
    return fmt::format("record {} was written after record {}", record.sequence, last_sequence_);
  }
  last_sequence_ = record.sequence;
  if (std::visit(Applier{*this, record, coverage}, record.fact)) {
    coverage.wrote(record.fact);
    return {};
  }
  return fmt::format("record {} ({}) cannot follow what was written before it", record.sequence,
                     name_of(record.fact));
}

std::string ReferenceModel::replace(const std::vector<Record>& snapshot,
                                    std::uint64_t last_sequence) {
  std::map<LeaseId, ReferenceLease> leases;
  for (const Record& record : snapshot) {
    const auto* fact = std::get_if<LeaseRestored>(&record.fact);
    if (fact == nullptr || fact->view.state == LeaseState::kEnded) continue;
    if (!leases.emplace(fact->view.id, restored(*fact)).second) {
      return fmt::format("lease {} is in the snapshot twice", fact->view.id.value);
    }
  }
  leases_.swap(leases);
  last_sequence_ = last_sequence;
  std::string broken;
  for (const auto& [id, before] : leases) {
    const auto after = leases_.find(id);
    const std::string differs =
        after == leases_.end() ? fmt::format("the snapshot lacks <{}>", before.describe())
        : before.describe() == after->second.describe()
            ? std::string()
            : fmt::format("the snapshot has <{}>, the records before it <{}>",
                          after->second.describe(), before.describe());
    if (broken.empty()) broken = differs;
    if (after != leases_.end()) remember(before, after->second);
  }
  for (const auto& [id, lease] : leases_) last_id_ = std::max(last_id_, id.value);
  return broken;
}

const ReferenceLease* ReferenceModel::find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

const ReferenceLease* ReferenceModel::find(Handle handle) const {
  const auto found = std::ranges::find_if(
      leases_, [&](const auto& entry) { return entry.second.handle == handle; });
  return found == leases_.end() ? nullptr : &found->second;
}

Bytes ReferenceModel::budgets_on(DeviceId device) const {
  Bytes sum;
  for (const auto& [id, lease] : leases_) sum += lease.budget_on(device);
  return sum;
}

}  // namespace berth::sim
