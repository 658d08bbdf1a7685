// SPDX-License-Identifier: Apache-2.0
// What becomes of a lease whose processes use more than its budget.
#include <algorithm>
#include <string>

#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

// Note [Over budget, by measurement]
//
// Whatever way a program came to its memory, the driver counts it. A lease is flagged and announced
// as over its budget by the first sample that says so; that harms nobody. What does harm waits
// until it is sure: the excess is above a tolerance (the driver counts in pages, and what it keeps
// for itself differs), and each sample in half a second says so. Then the log has it, and the grace
// of `kill` has begun with the first of these samples. One sample within the budget, or one that
// does not tell, ends the matter. Nothing is decided by a clock alone: only a sample that still
// finds the excess after the grace ends the lease, so no old figure does, and a daemon that was
// started anew gives the whole grace again.

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
  const OverBudget measure = lease->request.over_budget;
  if (held == nullptr || !held->claimed || held->revoked || measure == OverBudget::kFail) return;
  Observed& seen = observed.at(id);
  std::optional<Excess> worst;
  for (const Part& part : held->parts) {
    const auto use = seen.use.find(part.device);
    if (use == seen.use.end()) continue;
    const Bytes used = use->second.now.value_or(Bytes{});  // Not told is not above.
    const bool above = used > part.budget + settings.over_budget_tolerance;
    if (above && (!worst || used > worst->used)) worst = Excess{used, part.budget};
  }
  if (!worst) {
    seen.excess_since.reset();
    seen.excess_told = false;
    return;
  }
  if (!seen.excess_since) seen.excess_since = asked_at;
  const Duration lasted = asked_at - *seen.excess_since;
  if (lasted < limits::kOverBudgetSure) return;
  const bool ends = measure == OverBudget::kKill;
  const std::string fact = text_of(id) + " uses " + to_text(worst->used) +
                           " of a GPU, above its budget of " + to_text(worst->budget);
  if (!seen.excess_told) {
    seen.excess_told = true;
    const std::string grace = to_text(settings.over_budget_grace);
    effects.emplace_back(Say{fact + (ends ? ": it has " + grace + " to use less" : "")});
  }
  if (!ends || lasted < settings.over_budget_grace) return;
  effects.emplace_back(Say{fact + ": it is ended for that"});
  revoke(id, EndResult::kOverBudget);
}

}  // namespace berth::core
