// SPDX-License-Identifier: Apache-2.0
#include "sim/reference_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::sim {
namespace {

using State = ReferenceLease::State;
using Away = ReferenceLease::Away;

template <class Kind, class... Kinds>
inline constexpr bool kIsOneOf = (std::is_same_v<Kind, Kinds> || ...);

/// A lease in that state can have such a record at all.
template <class Kind>
bool may_have(const ReferenceLease& lease) {
  if constexpr (kIsOneOf<Kind, RequestPassed, RequestParked, RequestOnHold, RequestEdited,
                         LeaseGranted>) {
    return lease.state == State::kWaiting;
  } else if constexpr (kIsOneOf<Kind, LeaseClaimed>) {
    return lease.state == State::kOffered;
  } else if constexpr (kIsOneOf<Kind, CheckpointAsked, SuspendBegun, RequeueAsked, LeaseFrozen,
                                LeaseIdle, MeasureBegun>) {
    return lease.state == State::kClaimed;
  } else if constexpr (kIsOneOf<Kind, OfferLapsed, LeaseResized, GrowthQueued, GrowthDropped,
                                LeaseRenewed, LeaseReleasing, LeaseSuspended, ResumeQueued,
                                ResumeBegun, LeaseResumed, LeaseMoved, MessageSent>) {
    return lease.holds();
  } else if constexpr (kIsOneOf<Kind, LeaseRequeued>) {
    return lease.state == State::kReleasing;
  } else if constexpr (kIsOneOf<Kind, MemberSeen, LeaseRevoked>) {
    return lease.state != State::kWaiting;
  } else {
    return true;
  }
}

void restore_absence(const LeaseRestored& fact, ReferenceLease& lease) {
  ReferenceLease::Absence& absence = lease.absence;
  absence.moved_from = fact.moved_from.value_or(std::vector<DeviceId>{});
  if (!lease.holds()) return;
  absence.wanted_back = fact.resume_queued.has_value();
  absence.before = fact.away;
  if (!fact.suspension) return;
  absence.away = fact.resume_begun ? Away::kSwappingIn
                 : fact.suspended  ? Away::kSuspended
                                   : Away::kSwappingOut;
  absence.turn = fact.suspension->turn;
  absence.used = fact.suspension->used.front();
}

// Instants that a snapshot has.
void restore_times(const LeaseRestored& fact, RecordTimes& times) {
  times.note<RequestQueued>(fact.queued_instant);
  times.note<LeaseGranted>(fact.granted_instant.value_or(Instant{}));
  times.note<LeaseReleasing>(fact.releasing_since.value_or(Instant{}));
  times.note<CheckpointAsked>(fact.checkpoint_asked.value_or(Instant{}));
  if (fact.suspended_since) times.note<SuspendBegun>(*fact.suspended_since);
  if (fact.runs_since) times.note<LeaseResumed>(*fact.runs_since);
}

// What a lease of a snapshot is.
ReferenceLease restored(const LeaseRestored& fact) {
  const LeaseView& view = *fact.view;
  const bool is_held = view.state == LeaseState::kHeld || view.state == LeaseState::kSuspended;
  ReferenceLease lease{
      .state = is_held ? (fact.claimed ? State::kClaimed : State::kOffered)
               : view.state == LeaseState::kReleasing ? State::kReleasing
                                                      : State::kWaiting,
      .id = view.id,
      .handle = view.handle,
      .user = view.user,
      .supervisor = view.supervisor,
      .kept = view.job,
      .request = view.request,
      .place = {.parked = view.flags.parked,
                .on_hold = view.flags.on_hold,
                .sequence = fact.queued_sequence,
                .passed_others = fact.passed_others,
                .passed_since = fact.passed_since},
      .parts = {},
      .members = {.command = view.command,
                  .command_ended = fact.command_ended,
                  .is_shutdown = view.retries && view.retries->kind == EndKind::kShutdown,
                  .processes = {view.members.begin(), view.members.end()}},
      .kill_at = fact.kill_at,
      .expires = fact.expires,
      .requeue = {.restarts = view.restarts,
                  .asked = fact.requeue,
                  .stop_at = fact.requeue_kill_at},
      .pause = {.frozen = fact.frozen, .paused = view.pause.has_value(), .until = fact.pause_ends}};
  for (const LeasePart& part : view.parts) lease.parts.push_back({part.device, part.granted});
  if (view.state == LeaseState::kHeld) lease.resizing.growth = fact.growth;
  if (const auto& last = view.checkpoints.last) {
    lease.save.asked = last->number;
    lease.save.last = last->outcome;
  }
  if (const auto& asked = view.checkpoints.asked)
    lease.save.number = lease.save.asked = asked->number;
  restore_times(fact, lease.times);
  restore_absence(fact, lease);
  lease.measures.restore(view);
  lease.messages.restore(view);
  return lease;
}

// What no record of a snapshot tells. Where records were never written, it may differ otherwise.
void remember(const ReferenceLease& before, const LeaseRestored& fact, ReferenceLease& lease) {
  lease.times = before.times;
  restore_times(fact, lease.times);
  lease.resizing.shrunk_at = before.resizing.shrunk_at;
  lease.members.ended_at = before.members.ended_at;
  lease.members.ever = before.members.ever;
  // Only by a move does what is held come to other devices.
  const bool stays =
      std::ranges::equal(before.parts, lease.parts, {}, &Part::device, &Part::device);
  lease.absence.migrated = before.absence.migrated || (before.holds() && lease.holds() && !stays);
  lease.absence.undone_at = before.absence.undone_at;
}

}  // namespace

