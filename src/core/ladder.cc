// SPDX-License-Identifier: Apache-2.0
// Choice of the next measure, and of the lease that it is taken on. measures_taken.cc has what each
// measure does.
//
// Note [Who is chosen]: a measure goes to the cause. That is the lease above its budget: for that
// alone, as it has asked, or because others on its GPU lack what they were granted, as the operator
// says. Where no lease is above its budget and leases lack memory all the same, unmanaged processes
// have it. They cannot be asked, so it is only reported, unless `on_unmanaged` says more. Then
// leases make room, one after another: idle ones first, then the lower priority, then the one that
// has least to be moved, then the youngest. The next is chosen only when all that the ladder has
// was tried with the one before, and a sample after that still finds the danger.
//
// A ladder is climbed by samples alone. One measure is under way on a lease at a time, none is
// taken again before its cool-down is over, and one that fails or is refused leads to the next.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

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

void Coordinator::Impl::escalate_all(const Sample& sample) {
  const std::vector<const Account*> accounts = sampled_accounts(sample);
  for (const LeaseId id : leases_on(accounts)) escalate_lease(id, sample.asked_at);
  for (const Account* account : accounts) escalate_for_unmanaged(*account, sample.asked_at);
}

void Coordinator::Impl::escalate_lease(LeaseId id, Instant at) {
  const Lease& lease = *state.find(id);
  if (lease.held() == nullptr) return;
  Observed& seen = observed.at(id);
  const Bytes used = seen.used();
  if (used != seen.unchanged.bytes || seen.unchanged.since == Instant{})
    seen.unchanged = {used, at};
  EscalationState& near = seen.escalation_for(Cause::kLeaseCritical);
  if (seen.pressure_state.level() == Pressure::kCritical) {
    if (!near.since) near.since = at;
    escalate(id, Cause::kLeaseCritical, settings.pressure.on_lease_critical, at);
  } else {
    near = {};
  }
  const bool above = is_sure(seen.escalation_for(Cause::kOverBudget), at);
  EscalationState& danger = seen.escalation_for(Cause::kDeviceCritical);
  danger.note(above && endangers_others(lease), at);
  if (above) escalate(id, Cause::kOverBudget, ladder_above_budget(lease), at);
  if (danger.since) escalate(id, Cause::kDeviceCritical, settings.pressure.on_device_critical, at);
}

bool Coordinator::Impl::endangers_others(const Lease& lease) const {
  return std::ranges::any_of(lease.held()->parts, [&](const Part& part) {
    const auto device = seen_devices.find(part.device);
    return device != seen_devices.end() &&
           device->second.pressure_state.level() == Pressure::kCritical &&
           device->second.measured == Pressure::kCritical;
  });
}

void Coordinator::Impl::escalate(LeaseId id, Cause cause, const Ladder& ladder, Instant at) {
  EscalationState& escalation = observed.at(id).escalation_for(cause);
  escalation.next =
      escalate_from(escalation.next, id, cause, ladder, at - escalation.since.value_or(at));
  // Where it goes on after all that could be done, that is done again, but not before long.
  const bool is_danger = cause != Cause::kLeaseCritical && ladder.size() > 1;
  if (!is_danger || escalation.next < ladder.size() || measuring.contains(id)) return;
  if (!escalation.exhausted) escalation.exhausted = at;
  if (at - *escalation.exhausted >= settings.pressure.cooldown) escalation.begin_again(at);
}

// The rung that is next after those whose time has come.
std::size_t Coordinator::Impl::escalate_from(std::size_t next, LeaseId id, Cause cause,
                                             const Ladder& ladder, Duration lasted) {
  for (; next < ladder.size(); ++next) {
    const LadderStep& ladder_step = ladder[next];
    const Lease& lease = *state.find(id);
    if (ladder_step.after && lasted < *ladder_step.after) break;
    if (ladder_step.measure == Measure::kNotify) {
      notify_of_measure(id, cause, ladder);
      continue;
    }
    if (lease.held() == nullptr || lease.held()->revoked || !lease.held()->claimed) break;
    if (ladder_step.measure != Measure::kKill) {
      if (!can_be_climbed(lease) || lease.measures.under_way() != nullptr) break;
      const bool saves = lease.checkpoints.asked.has_value();
      if (is_harder_than_a_save(ladder_step.measure) && (saves || !may_grant())) break;
    }
    take(id, cause, ladder_step.measure);
  }
  return next;
}

