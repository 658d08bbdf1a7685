// SPDX-License-Identifier: Apache-2.0
#include "cli/run/enforcing.h"

#include <algorithm>
#include <utility>

#include "cli/options.h"
#include "enforce/backend.h"

namespace berth::cli {
namespace {

bool harms(OverBudget measure) {
  return measure == OverBudget::kKill || measure == OverBudget::kSuspend;
}

// Whether the driver tells of each of its devices what processes use there. One that is not known,
// or asleep, is given the benefit of the doubt.
bool can_be_measured(const EnforcementInput& input) {
  return std::ranges::none_of(input.visible, [&](const LeasePart& part) {
    const auto device = std::ranges::find(input.devices, part.device, &DeviceView::id);
    return device != input.devices.end() && device->lists_processes == false;
  });
}

enforce::Availability watchdog(const EnforcementInput& input) {
  enforce::Facts facts;
  facts.driver_lists_processes = can_be_measured(input);
  return enforce::watchdog_availability(facts);
}

EnforcementPlan plan_with_guard(const EnforcementInput& input) {
  GuardPlan guard = plan_guard(input.guard, input.look);
  EnforcementPlan plan{.set = std::move(guard.set), .remark = {}, .refusal = {}};
  if (guard.not_held.empty()) return plan;
  const std::string not_held = "not held to its budget: " + guard.not_held;
  if (input.mode == Enforce::kGuard) {
    plan.refusal = not_held;
  } else {
    plan.remark = not_held + (can_be_measured(input) ? "; what it uses is measured" : "");
  }
  return plan;
}

EnforcementPlan plan_with_mps(const EnforcementInput& input) {
  enforce::Facts facts;
  facts.mps = enforce::look_at_mps(input.mps_pipes);
  const enforce::Availability mps = enforce::mps_availability(facts);
  EnforcementPlan plan;
  if (!mps.available) {
    plan.refusal = "not held to its budget: " + mps.fact + " -> " + mps.cure;
    return plan;
  }
  std::vector<Bytes> budgets;
  budgets.reserve(input.visible.size());
  for (const LeasePart& part : input.visible) budgets.push_back(part.granted);
  plan.set[enforce::kMpsLimit] = enforce::mps_limits(budgets);
  if (input.simulated) plan.remark = "not held to its budget: the simulated driver has no MPS";
  return plan;
}

}  // namespace

EnforcementPlan plan_enforcement(const EnforcementInput& input) {
  switch (input.mode) {
    case Enforce::kAuto:
    case Enforce::kGuard:
      return plan_with_guard(input);
    case Enforce::kMps:
      return plan_with_mps(input);
    case Enforce::kWatchdog: {
      const enforce::Availability found = watchdog(input);
      return {.set = {}, .remark = {}, .refusal = found.available ? "" : found.fact};
    }
    case Enforce::kNone:
      break;
  }
  return {};
}

Result<OverBudget> plan_over_budget(std::optional<OverBudget> said, const config::Config& config,
                                    Enforce mode) {
  if (!said) {
    const OverBudget configured = config.enforce.over_budget;
    const bool contradicts = (mode == Enforce::kNone && harms(configured)) ||
                             (mode == Enforce::kWatchdog && configured == OverBudget::kFail);
    return contradicts ? OverBudget::kNotify : configured;
  }
  if (said == OverBudget::kFail && mode == Enforce::kWatchdog) {
    return wrong(
        "--over-budget fail is what the guard and MPS do; a watchdog can notify, suspend or kill");
  }
  if (harms(*said) && mode == Enforce::kNone) {
    return wrong("--enforce none trusts the command, and --over-budget " +
                 std::string(to_text(*said)) + " does not");
  }
  return *said;
}

}  // namespace berth::cli