// `follows` for each kind of record of a lease: false where it cannot. What none says anything
// special about follows where the state of the lease allows it.
struct ReferenceModel::Applier {
  ReferenceModel& self;
  const Record& record;
  Coverage& coverage;

  /// Those of no lease. The rest makes up a snapshot, and comes in no other way.
  template <class Kind>
  bool operator()(const Kind& /*fact*/) const {
    return std::is_same_v<Kind, UsageRestored>;
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
    lease.place.sequence = record.sequence;
    lease.times.note<RequestQueued>(record.at);
    return true;
  }
  template <class Kind>
    requires requires(const Kind& fact) { fact.id; }
  bool operator()(const Kind& fact) const {
    const auto found = self.leases_.find(fact.id);
    if (found == self.leases_.end()) return is_told_late(fact);
    ReferenceLease& lease = found->second;
    if (!may_have<Kind>(lease)) return false;
    if constexpr (requires { follows(lease, fact); }) {
      if (!follows(lease, fact)) return false;
    }
    lease.times.note<Kind>(record.at);
    if constexpr (kIsOneOf<Kind, LeaseRequeued, JobQueuedAgain>) {
      lease.times.note<RequestQueued>(record.at);
    }
    if constexpr (std::is_same_v<Kind, LeaseEnded>) self.leases_.erase(found);
    return true;
  }
  template <class Kind>
  static bool is_told_late(const Kind& fact) {
    if constexpr (std::is_same_v<Kind, CommandEnded>) return fact.exit.has_value();
    return false;
  }
  bool reached(Moment moment) const {
    coverage.reached(moment);
    return true;
  }

