// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include <string>

#include "base/quantity.h"
#include "model/set_member.h"

namespace berth::core {

bool FailureRows::ended(LeaseId set, bool well, Instant now, const BreakerSettings& settings) {
  if (well || settings.failures == 0) {
    forget(set);
    return false;
  }
  std::deque<Instant>& row = rows_[set];
  row.push_back(now);
  while (row.size() > settings.failures) row.pop_front();
  const bool is_full = row.size() == settings.failures;
  if (!is_full || now - row.front() > settings.within) return false;
  forget(set);
  return true;
}

// Ends that nobody chose: what is cancelled or at its limit says nothing of the next member.
void Breaker::ended(const Lease& lease, EndResult result) {
  if (!lease.request.member) return;
  const bool well = result == EndResult::kOk;
  const bool failed = result == EndResult::kFailed || result == EndResult::kKilled ||
                      result == EndResult::kOverBudget;
  const LeaseId id = lease.request.member->set;
  const Lease* set = core_->state().find(id);
  const bool begins_more = set != nullptr && set->waiting() != nullptr && !set->waiting()->hold;
  if (!begins_more || (!well && !failed)) return;
  const BreakerSettings& settings = core_->settings().breaker;
  if (!rows_.ended(id, well, core_->now().instant, settings)) return;
  const std::string reason =
      std::to_string(settings.failures) + " attempts of its jobs in a row have failed within " +
      to_text(settings.within) + ", the last that of " + to_text(*lease.request.member);
  core_->decide(id, RequestOnHold{.id = id, .on_hold = true, .reason = reason});
  core_->look_again();
  core_->say("set " + to_text(id) + " is put on hold: " + reason + " (berth hold --off " +
             to_text(id) + ")");
}

}  // namespace berth::core
