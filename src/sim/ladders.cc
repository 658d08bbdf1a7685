// SPDX-License-Identifier: Apache-2.0
#include "sim/ladders.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/limits.h"
#include "sim/observations.h"

namespace berth::sim {
namespace {

Ladder ladder_in_force(const core::Settings& settings, const Request& request, Cause cause) {
  const core::PressureSettings& pressure = settings.pressure;
  switch (cause) {
    case Cause::kLeaseCritical:
      return pressure.on_lease_critical;
    case Cause::kDeviceCritical:
      return pressure.on_device_critical;
    case Cause::kUnmanaged:
      return pressure.on_unmanaged;
    case Cause::kOverBudget:
      break;
  }
  if (request.over_budget == OverBudget::kSuspend) return pressure.over_budget;
  if (request.over_budget != OverBudget::kKill) return {};
  return {{Measure::kKill, settings.over_budget.grace}};
}

// At most: who is dead has belonged to anybody. A process that was looked at alive may have been
// written as gone before the answer came; of what a command left behind the exit report tells.
bool may_belong(const ReferenceLease& lease, const std::set<Process>& leftovers,
                const ProcessSample& process) {
  const auto names = [&](const Process& one) {
    return one == lease.supervisor || lease.members.ever.contains(one) || leftovers.contains(one);
  };
  return !process.alive || process.env_lease == lease.handle || names(process.process) ||
         std::ranges::any_of(process.ancestors, names);
}

bool is_above(const ReferenceLease& lease, const std::set<Process>& leftovers,
              const Sample& sample) {
  return std::ranges::any_of(sample.devices, [&](const DeviceSample& device) {
    const auto part = std::ranges::find(lease.parts, device.id, &Part::device);
    if (part == lease.parts.end() || !device.processes) return false;
    Bytes used;
    for (const ProcessSample& process : *device.processes) {
      if (may_belong(lease, leftovers, process)) used += process.used.value_or(Bytes{});
    }
    return used > part->budget;
  });
}

}  // namespace

bool ReferenceMeasures::begin(const MeasureBegun& fact, Instant at) {
  if (under_way_ || fact.number <= last_number_) return false;
  last_number_ = fact.number;
  begun_[fact.measure] = at;
  under_way_ = MeasureTaken{.number = fact.number,
                            .measure = fact.measure,
                            .cause = fact.cause,
                            .save = fact.save,
                            .begun = at,
                            .at = {},
                            .outcome = {},
                            .detail = {}};
  return true;
}

bool ReferenceMeasures::end(const MeasureEnded& fact) {
  if (!under_way_ || under_way_->number != fact.number) return false;
  if (fact.outcome == MeasureOutcome::kRefused) begun_.erase(under_way_->measure);
  under_way_.reset();
  return true;
}

void ReferenceMeasures::restore(const LeaseView& view) {
  for (const MeasureTaken& one : view.measures) {
    last_number_ = one.number;
    if (one.outcome != MeasureOutcome::kRefused) begun_[one.measure] = one.begun;
    if (!one.outcome) under_way_ = one;
  }
}

std::optional<Instant> ReferenceMeasures::begun(Measure measure) const {
  const auto found = begun_.find(measure);
  return found == begun_.end() ? std::nullopt : std::optional(found->second);
}

std::string ReferenceMeasures::describe() const {
  std::string text = fmt::format(" measures {}{}", last_number_, under_way_ ? " (under way)" : "");
  for (const auto& [measure, at] : begun_) text += fmt::format(" {}", to_text(measure));
  return text;
}

void AboveBudget::sampled(const Observations& observations, const Sample& sample) {
  if (!sample.trouble.empty()) return;
  last_ = sample.asked_at;
  std::map<LeaseId, Instant> since;
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (!lease.holds() || !is_above(lease, observations.of(id).leftovers, sample)) continue;
    const auto before = since_.find(id);
    since[id] = before == since_.end() ? sample.asked_at : before->second;
  }
  since_ = std::move(since);
}

std::optional<Duration> AboveBudget::lasted(LeaseId lease) const {
  const auto found = since_.find(lease);
  return found == since_.end() ? std::nullopt : std::optional(last_ - found->second);
}

std::string check_measure(const Observations& observations, const ReferenceLease& before,
                          const MeasureBegun& fact, core::Now now) {
  const auto broken = [&](std::string_view what) {
    return fmt::format("{} for {} {}: <{}>", to_text(fact.measure), to_text(fact.cause), what,
                       before.describe());
  };
  const Ladder ladder = ladder_in_force(observations.settings, before.request, fact.cause);
  const auto ladder_step = std::ranges::find(ladder, fact.measure, &LadderStep::measure);
  if (ladder_step == ladder.end()) return broken("is on no ladder in force");
  const std::optional<Instant> last = before.measures.begun(fact.measure);
  if (last && now.instant - *last < observations.settings.pressure.cooldown) {
    return broken("comes again within its cool-down");
  }
  const bool harms = fact.measure >= Measure::kSuspend;
  if (fact.cause == Cause::kLeaseCritical && harms) return broken("meets a lease in its budget");
  if (fact.cause == Cause::kUnmanaged && fact.measure == Measure::kKill) {
    return broken("ends a lease for what others do");
  }
  if (fact.cause != Cause::kOverBudget && fact.cause != Cause::kDeviceCritical) return {};
  const std::optional<Duration> lasted = observations.above_budget.lasted(fact.id);
  if (!lasted) return broken("meets a lease that no sample found above its budget");
  if (*lasted < ladder_step->after.value_or(Duration{})) return broken("comes before its time");
  return {};
}

Instant measure_due(const Observations& observations, const ReferenceLease& lease) {
  const auto& under_way = lease.measures.under_way();
  if (!under_way) return Instant::never();
  const auto& way = lease.request.checkpoint;
  const Duration save = way ? way->grace + limits::kCheckpointMargin : Duration{};
  Duration within = limits::kMeasureMargin;
  switch (under_way->measure) {
    case Measure::kNotify:
    case Measure::kCleanup:
      break;
    case Measure::kCheckpoint:
      within = within + save;
      break;
    case Measure::kSuspend:
      within = limits::kMovedWithin;
      break;
    case Measure::kRequeue:
      within = within + save + lease.request.requeue_grace.value_or(Duration{}) + minutes(1);
      break;
    case Measure::kKill:
      within = within + limits::kKillAfter + limits::kReleasingMax;
      break;
  }
  return std::max(under_way->begun + within, observations.daemon_since);
}

}  // namespace berth::sim
