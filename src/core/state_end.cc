// SPDX-License-Identifier: Apache-2.0
// What is kept of a lease that has ended: its view, and what its run tells of its command.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/measures.h"
#include "core/state.h"

namespace berth::core {

// A run that failed for other reasons may have ended before it used what it needs.
void State::learn(const Lease& lease, const LeaseEnded& fact) {
  if (lease.request.command.empty()) return;
  PastRun run;
  for (const Peak& peak : fact.peaks) {
    run.peak = std::max(run.peak, peak.used);
    run.refused |= peak.refused > 0;
  }
  const bool telling = run.refused || (fact.result == EndResult::kOk && run.peak > Bytes{});
  if (telling) runs_.add(lease.user, lease.request.command, run);
}

void State::end(const LeaseEnded& fact, const Record& record) {
  const auto found = leases_.find(fact.id);
  LeaseView view = survivor_view(found->second);
  view.state = LeaseState::kEnded;
  view.flags = {};
  view.result = fact.result;
  view.ended_at = record.wall;
  view.members.clear();
  view.checkpoints.asked.reset();
  close_with_lease(view.measures);
  for (const Peak& peak : fact.peaks) {
    const auto part = std::ranges::find(view.parts, peak.device, &LeasePart::device);
    if (part == view.parts.end()) continue;
    part->peak = peak.used;
    part->refused = peak.refused;
  }
  ended_.push_back(std::move(view));
  if (ended_.size() > limits::kEndedKept) ended_.pop_front();
  leases_.erase(found);
}

}  // namespace berth::core
