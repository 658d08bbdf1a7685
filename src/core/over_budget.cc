// SPDX-License-Identifier: Apache-2.0
// Detection of leases that use more than their budget, and what they have asked for then.
#include <algorithm>
#include <string>

#include "base/quantity.h"
#include "core/impl.h"

// Note [Over budget, by measurement]
//
// Whatever way a program came to its memory, the driver counts it. A lease is flagged and announced
// as over its budget by the first sample that says so; that harms nobody. What does harm waits
// until it is sure: the excess is above a tolerance (the driver counts in pages, and what it keeps
// for itself differs), and each sample in half a second says so. Then the log has it, and the times
// of its ladder have begun with the first of these samples. One sample within the budget, or one
// that does not tell, begins them anew. Nothing is decided by a clock alone: only a sample that
// still finds the excess takes a measure, so no old figure does, and a daemon that was started anew
// gives the whole time again.

namespace berth::core {
namespace {

struct Excess {
  Bytes used;
  Bytes budget;
};

}  // namespace

void Coordinator::Impl::weigh(LeaseId id, Instant asked_at) {
  const Lease* lease = state.find(id);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  if (held == nullptr || !held->claimed || held->revoked) return;
  Observed& seen = observed.at(id);
  std::optional<Excess> worst;
  for (const Part& part : held->parts) {
    const auto use = seen.use.find(part.device);
    if (use == seen.use.end()) continue;
    const Bytes used = use->second.now.value_or(Bytes{});  // Not told is not above.
    const bool above = used > part.budget + settings.over_budget_tolerance;
    if (above && (!worst || used > worst->used)) worst = Excess{used, part.budget};
  }
  seen.escalation_for(Cause::kOverBudget).note(worst.has_value(), asked_at);
  if (!worst) return;
  seen.excess = text_of(id) + " uses " + to_text(worst->used) + " of a GPU, above its budget of " +
                to_text(worst->budget);
}

Ladder Coordinator::Impl::ladder_above_budget(const Lease& lease) const {
  switch (lease.request.over_budget) {
    case OverBudget::kFail:
      break;
    case OverBudget::kNotify:
      return {{Measure::kNotify}};
    case OverBudget::kKill:
      return {{Measure::kNotify}, {Measure::kKill, settings.over_budget_grace}};
    case OverBudget::kSuspend:
      return settings.pressure.over_budget;
  }
  return {};
}

}  // namespace berth::core
