// SPDX-License-Identifier: Apache-2.0
#include "sim/frozen.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "core/limits.h"

namespace berth::sim {
namespace {

using Kind = Remedy::Kind;

/// Both say it in the same word, but for whom others have passed in turns.
std::string_view word_for(Halt::Reason reason) {
  return reason == Halt::Reason::kTurn ? to_text(WhyView::Reason::kSlices) : to_text(reason);
}

bool is_paused(const Attempt& attempt, LeaseId id) {
  const std::optional<LeaseView> lease = attempt.coordinator().lease(id, attempt.now());
  return lease && lease->halt && lease->halt->reason == Halt::Reason::kPaused;
}

// A lease that has ended, or was told to, goes on for that.
bool is_to_end(const Attempt& attempt, LeaseId id) {
  const std::optional<LeaseView> lease = attempt.coordinator().lease(id, attempt.now());
  return !lease || lease->state == LeaseState::kEnded || lease->state == LeaseState::kReleasing ||
         lease->flags.revoking;
}

// It goes on when its time is over, and not before, whatever else happens.
std::string broken_pause(const Observations& observations, const Attempt& base,
                         const LeaseView& lease, const WhyView& why) {
  if (!lease.pause) return fmt::format("lease {} is paused by nobody", lease.id.value);
  const Pause& pause = *lease.pause;
  if (!pause.by || !observations.of(lease.id).pausers.contains(*pause.by)) {
    return fmt::format("lease {} is not paused by whom it says", lease.id.value);
  }
  if (why.expected_start != pause.until) {
    return fmt::format("lease {} is paused until another time than it says", lease.id.value);
  }
  Attempt attempt(base);
  attempt.settle(lease.id);
  // It could not be, is let go on already, or its mover never answers.
  const std::optional<LeaseView> settled = attempt.coordinator().lease(lease.id, attempt.now());
  if (!is_paused(attempt, lease.id) || !settled || settled->flags.suspending) return {};
  const auto left = [&](UnixMs until) {
    return milliseconds(static_cast<std::int64_t>(until.value) -
                        static_cast<std::int64_t>(base.now().wall.value));
  };
  const Duration long_before = pause.until ? left(*pause.until) + milliseconds(-2) : hours(1);
  if (long_before > Duration{}) attempt.wait_until(base.now().instant + long_before);
  if (is_to_end(attempt, lease.id)) return {};
  if (long_before > Duration{} && !is_paused(attempt, lease.id)) {
    return fmt::format("lease {} goes on before the end of its pause", lease.id.value);
  }
  if (!pause.until) return {};
  const Duration late = std::max(Duration{}, left(*pause.until)) + limits::kYieldAgainAfter;
  attempt.wait_until(base.now().instant + late);
  attempt.settle(lease.id);
  if (!is_paused(attempt, lease.id) || is_to_end(attempt, lease.id)) return {};
  return fmt::format("lease {} is still paused when its pause is over", lease.id.value);
}

// For whom it left, who lives; that one's end is what it waits for.
std::string broken_yield(const Attempt& base, const LeaseView& lease, const Halt& halt,
                         const WhyView& why) {
  const LeaseId whom = halt.lease.value_or(LeaseId{});
  const std::optional<LeaseView> other = base.coordinator().lease(whom, base.now());
  const bool lives = other && other->state != LeaseState::kEnded &&
                     other->state != LeaseState::kReleasing && whom != lease.id;
  if (!lives) {
    return fmt::format("lease {} is to come back when lease {} ends, which has", lease.id.value,
                       whom.value);
  }
  const bool is_it = other->user == halt.user && other->request.name == halt.name &&
                     other->request.priority == halt.priority;
  const bool is_until =
      why.reason != WhyView::Reason::kYields || why.expected_start == other->expected_end;
  if (!is_it || !is_until) {
    return fmt::format("lease {} says of lease {} what is not so", lease.id.value, whom.value);
  }
  Attempt attempt(base);
  if (!attempt.carry_out(Kind::kCancelLease, {whom}, {})) return {};
  const std::optional<LeaseView> after = attempt.coordinator().lease(lease.id, base.now());
  const std::optional<LeaseView> gone = attempt.coordinator().lease(whom, base.now());
  const bool ends = gone && gone->flags.revoking;  // It does not at once.
  if (ends || !after || !after->halt || after->halt->lease != whom) return {};
  return fmt::format("lease {} waits for lease {}, which has ended", lease.id.value, whom.value);
}

// All others have been told to end. Nothing is sure where one of them is on a device that is lost.
bool ends_others(Attempt& attempt, LeaseId id) {
  std::vector<LeaseId> others;
  for (const LeaseView& other : attempt.coordinator().leases(attempt.now())) {
    if (attempt.is_on_lost_device(other.id)) return false;
    const bool ends = other.id != id && other.state != LeaseState::kReleasing;
    if (ends) others.push_back(other.id);
  }
  if (!attempt.carry_out(Kind::kCancelLease, others, {})) return false;
  attempt.wait_until(attempt.now().instant + limits::kYieldAgainAfter);
  attempt.settle(id);
  return true;
}

// Where nothing else is in its way it is back; where nobody tries, it stays away until a user
// lets it go on.
std::string broken_return(const Attempt& base, const LeaseView& lease, const Halt& halt) {
  const bool has_other_plans = lease.flags.revoking || lease.flags.requeuing ||
                               lease.flags.frozen || lease.state == LeaseState::kReleasing;
  Attempt attempt(base);
  attempt.settle(lease.id);
  if (has_other_plans || !ends_others(attempt, lease.id)) return {};
  std::optional<LeaseView> after = attempt.coordinator().lease(lease.id, attempt.now());
  const bool was_tried = halt.reason == Halt::Reason::kNotReturned;
  if (was_tried && (!after || after->halt != halt)) {
    return fmt::format("lease {} could not be brought back, and is all the same", lease.id.value);
  }
  if (was_tried && attempt.resume(lease)) {
    attempt.settle(lease.id);
    after = attempt.coordinator().lease(lease.id, attempt.now());
  }
  const bool is_back = !after || !after->halt || after->halt->since != halt.since;
  if (is_back) return {};                  // It may have left again.
  if (after->flags.suspending) return {};  // Its mover does not answer.
  // What is left of it there, unmanaged processes, or who has not ended yet may take the room that
  // it needs.
  const bool is_alone = attempt.coordinator().leases(attempt.now()).size() == 1;
  if (after->flags.resuming && (!is_alone || !attempt.is_seen_free(*after))) return {};
  return fmt::format("lease {} waits to go on ({}), and does not when all others have ended",
                     lease.id.value, to_text(after->halt->reason));
}

}  // namespace

std::string check_halt(const Observations& observations, const Attempt& base,
                       std::uint64_t number) {
  std::vector<LeaseView> not_running = base.coordinator().leases(base.now());
  std::erase_if(not_running, [](const LeaseView& lease) { return !lease.halt; });
  if (not_running.empty()) return {};
  const LeaseView& lease = not_running[number % not_running.size()];
  const Halt halt = lease.halt.value_or(Halt{});
  const std::optional<WhyView> why = base.coordinator().why(lease.id, base.now());
  // Who runs in turns and is wanted back waits for the next, whatever it left for.
  const bool is_same = why && (to_text(why->reason) == word_for(halt.reason) ||
                               (why->reason == WhyView::Reason::kSlices && lease.flags.resuming &&
                                lease.request.share == Share::kSlice));
  if (!is_same || why->halt != lease.halt) {
    return fmt::format("lease {} does not run ({}), and why says: {}", lease.id.value,
                       to_text(halt.reason), why ? to_text(why->reason) : "nothing");
  }
  std::string broken;
  switch (halt.reason) {
    case Halt::Reason::kPaused:
      return broken_pause(observations, base, lease, *why);
    case Halt::Reason::kMeasure: {
      const bool is_taken = std::ranges::any_of(lease.measures, [&](const MeasureTaken& taken) {
        return taken.measure == Measure::kSuspend && taken.cause == halt.cause;
      });
      return is_taken ? std::string() : fmt::format("lease {} left for no measure", lease.id.value);
    }
    case Halt::Reason::kYields:
      broken = broken_yield(base, lease, halt, *why);
      break;
    default:
      break;
  }
  return broken.empty() ? broken_return(base, lease, halt) : broken;
}

}  // namespace berth::sim