  bool follows(ReferenceLease& lease, const RequestPassed&) const {
    if (!lease.place.passed_since) lease.place.passed_since = record.at;
    return true;
  }
  template <class Kind>
    requires kIsOneOf<Kind, RequestParked, RequestOnHold>
  static bool follows(ReferenceLease& lease, const Kind& fact) {
    if constexpr (std::is_same_v<Kind, RequestParked>) lease.place.parked = fact.parked;
    if constexpr (std::is_same_v<Kind, RequestOnHold>) lease.place.on_hold = fact.on_hold;
    return true;
  }
  static bool follows(ReferenceLease& lease, const RequestEdited& fact) {
    lease.request = edited(lease.request, fact.edit);
    return fact.edit != RequestEdit{};
  }
  static bool follows(ReferenceLease& lease, const RequestKept&) {
    lease.supervisor.reset();
    return !std::exchange(lease.kept, true) && !lease.request.ttl && !lease.members.command;
  }
  static bool follows(ReferenceLease& lease, const JobQueuedAgain&) {
    const std::uint32_t begun = lease.members.command ? 1 : 0;
    if (!lease.kept) return false;
    lease = lease.queued_again(begun);
    return true;
  }
  static bool follows(ReferenceLease& lease, const LeaseGranted& fact) {
    lease.state = State::kOffered;
    lease.parts = fact.parts;
    lease.place.passed_others = fact.passed_others;
    return !lease.place.parked && !lease.place.on_hold && !fact.parts.empty();
  }
  static bool follows(ReferenceLease& lease, const OfferLapsed& fact) {
    lease.expires.reset();
    lease.state = State::kWaiting;
    lease.parts.clear();
    lease.place = {.parked = fact.parked, .sequence = lease.place.sequence};
    // A reservation is claimed with its grant, and lapses with it if that could not be written.
    return !lease.members.command;
  }
  static bool follows(ReferenceLease& lease, const LeaseClaimed& fact) {
    lease.state = State::kClaimed;
    lease.members.command = fact.command;
    if (lease.kept) lease.supervisor = fact.supervisor;
    if (fact.command) lease.members.ever.insert(*fact.command);
    return true;
  }
  static bool follows(ReferenceLease& lease, const MemberSeen& fact) {
    lease.members.processes.insert(fact.process);
    lease.members.ever.insert(fact.process);
    return true;
  }
  bool follows(ReferenceLease& lease, const MemberGone& fact) const {
    if (lease.members.command_ended && lease.holds()) lease.members.ended_at = record.at;
    return lease.members.processes.erase(fact.process) > 0;
  }
  bool follows(ReferenceLease& lease, const CommandEnded& fact) const {
    lease.members.is_shutdown = fact.kind == EndKind::kShutdown;
    if (!std::exchange(lease.members.command_ended, true) && lease.holds()) {
      lease.members.ended_at = record.at;
    }
    return true;
  }
  bool follows(ReferenceLease& lease, const LeaseResized& fact) const {
    if (!std::ranges::equal(fact.parts, lease.parts, {}, &Part::device, &Part::device)) {
      return false;
    }
    bool grows = false;
    for (std::size_t i = 0; i < fact.parts.size(); ++i) {
      if (fact.parts[i].budget < lease.parts[i].budget) lease.resizing.shrunk_at = record.at;
      grows = grows || fact.parts[i].budget > lease.parts[i].budget;
    }
    lease.parts = fact.parts;
    lease.request.share = fact.share;
    lease.request.vram =
        fact.share == Share::kExclusive ? Bytes{} : fact.parts.front().budget;  // Requeued, too.
    lease.resizing.growth.reset();
    return reached(grows ? Moment::kGrown : Moment::kShrunk);
  }
  static bool follows(ReferenceLease& lease, const GrowthQueued& fact) {
    lease.resizing.growth = fact;
    return true;
  }
  static bool follows(ReferenceLease& lease, const GrowthDropped&) {
    return std::exchange(lease.resizing.growth, std::nullopt).has_value();
  }
  bool follows(ReferenceLease& lease, const LeaseRenewed& fact) const {
    return !std::exchange(lease.expires, fact.expires) || reached(Moment::kRenewed);
  }
  // No lease is ended for its use but by a measure.
  static bool follows(ReferenceLease& lease, const LeaseRevoked& fact) {
    const bool is_one = lease.measures.is_under_way(Measure::kKill);
    if (fact.result == EndResult::kOverBudget && !is_one) return false;
    return !std::exchange(lease.kill_at, fact.kill_at);
  }
  static bool follows(ReferenceLease& lease, const LeaseReleasing& fact) {
    lease.state = State::kReleasing;
    if (fact.result == EndResult::kDetached) lease.kill_at.reset();
    lease.resizing.growth.reset();
    lease.pause = {.frozen = lease.pause.frozen};
    return true;
  }
  bool follows(ReferenceLease& lease, const LeaseEnded&) const {
    return lease.state != State::kWaiting || reached(Moment::kWithdrawn);
  }
  static bool follows(ReferenceLease& lease, const CheckpointAsked& fact) {
    const bool is_next = fact.number == lease.save.asked + 1;
    if (!lease.request.checkpoint || lease.save.number || !is_next) return false;
    lease.save.number = lease.save.asked = fact.number;
    return true;
  }
  static bool follows(ReferenceLease& lease, const CheckpointEnded& fact) {
    if (lease.save.number != fact.number) return false;
    lease.save.number.reset();
    lease.save.last = fact.outcome;
    return true;
  }
  bool follows(ReferenceLease& lease, const SuspendBegun& fact) const {
    if (!lease.is_away(Away::kNo) || lease.resizing.growth) return false;
    lease.absence.away = Away::kSwappingOut;
    lease.absence.used = fact.used.front();
    lease.absence.turn = fact.turn;
    return !fact.turn || may_lose_turn(lease);
  }
  // Another lease waits for a turn.
  bool may_lose_turn(const ReferenceLease& lease) const {
    if (lease.request.share != Share::kSlice || lease.requeue.asked || lease.kill_at) return false;
    return std::ranges::any_of(self.leases_, [&](const auto& entry) {
      const ReferenceLease& other = entry.second;
      const bool waits = other.state == State::kWaiting || other.absence.wanted_back;
      return other.id != lease.id && other.request.share == Share::kSlice && waits;
    });
  }
  bool follows(ReferenceLease& lease, const LeaseSuspended& fact) const {
    if (!lease.is_moving()) return false;
    if (lease.is_away(Away::kSwappingOut)) {
      lease.absence.wanted_back = lease.absence.turn;
    } else {
      lease.absence.undone_at = record.at;
    }
    if (!fact.used.empty()) lease.absence.used = fact.used.front();
    lease.absence.away = Away::kSuspended;
    return true;
  }
  static bool follows(ReferenceLease& lease, const ResumeQueued& fact) {
    lease.absence.wanted_back = fact.queued;
    if (fact.queued) lease.goes_on();
    return lease.is_away(Away::kSuspended);
  }
  bool follows(ReferenceLease& lease, const ResumeBegun&) const {
    if (!lease.is_away(Away::kSuspended) || !lease.absence.wanted_back) return false;
    lease.absence.away = Away::kSwappingIn;
    lease.absence.wanted_back = false;
    return !lease.absence.turn || reached(Moment::kTurnTaken);
  }
  bool follows(ReferenceLease& lease, const LeaseResumed&) const {
    if (!lease.is_moving()) return false;
    const bool was_away = lease.is_away(Away::kSwappingIn);
    lease.absence.away = Away::kNo;
    lease.absence.before = lease.absence.before + (record.at - lease.times.of<SuspendBegun>());
    lease.absence.moved_from.clear();
    lease.goes_on();
    if (was_away) return true;
    lease.absence.undone_at = record.at;
    return reached(Moment::kSuspendUndone);
  }
  static bool follows(ReferenceLease& lease, const LeaseMoved& fact) {
    const bool may = lease.is_away(Away::kSuspended) && fact.devices.size() == lease.parts.size() &&
                     lease.request.share != Share::kSlice;
    if (may) lease.absence.put_on(fact.devices, lease.parts);
    return may;
  }
  static bool follows(ReferenceLease& lease, const RequeueAsked& fact) {
    lease.requeue.asked = fact;
    return lease.request.requeue_grace && lease.is_away(Away::kNo) && !lease.requeue.stop_at;
  }
  // Nothing is stopped that could have been saved and was not, unless that was said.
  static bool follows(ReferenceLease& lease, const RequeueBegun& fact) {
    if (!lease.requeue.asked || lease.save.number) return false;
    const bool saved = lease.save.last == CheckpointOutcome::kSaved;
    if (lease.request.checkpoint && !saved && !lease.requeue.asked->unsaved) return false;
    return !std::exchange(lease.requeue.stop_at, fact.kill_at);
  }
  static bool follows(ReferenceLease& lease, const RequeueDropped&) {
    lease.requeue.stop_at.reset();
    return std::exchange(lease.requeue.asked, std::nullopt).has_value();
  }
  bool follows(ReferenceLease& lease, const LeaseRequeued& fact) const {
    const bool is_told = lease.requeue.stop_at || fact.retry || lease.members.is_shutdown;
    // What its command has left may live on, where its user said that it is of no concern.
    const bool is_left = lease.members.processes.empty() ||
                         (!lease.requeue.stop_at && lease.request.leftovers == Leftovers::kRelease);
    const bool may = is_told && !lease.save.number && lease.members.command_ended && is_left;
    if (fact.retry) {
      lease.request.not_before = fact.retry->not_before;
      lease.request.vram = fact.retry->vram.value_or(lease.request.vram);
    }
    ReferenceLease waits = lease.queued_again(1);
    waits.supervisor = lease.supervisor;
    waits.place.sequence = record.sequence;
    waits.messages = std::move(lease.messages);
    lease = std::move(waits);
    return may;
  }
  static bool follows(ReferenceLease& lease, const LeaseFrozen&) {
    return !lease.is_moving() && !std::exchange(lease.pause.frozen, true);
  }
  static bool follows(ReferenceLease& lease, const LeaseThawed&) {
    const bool was_frozen = std::exchange(lease.pause.frozen, false);
    const bool comes = lease.absence.wanted_back || lease.is_away(Away::kSwappingIn);
    if (lease.is_away(Away::kNo) || comes) lease.goes_on();
    return was_frozen;
  }
  static bool follows(ReferenceLease& lease, const LeasePaused& fact) {
    lease.pause = {.frozen = lease.pause.frozen, .paused = true, .until = fact.until};
    return !lease.is_away(Away::kNo) || lease.pause.frozen;
  }
  bool follows(const ReferenceLease& lease, const LeaseIdle& fact) const {
    if (!fact.since) return true;
    const bool runs = lease.is_away(Away::kNo) && !lease.pause.frozen;
    return runs && *fact.since >= lease.runs_since() &&
           record.at - *fact.since >= limits::kIdleSettled;
  }
  template <class Kind>
    requires kIsOneOf<Kind, MeasureBegun, MessageSent>
  bool follows(ReferenceLease& lease, const Kind& fact) const {
    if constexpr (std::is_same_v<Kind, MessageSent>) {
      return lease.messages.begin(fact, record.at);
    } else {
      return lease.measures.begin(fact, record.at);
    }
  }
  template <class Kind>
    requires kIsOneOf<Kind, MeasureEnded, MessageAnswered>
  bool follows(ReferenceLease& lease, const Kind& fact) const {
    if constexpr (std::is_same_v<Kind, MeasureEnded>) {
      return lease.measures.end(fact);
    } else {
      return lease.messages.end(fact, lease, record.at);
    }
  }
};

