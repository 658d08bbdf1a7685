// SPDX-License-Identifier: Apache-2.0
// Leases above their budget, and the choice of the next measure and of the lease that it is taken
// on; measures_taken.cc has what each does.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "core/escalation.h"
#include "core/limits.h"

namespace berth::core {
namespace {

struct Excess {
  Bytes used;
  Bytes budget;
};

bool is_harder_than_a_save(Measure measure) {
  return measure >= Measure::kSuspend;
}

// It runs, nobody ends it, and it has what could be asked back.
bool can_be_climbed(const Lease& lease) {
  const Held* held = lease.held();
  return held != nullptr && held->claimed && !held->revoked && !held->suspension && !held->requeue;
}

bool is_sure(const EscalationState& above_budget, Instant at) {
  return above_budget.since && at - *above_budget.since >= limits::kOverBudgetSure;
}

}  // namespace

void EscalationState::note(bool holds, Instant at) {
  if (calm_since && at - *calm_since >= PressureState::kCalmFor) *this = {};
  if (holds) {
    calm_since.reset();
    if (!since) since = at;
    return;
  }
  since.reset();
  if (next > 0 && !calm_since) calm_since = at;
}

void Escalation::weigh(LeaseId id, Instant asked_at) {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  if (held == nullptr || !held->claimed || held->revoked) return;
  std::optional<Excess> worst;
  for (const Part& part : held->parts) {
    const Use* use = attribution_->use(id, part.device);
    if (use == nullptr) continue;
    const Bytes used = use->now.value_or(Bytes{});  // Not told is not above.
    const bool above = used > part.budget + core_->settings().over_budget.tolerance;
    if (above && (!worst || used > worst->used)) worst = Excess{used, part.budget};
  }
  OfLease& known = known_[id];
  known.by(Cause::kOverBudget).note(worst.has_value(), asked_at);
  if (!worst) return;
  known.excess = text_of(id) + " uses " + to_text(worst->used) + " of a GPU, above its budget of " +
                 to_text(worst->budget);
}

Ladder Escalation::ladder_above_budget(const Lease& lease) const {
  switch (lease.request.over_budget) {
    case OverBudget::kFail:
      break;
    case OverBudget::kNotify:
      return {{Measure::kNotify}};
    case OverBudget::kKill:
      return {{Measure::kNotify}, {Measure::kKill, core_->settings().over_budget.grace}};
    case OverBudget::kSuspend:
      return core_->settings().pressure.over_budget;
  }
  return {};
}

void Escalation::escalate(const Sample& sample) {
  const std::vector<const Account*> accounts = devices_->sampled(sample);
  for (const LeaseId id : leases_on(accounts)) escalate_lease(id, sample.asked_at);
  for (const Account* account : accounts) escalate_for_unmanaged(*account, sample.asked_at);
}

void Escalation::escalate_lease(LeaseId id, Instant at) {
  const Lease& lease = *core_->state().find(id);
  if (lease.held() == nullptr) return;
  OfLease& known = known_[id];
  const Bytes used = attribution_->used(id);
  if (used != known.unchanged.bytes || known.unchanged.since == Instant{}) {
    known.unchanged = {used, at};
  }
  EscalationState& near = known.by(Cause::kLeaseCritical);
  if (pressure_->of(id) == Pressure::kCritical) {
    if (!near.since) near.since = at;
    escalate(id, Cause::kLeaseCritical, core_->settings().pressure.on_lease_critical, at);
  } else {
    near = {};
  }
  const bool above = is_sure(known.by(Cause::kOverBudget), at);
  EscalationState& danger = known.by(Cause::kDeviceCritical);
  danger.note(above && endangers_others(lease), at);
  if (above) escalate(id, Cause::kOverBudget, ladder_above_budget(lease), at);
  if (danger.since)
    escalate(id, Cause::kDeviceCritical, core_->settings().pressure.on_device_critical, at);
}

bool Escalation::endangers_others(const Lease& lease) const {
  return std::ranges::any_of(lease.held()->parts, [&](const Part& part) {
    return pressure_->on(part.device) == Pressure::kCritical &&
           pressure_->is_critical_now(part.device);
  });
}

void Escalation::escalate(LeaseId id, Cause cause, const Ladder& ladder, Instant at) {
  EscalationState& escalation = known_[id].by(cause);
  escalation.next =
      escalate_from(escalation.next, id, cause, ladder, at - escalation.since.value_or(at));
  // Where it goes on after all that could be done, that is done again, but not before long.
  const bool is_danger = cause != Cause::kLeaseCritical && ladder.size() > 1;
  if (!is_danger || escalation.next < ladder.size() || indexes_->measuring().contains(id)) return;
  if (!escalation.exhausted) escalation.exhausted = at;
  if (at - *escalation.exhausted >= core_->settings().pressure.cooldown) escalation.begin_again(at);
}

// The rung that is next after those whose time has come.
std::size_t Escalation::escalate_from(std::size_t next, LeaseId id, Cause cause,
                                      const Ladder& ladder, Duration lasted) {
  for (; next < ladder.size(); ++next) {
    const LadderStep& ladder_step = ladder[next];
    const Lease& lease = *core_->state().find(id);
    if (ladder_step.after && lasted < *ladder_step.after) break;
    if (ladder_step.measure == Measure::kNotify) {
      notify(id, cause, ladder);
      continue;
    }
    if (lease.held() == nullptr || lease.held()->revoked || !lease.held()->claimed) break;
    if (ladder_step.measure != Measure::kKill) {
      if (!can_be_climbed(lease) || lease.measures.under_way() != nullptr) break;
      const bool saves = lease.checkpoints.asked.has_value();
      if (is_harder_than_a_save(ladder_step.measure) && (saves || !core_->may_grant())) break;
    }
    take(id, cause, ladder_step.measure);
  }
  return next;
}

void Escalation::notify(LeaseId id, Cause cause, const Ladder& ladder) {
  // How near it is to its budget is told by news of its own.
  const bool is_own = cause == Cause::kOverBudget;
  if (!is_own && (cause != Cause::kDeviceCritical || ladder.size() == 1)) return;
  std::string text = known_.at(id).excess;
  if (!is_own) text += ", and others on it lack memory that they were granted";
  const auto harder = std::ranges::find_if(ladder, [](const LadderStep& ladder_step) {
    return is_harder_than_a_save(ladder_step.measure);
  });
  const std::optional<Duration> within = harder != ladder.end() ? harder->after : std::nullopt;
  if (within) {
    text += ": it has " + to_text(*within) + " to use less";
  }
  core_->say({std::move(text)});
}

// See Note [Who is chosen].
void Escalation::escalate_for_unmanaged(const Account& account, Instant at) {
  OnDevice& device = on_[account.id];
  const bool somebody_else = std::ranges::any_of(
      account.entries, [&](const auto& entry) { return known_.at(entry.first).is_above(); });
  const bool is_critical = pressure_->on(account.id) == Pressure::kCritical;
  device.for_unmanaged.note(is_critical && pressure_->is_critical_now(account.id) && !somebody_else,
                            at);
  if (!is_critical) {
    device.next_step.clear();
    displaced_->resume_on(account.id);
  }
  const Ladder& ladder = core_->settings().pressure.on_unmanaged;
  if (!device.for_unmanaged.since || ladder.size() == 1) return;
  const Duration lasted = at - *device.for_unmanaged.since;
  if (std::exchange(device.for_unmanaged.next, 1) == 0) {
    core_->say({"GPU " + std::to_string(account.index) + ": programs without a lease use " +
                to_text(account.unmanaged) + ", and leases lack memory"});
  }
  if (lasted < ladder[1].after.value_or(Duration{})) return;
  std::optional<LeaseId> victim;
  for (const auto& [id, next] : device.next_step) {
    if (indexes_->measuring().contains(id)) return;
    const Lease* lease = core_->state().find(id);
    if (lease != nullptr && can_be_climbed(*lease) && next < ladder.size()) victim = id;
  }
  if (!victim) victim = next_victim(account, device, at);
  if (!victim) return;
  std::size_t& next = device.next_step.try_emplace(*victim, 1).first->second;
  next = escalate_from(next, *victim, Cause::kUnmanaged, ladder, lasted);
}

std::optional<LeaseId> Escalation::next_victim(const Account& account, const OnDevice& device,
                                               Instant at) const {
  std::vector<std::tuple<bool, Priority, Bytes, LeaseId>> able;
  for (const auto& [id, entry] : account.entries) {
    const Lease& lease = *core_->state().find(id);
    const Use* use = attribution_->use(id, account.id);
    const bool has_any = use != nullptr && use->now.value_or(Bytes{}) > Bytes{};
    if (!has_any || !can_be_climbed(lease) || device.next_step.contains(id)) continue;
    const bool is_idle =
        lease.held()->frozen || at - known_.at(id).unchanged.since >= limits::kIdleAfter;
    able.emplace_back(!is_idle, lease.request.priority, attribution_->used(id), id);
  }
  const auto best = std::ranges::min_element(able, [](const auto& a, const auto& b) {
    const auto& [a_busy, a_priority, a_bytes, a_id] = a;
    const auto& [b_busy, b_priority, b_bytes, b_id] = b;
    return std::tie(a_busy, a_priority, a_bytes, b_id) <
           std::tie(b_busy, b_priority, b_bytes, a_id);
  });
  return best == able.end() ? std::nullopt : std::optional(std::get<LeaseId>(*best));
}

}  // namespace berth::core