void Coordinator::Impl::notify_of_measure(LeaseId id, Cause cause, const Ladder& ladder) {
  // How near it is to its budget is told by news of its own.
  const bool is_own = cause == Cause::kOverBudget;
  if (!is_own && (cause != Cause::kDeviceCritical || ladder.size() == 1)) return;
  std::string text = observed.at(id).excess;
  if (!is_own) text += ", and others on it lack memory that they were granted";
  const auto harder = std::ranges::find_if(ladder, [](const LadderStep& ladder_step) {
    return is_harder_than_a_save(ladder_step.measure);
  });
  const std::optional<Duration> within = harder != ladder.end() ? harder->after : std::nullopt;
  if (within) {
    text += ": it has " + to_text(*within) + " to use less";
  }
  effects.emplace_back(Say{std::move(text)});
}

// See Note [Who is chosen].
void Coordinator::Impl::escalate_for_unmanaged(const Account& account, Instant at) {
  KnownDevice& device = seen_devices.at(account.id);
  const bool somebody_else = std::ranges::any_of(
      account.entries, [&](const auto& entry) { return observed.at(entry.first).is_above(); });
  const bool is_critical = device.pressure_state.level() == Pressure::kCritical;
  device.for_unmanaged.note(is_critical && device.measured == Pressure::kCritical && !somebody_else,
                            at);
  if (!is_critical) {
    device.next_ladder_step.clear();
    resume_displaced(account);
  }
  const Ladder& ladder = settings.pressure.on_unmanaged;
  if (!device.for_unmanaged.since || ladder.size() == 1) return;
  const Duration lasted = at - *device.for_unmanaged.since;
  if (std::exchange(device.for_unmanaged.next, 1) == 0) {
    effects.emplace_back(Say{"GPU " + std::to_string(account.index) +
                             ": programs without a lease use " + to_text(account.unmanaged) +
                             ", and leases lack memory"});
  }
  if (lasted < ladder[1].after.value_or(Duration{})) return;
  std::optional<LeaseId> victim;
  for (const auto& [id, next] : device.next_ladder_step) {
    if (measuring.contains(id)) return;
    const Lease* lease = state.find(id);
    if (lease != nullptr && can_be_climbed(*lease) && next < ladder.size()) victim = id;
  }
  if (!victim) victim = next_victim(account, device, at);
  if (!victim) return;
  std::size_t& next = device.next_ladder_step.try_emplace(*victim, 1).first->second;
  next = escalate_from(next, *victim, Cause::kUnmanaged, ladder, lasted);
}

std::optional<LeaseId> Coordinator::Impl::next_victim(const Account& account,
                                                      const KnownDevice& device, Instant at) const {
  std::vector<std::tuple<bool, Priority, Bytes, LeaseId>> able;
  for (const auto& [id, entry] : account.entries) {
    const Lease& lease = *state.find(id);
    const Observed& seen = observed.at(id);
    const auto use = seen.use.find(account.id);
    const bool has_any = use != seen.use.end() && use->second.now.value_or(Bytes{}) > Bytes{};
    if (!has_any || !can_be_climbed(lease) || device.next_ladder_step.contains(id)) continue;
    const bool is_idle = lease.held()->frozen || at - seen.unchanged.since >= limits::kIdleAfter;
    able.emplace_back(!is_idle, lease.request.priority, seen.used(), id);
  }
  const auto best = std::ranges::min_element(able, [](const auto& a, const auto& b) {
    const auto& [a_busy, a_priority, a_bytes, a_id] = a;
    const auto& [b_busy, b_priority, b_bytes, b_id] = b;
    return std::tie(a_busy, a_priority, a_bytes, b_id) <
           std::tie(b_busy, b_priority, b_bytes, a_id);
  });
  return best == able.end() ? std::nullopt : std::optional(std::get<LeaseId>(*best));
}

// Of those who made room for unmanaged processes: they wait for what they had, before new requests
// of their priority, as who yielded does.
void Coordinator::Impl::resume_displaced(const Account& account) {
  for (const LeaseId id : std::set(displaced)) {
    const Held* held = state.find(id)->held();
    if (held == nullptr || !held->is_swapped_out() || held->its_suspension().queued ||
        held->pause) {
      displaced.erase(id);
      continue;
    }
    const bool was_here = std::ranges::any_of(
        held->parts, [&](const Part& part) { return part.device == account.id; });
    if (!was_here) continue;
    displaced.erase(id);
    decide(id, ResumeQueued{id});
  }
}

}  // namespace berth::core