std::string ReferenceModel::apply(const Record& record, Coverage& coverage) {
  if (record.sequence != last_sequence_ + 1) {
    return fmt::format("record {} was written after record {}", record.sequence, last_sequence_);
  }
  last_sequence_ = record.sequence;
  const Applier applier{*this, record, coverage};
  if (!std::visit(applier, static_cast<const AnyFact&>(record.fact))) {
    return fmt::format("record {} ({}) cannot follow what was written before it", record.sequence,
                       name_of(record.fact));
  }
  coverage.wrote(record.fact);
  return {};
}

std::string ReferenceModel::replace(const std::vector<Record>& snapshot,
                                    std::uint64_t last_sequence) {
  const std::map<LeaseId, ReferenceLease> before = std::exchange(leases_, {});
  last_sequence_ = last_sequence;
  std::string broken;
  for (const Record& record : snapshot) {
    const auto* fact = std::get_if<LeaseRestored>(&record.fact);
    if (fact == nullptr || fact->view->state == LeaseState::kEnded) continue;
    const auto [lease, is_new] = leases_.emplace(fact->view->id, restored(*fact));
    if (!is_new) return fmt::format("lease {} is in the snapshot twice", lease->first.value);
    last_id_ = std::max(last_id_, lease->first.value);
    const auto known = before.find(lease->first);
    if (known == before.end()) continue;
    remember(known->second, *fact, lease->second);
    const std::string was = known->second.describe();
    if (!broken.empty() || lease->second.describe() == was) continue;
    broken = fmt::format("the snapshot has <{}>, the records before it <{}>",
                         lease->second.describe(), was);
  }
  for (const auto& [id, lease] : before) {
    if (!broken.empty() || leases_.contains(id)) continue;
    broken = fmt::format("the snapshot lacks <{}>", lease.describe());
  }
  return broken;
}

void ReferenceModel::rebooted() {
  for (auto& [id, lease] : leases_) {
    lease.times = {};
    lease.resizing.shrunk_at = lease.members.ended_at = lease.absence.undone_at = {};
  }
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
