// SPDX-License-Identifier: Apache-2.0
// Deadlines: what has to happen to a lease, and by when, a line for each.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/limits.h"
#include "sim/observations.h"

namespace berth::sim {
namespace {

using State = ReferenceLease::State;
using Away = ReferenceLease::Away;

// A timer may be late by as much, and what it starts takes as long.
constexpr Duration kSlack = milliseconds(20);
constexpr Duration kDyingTakes = milliseconds(100);

/// The first that should have happened before a moment, and has not.
class Overdue {
 public:
  explicit Overdue(Instant moment) : moment_(moment) {}

  void due(std::optional<Instant> at, std::string_view what) {
    if (what_.empty() && at && *at < moment_) what_ = what;
  }
  std::string_view what() const { return what_; }

 private:
  Instant moment_;
  std::string_view what_;
};

void note_waiting(const Observations& observations, const ReferenceLease& lease, Overdue& all) {
  if (lease.state == State::kOffered) {
    const Instant seen =
        std::max({lease.granted_at(), observations.daemon_since + limits::kReconnectWithin,
                  observations.of(lease.id).reconnected_at});
    all.due(seen + observations.claim_within_max, "the lapse of an offer");
  } else if (lease.requeue.restarts == 0 && !lease.place.parked && lease.request.wait_max) {
    // It may have been over while it was offered, and its user put it on hold.
    const Instant over = lease.queued_at() + *lease.request.wait_max;
    all.due(std::max(over, lease.times.of<OfferLapsed>()), "the end of its wait");
  }
}

// A daemon that comes late does at once what is due.
void note_claimed(const Observations& observations, const ReferenceLease& lease, Overdue& all) {
  const Instant since = observations.daemon_since;
  const auto& [restarts, asked, stop_at] = lease.requeue;
  const auto& command = lease.members.command;
  const bool lives = command && observations.processes.alive(*command);
  if (lease.resizing.growth) all.due(lease.resizing.growth->until, "the end of a growth's wait");
  if (asked && !stop_at && !lease.save.number) {
    const Instant told =
        std::max({lease.times.of<RequeueAsked>(), lease.times.of<CheckpointEnded>(), since});
    all.due(told + limits::kReconnectWithin + limits::kRequeueHeardWithin,
            "the stop, or the word that it is not requeued");
  }
  if (lives && stop_at) {
    const Instant killed = std::max(*stop_at + limits::kRequeueMargin, since);
    all.due(killed + kDyingTakes, "the end of a stop");
  }
  if (lease.kill_at) {
    if (lives) all.due(std::max(*lease.kill_at, since) + kDyingTakes, "SIGKILL");
    return;
  }
  all.due(lease.expires, "the end by its ttl");
  if (lease.is_away(Away::kSuspended) && !lease.pause.frozen && lease.pause.until) {
    all.due(std::max(*lease.pause.until, lease.stands_since()), "the end of its pause");
  }
  if (!lease.request.limit || stop_at || !lease.is_away(Away::kNo)) return;
  // Its limit holds since then. A daemon that was away may have let it be claimed after it.
  const Instant from = std::max({lease.times.of<LeaseClaimed>(), lease.times.of<LeaseResumed>(),
                                 lease.times.of<RequeueDropped>()});
  const Duration more = observations.claim_within_max + lease.absence.before;
  all.due(std::max(from, lease.granted_at() + *lease.request.limit + more), "the end by its limit");
}

}  // namespace

std::string check_delay(const Observations& observations, core::Now now) {
  // A daemon that has just come, or could not write, has had no time to see to it.
  if (observations.daemon_since + kSlack > now.instant) return {};
  if (observations.is_behind(now.instant)) return {};
  for (const auto& [id, lease] : observations.journal.leases()) {
    Overdue all({now.instant.ns - kSlack.ns});
    if (lease.state == State::kClaimed) {
      note_claimed(observations, lease, all);
    } else if (lease.state == State::kReleasing) {
      all.due(std::max({lease.times.of<LeaseReleasing>() + limits::kReleasingMax,
                        lease.kill_at.value_or(Instant{}),
                        lease.requeue.stop_at.value_or(Instant{}) + limits::kRequeueMargin}),
              "the end of its releasing");
    } else {
      note_waiting(observations, lease, all);
    }
    all.due(measure_due(observations, lease), "the end of a measure");
    all.due(lease.messages.due(), "the end of a message");
    if (const auto& way = lease.request.checkpoint; way && lease.save.number) {
      all.due(lease.times.of<CheckpointAsked>() + way->grace + limits::kCheckpointMargin,
              "the end of its save");
    }
    if (all.what().empty()) continue;
    return fmt::format("{} is overdue: <{}>", all.what(), lease.describe());
  }
  return {};
}

}  // namespace berth::sim
