// SPDX-License-Identifier: Apache-2.0
// Execution of measures: what each does, how its outcome is known, and when it is given up. Each is
// written down before it is begun, and again when it is over: confirmed by what has happened to the
// lease, never by a word alone, or failed. A daemon that starts finds one that is under way and
// waits for the same.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/escalation.h"
#include "core/limits.h"

namespace berth::core {
namespace {

Duration grace_of(const Lease& lease) {
  const auto& way = lease.request.checkpoint;
  return way ? way->grace + limits::kCheckpointMargin : Duration{};
}

// What counts of what it uses, before and after it was asked to give some back.
Bytes least_given_back(Bytes before) {
  return std::max(mib(1), Bytes{before.value / 100});
}

std::optional<std::string> why_not_cleaned(const Lease& lease) {
  const auto& way = lease.request.checkpoint;
  if (!way || way->kind != CheckpointKind::kLibrary) {
    return "nothing in it can be asked to clean up: it was not started with --checkpoint library";
  }
  if (lease.held()->suspension) return "it is suspended";
  if (lease.held()->frozen) return "it is frozen";
  return std::nullopt;
}

// Within this something has come of it, or something is wrong.
Duration within(const Lease& lease, Measure measure) {
  switch (measure) {
    case Measure::kNotify:
    case Measure::kCleanup:
      break;
    case Measure::kCheckpoint:
      return grace_of(lease) + limits::kMeasureMargin;
    case Measure::kSuspend:
      return limits::kMovedWithin;
    case Measure::kRequeue:
      return grace_of(lease) + limits::kReconnectWithin + limits::kRequeueHeardWithin +
             lease.request.requeue_grace.value_or(Duration{}) + limits::kRequeueMargin +
             limits::kReleasingMax + limits::kMeasureMargin;
    case Measure::kKill:
      return limits::kKillAfter + limits::kReleasingMax + limits::kMeasureMargin;
  }
  return limits::kMeasureMargin;
}

}  // namespace

void Escalation::take(LeaseId id, Cause cause, Measure measure) {
  const Lease& lease = *core_->state().find(id);
  const Duration apart = core_->settings().pressure.cooldown;
  const bool saved_of_late = measure == Measure::kCheckpoint && lease.checkpoint_asked &&
                             core_->now().instant - *lease.checkpoint_asked < apart;
  if (saved_of_late || lease.measures.cools_down(measure, core_->now().instant, apart)) return;
  const std::optional<std::string> why_not = why_not_taken(lease, measure);
  // A lease that is near its budget and named no way to save itself is not bothered.
  if (why_not && cause == Cause::kLeaseCritical && measure == Measure::kCheckpoint) return;
  if (const MeasureTaken* other = lease.measures.under_way()) {
    end_measure({id, other->number, MeasureOutcome::kFailed, "it is to be ended first"});
  }
  const auto& saves = lease.checkpoints;
  const std::uint64_t last_save = saves.last ? saves.last->number : 0;
  const MeasureBegun begun{.id = id,
                           .number = lease.measures.next_number(),
                           .measure = measure,
                           .cause = cause,
                           .save = saves.asked ? saves.asked->number : last_save + 1};
  core_->decide(id, begun);
  if (why_not) return end_measure({id, begun.number, MeasureOutcome::kRefused, *why_not});
  core_->notify(id, LeaseEvent::kMeasure);
  perform(id, measure);
}

std::optional<std::string> Escalation::why_not_taken(const Lease& lease, Measure measure) const {
  std::optional<Refusal> refusal;
  switch (measure) {
    case Measure::kNotify:
    case Measure::kKill:
      return std::nullopt;
    case Measure::kCleanup:
      return why_not_cleaned(lease);
    case Measure::kSuspend:
      return why_not_suspended(lease);
    case Measure::kCheckpoint:
      refusal = saves_->refuse(lease);
      break;
    case Measure::kRequeue:
      refusal = requeuing_->refuse(lease);
      break;
  }
  return refusal ? std::optional(refusal->message) : std::nullopt;
}

std::optional<std::string> Escalation::why_not_suspended(const Lease& lease) const {
  const Held& held = *lease.held();
  if (!held.has_processes()) return "it has no processes whose memory could be moved";
  if (transfers_->of(lease.id).is_freezing()) return "it is just being stopped or let go on";
  if (transfers_->of(lease.id).is_under_way()) return "its memory is on the way";
  return std::nullopt;
}

void Escalation::perform(LeaseId id, Measure measure) {
  CHECK(core_->state().find(id)->measures.under_way() != nullptr);
  OfLease& known = known_[id];
  const std::string why =
      known.is_above() ? known.excess : text_of(id) + " is in the way of what was granted";
  switch (measure) {
    case Measure::kNotify:
      break;
    case Measure::kCleanup:  // Its program hears of it by the news that it was begun.
      known.used_before_cleanup = attribution_->used_by_higher(id);
      break;
    case Measure::kCheckpoint:
      saves_->ask(id, CheckpointReason::kPressure);
      break;
    case Measure::kSuspend:
      core_->say({why + ": it is suspended for that"});
      transfers_->suspend(id, {});
      break;
    case Measure::kRequeue:
      core_->say({why + ": it is requeued for that"});
      requeuing_->ask(id, {.unsaved = false});
      break;
    case Measure::kKill:
      core_->say({why + ": it is ended for that"});
      lifecycle_->revoke(id, EndResult::kOverBudget);
      break;
  }
}

// Absent: it is under way.
std::optional<MeasureEnded> Escalation::outcome_of(const Lease& lease) const {
  const MeasureTaken& taken = *lease.measures.under_way();
  const Held* held = lease.held();
  const auto ended = [&](MeasureOutcome outcome, std::string detail = {}) {
    return MeasureEnded{lease.id, taken.number, outcome, std::move(detail)};
  };
  const auto because = [](const std::string& known, const std::string& otherwise) {
    return known.empty() ? otherwise : known;
  };
  const std::string gone = "it has ended meanwhile";
  switch (taken.measure) {
    case Measure::kNotify:
      break;
    case Measure::kCleanup: {
      if (held == nullptr) return ended(MeasureOutcome::kFailed, gone);
      if (held->suspension) return ended(MeasureOutcome::kFailed, "it was suspended meanwhile");
      const Bytes before = known_.at(lease.id).used_before_cleanup;
      const Bytes given = saturating_sub(before, attribution_->used_by_higher(lease.id));
      if (!was_sampled_since(*held, taken.begun) || given < least_given_back(before)) break;
      return ended(MeasureOutcome::kConfirmed, to_text(given) + " were given back");
    }
    case Measure::kCheckpoint: {
      const auto& [asked, last, saved] = lease.checkpoints;
      if (asked && asked->number == taken.save) return std::nullopt;
      if (!last || last->number < taken.save)
        return ended(MeasureOutcome::kFailed, "it was not asked");
      if (last->outcome == CheckpointOutcome::kSaved) {
        return ended(MeasureOutcome::kConfirmed, last->detail);
      }
      return ended(MeasureOutcome::kFailed, std::string(to_text(last->outcome)) +
                                                (last->detail.empty() ? "" : ", " + last->detail));
    }
    case Measure::kSuspend:
      if (held == nullptr) return ended(MeasureOutcome::kFailed, gone);
      if (held->is_swapped_out()) return ended(MeasureOutcome::kConfirmed);
      if (!held->suspension) {
        return ended(MeasureOutcome::kFailed,
                     because(transfers_->of(lease.id).failure, "the daemon was started anew"));
      }
      if (const std::string& why = transfers_->of(lease.id).stuck; !why.empty()) {
        return ended(MeasureOutcome::kFailed, why);
      }
      break;
    case Measure::kRequeue: {
      if (lease.waiting() != nullptr) return ended(MeasureOutcome::kConfirmed);
      const Held& was = *lease.granted();
      if (was.requeue) break;
      return ended(MeasureOutcome::kFailed, because(requeuing_->failure(lease.id), gone));
    }
    case Measure::kKill:
      if (held == nullptr) return ended(MeasureOutcome::kConfirmed);
      break;
  }
  return std::nullopt;
}

// What its devices hold was asked of the driver after that.
bool Escalation::was_sampled_since(const Held& held, Instant since) const {
  return std::ranges::all_of(held.parts, [&](const Part& part) {
    const KnownDevice* device = devices_->find(part.device);
    return device != nullptr && device->asked_at > since;
  });
}

void Escalation::tend_measures() {
  for (const LeaseId id : std::set(indexes_->measuring())) {
    if (auto ended = outcome_of(*core_->state().find(id))) end_measure(*std::move(ended));
  }
}

Instant Escalation::due(const Lease& lease) {
  const MeasureTaken* taken = lease.measures.under_way();
  return taken == nullptr ? Instant::never() : taken->begun + within(lease, taken->measure);
}

// False: it is not late, or none is under way.
bool Escalation::tend_late(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  if (due(lease) > core_->now().instant) return false;
  const MeasureTaken& taken = *lease.measures.under_way();
  end_measure({id, taken.number, MeasureOutcome::kFailed,
               "nothing came of it within " + to_text(within(lease, taken.measure))});
  return true;
}

void Escalation::end_measure(MeasureEnded fact) {
  const LeaseId id = fact.id;
  fact.detail.resize(std::min(fact.detail.size(), limits::kCheckpointDetail));
  core_->decide(id, fact);
  core_->notify(id, LeaseEvent::kMeasure);
  const auto& all = core_->state().find(id)->measures.taken();
  const MeasureTaken taken = *std::ranges::find(all, fact.number, &MeasureTaken::number);
  if (taken.measure == Measure::kSuspend && taken.outcome == MeasureOutcome::kConfirmed &&
      taken.cause == Cause::kUnmanaged) {
    displaced_->insert(id);
  }
  if (taken.outcome == MeasureOutcome::kConfirmed) return;
  core_->say({text_of(id) + ": " + std::string(to_text(taken.measure)) +
              (taken.outcome == MeasureOutcome::kRefused ? " was refused: " : " failed: ") +
              taken.detail});
}

}  // namespace berth::core
