// SPDX-License-Identifier: Apache-2.0
// Records kept of a lease that has ended: its view, and the use that its run shows for its command.
#include <algorithm>
#include <ranges>
#include <utility>

#include "core/limits.h"
#include "core/measures.h"
#include "core/state.h"

namespace berth::core {
namespace {

// What runs on without its lease may have its memory for days: that is no time of the lease's.
UnixMs ended_at(const Lease& lease, const LeaseEnded& fact, const Record& record) {
  const Releasing* releasing = lease.releasing();
  if (releasing == nullptr || fact.result != EndResult::kDetached) return record.wall;
  const Duration since = std::max(record.at - releasing->since, Duration{});
  return {record.wall.value - since.ns / milliseconds(1).ns};
}

}  // namespace

const LeaseView* State::find_ended(LeaseId id) const {
  // From the youngest, which are asked for most.
  const auto found = std::find_if(past_.ended.rbegin(), past_.ended.rend(),
                                  [id](const LeaseView& view) { return view.id == id; });
  return found == past_.ended.rend() ? nullptr : &*found;
}

// A run that failed for other reasons may have ended before it used what it needs.
void State::learn(const Lease& lease, const LeaseEnded& fact) {
  if (lease.request.command.empty()) return;
  PastRun run;
  for (const Peak& peak : fact.peaks) {
    run.peak = std::max(run.peak, peak.used);
    run.refused |= peak.refused > 0;
  }
  const bool telling = run.refused || (fact.result == EndResult::kOk && run.peak > Bytes{});
  if (telling) past_.runs.add(lease.user, lease.request.command, run);
}

// Nothing of it runs any more, and instants of before mean nothing.
void State::queue_again(Lease& job, Duration waited, Instant at) {
  Waiting waiting;
  if (const Waiting* before = job.waiting()) waiting.hold = before->hold;
  if (job.held() != nullptr) charge_share(job, at, -1);
  if (const Held* was = job.granted(); was != nullptr && was->claimed) ++job.restarts;
  job.retries.kind = EndKind::kPlain;
  job.retries.next.reset();
  job.checkpoint_asked.reset();
  job.messages = {};
  job.waited_before = job.waited_before + waited;
  job.queued_at = at;
  job.supervisor.reset();
  job.state = waiting;
}

// What it is given more after it ran out is none of those that it may fail.
void State::begin_retry(Lease& lease, const Retry& next, const std::optional<ExitStatus>& failed) {
  lease.request.not_before = next.not_before;
  Retries& retries = lease.retries;
  retries.failed = failed;
  if (next.vram) {
    lease.request.vram = *next.vram;
    retries.grown = true;
  } else if (retries.left > 0) {
    --retries.left;
  }
}

// A member has the place of its set in the queue, however late it is asked for.
void State::begin_member(Lease& lease) {
  if (lease.request.members > 0) lease.set = SetProgress{};
  if (!lease.request.member) return;
  const auto found = leases_.find(lease.request.member->set);
  if (found == leases_.end()) return;
  Lease& set = found->second;
  if (!set.set) return;
  SetProgress& progress = *set.set;
  if (progress.begun < set.request.members) ++progress.begun;
  lease.queued_at = set.queued_at;
  lease.queued_sequence = set.queued_sequence;
}

void State::end_member(const SetMember& member, EndResult result) {
  const auto found = leases_.find(member.set);
  if (found == leases_.end()) return;
  Lease& set = found->second;
  if (!set.set) return;
  SetProgress& progress = *set.set;
  if (progress.ended == progress.begun) return;
  ++progress.ended;
  if (result != EndResult::kOk) ++progress.failed;
}

void State::end(const LeaseEnded& fact, const Record& record) {
  const auto found = leases_.find(fact.id);
  LeaseView view = survivor_view(found->second);
  view.state = LeaseState::kEnded;
  view.flags = {};
  view.result = fact.result;
  view.ended_at = ended_at(found->second, fact, record);
  if (fact.by) view.ended_by = fact.by;
  view.members.clear();
  view.messages.clear();
  view.checkpoints.asked.reset();
  close_with_lease(view.measures);
  for (const Peak& peak : fact.peaks) {
    const auto part = std::ranges::find(view.parts, peak.device, &LeasePart::device);
    if (part == view.parts.end()) continue;
    part->peak = peak.used;
    part->refused = peak.refused;
  }
  by_handle_.erase(view.handle);
  keep_ended(std::move(view));
  leases_.erase(found);
}

// Beyond the bound the oldest goes of the user who has most, so that nobody's many push out
// another's few: of n users each keeps limits::kEndedKept / n at least.
void State::keep_ended(LeaseView view) {
  ++past_.ended_of[view.user];
  past_.ended.push_back(std::move(view));
  if (past_.ended.size() <= limits::kEndedKept) return;
  const std::size_t most = std::ranges::max(past_.ended_of | std::views::values);
  const auto oldest = std::ranges::find_if(
      past_.ended, [&](const LeaseView& kept) { return past_.ended_of.at(kept.user) == most; });
  if (--past_.ended_of.at(oldest->user) == 0) past_.ended_of.erase(oldest->user);
  past_.ended.erase(oldest);
}

}  // namespace berth::core
