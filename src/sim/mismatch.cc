// SPDX-License-Identifier: Apache-2.0
// Contradictions between what an answer says of a lease and what the journal says of it.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "sim/observations.h"
#include "sim/reference_model.h"

namespace berth::sim {
namespace {

using State = ReferenceLease::State;
using Away = ReferenceLease::Away;

LeaseState public_state(const ReferenceLease& lease) {
  switch (lease.state) {
    case State::kWaiting:
      return LeaseState::kWaiting;
    case State::kOffered:
    case State::kClaimed:
      return lease.is_away(Away::kSuspended) || lease.is_away(Away::kSwappingIn)
                 ? LeaseState::kSuspended
                 : LeaseState::kHeld;
    case State::kReleasing:
      return LeaseState::kReleasing;
  }
  CHECK(false);
}

// Its command has ended in a way after which it may be started again by itself.
bool may_come_again(const ReferenceLease& lease) {
  const Request& request = lease.request;
  return lease.members.command_ended &&
         (request.retry_max > 0 || request.on_oom == OnOom::kGrow || request.requeue_grace);
}

}  // namespace

std::string mismatch(const ReferenceLease& said, const LeaseView& view, bool behind) {
  const auto differ = [&](std::string_view what) {
    return fmt::format("{} of lease {} differs: the journal says <{}>", what, said.id.value,
                       said.describe());
  };
  if (said.handle != view.handle || said.user != view.user) return differ("handle or user");
  const bool is_held = view.state == LeaseState::kHeld;
  if (behind) return is_held && !said.holds() ? differ("the grant") : std::string();
  if (public_state(said) != view.state) return differ("the state");
  if (is_held && view.flags.unclaimed != (said.state == State::kOffered))
    return differ("the claim");
  if (said.place.parked != view.flags.parked) return differ("parked");
  if (said.place.on_hold != view.flags.on_hold) return differ("on hold");
  if (said.pause.frozen != view.flags.frozen) return differ("frozen");
  if (said.save.number.has_value() != view.flags.checkpointing) return differ("the save");
  const bool requeues =
      said.requeue.asked.has_value() || (view.flags.requeuing && may_come_again(said));
  if (requeues != view.flags.requeuing) return differ("the requeue");
  if (said.requeue.restarts != view.restarts) return differ("the restarts");
  const auto unanswered =
      std::ranges::count_if(view.messages, [](const Message& message) { return !message.answer; });
  if (said.messages.count() != static_cast<std::size_t>(unanswered) ||
      view.flags.message != (said.messages.count() > 0)) {
    return differ("the messages");
  }
  if (said.members.command != view.command) return differ("the command");
  if (said.members.processes != std::set<Process>(view.members.begin(), view.members.end())) {
    return differ("the members");
  }
  const bool same_parts =
      std::ranges::equal(said.parts, view.parts, [](const Part& part, const LeasePart& shown) {
        return part.device == shown.device && part.budget == shown.granted;
      });
  return same_parts ? std::string() : differ("the budget");
}

// It is not told later than it must come. What it was to take by its eta is told anew for as long
// as it has taken.
std::string check_expected_end(const ReferenceLease& lease, const LeaseView& view, core::Now now) {
  Instant latest =
      std::min(lease.kill_at.value_or(Instant::never()), lease.expires.value_or(Instant::never()));
  if (lease.is_away(ReferenceLease::Away::kNo)) {
    const Request& request = lease.request;
    const Instant began = lease.granted_at() + lease.absence.before;
    if (request.limit) latest = std::min(latest, began + *request.limit);
    const Duration taken = now.instant - began;
    // What its program has told counts instead, and is asked for where it tells it.
    const Duration eta = view.progress ? Duration{} : request.eta.value_or(Duration{});
    if (eta.ns > 0) latest = std::min(latest, now.instant + std::max(eta, taken));
  }
  if (!lease.holds() || latest == Instant::never()) return {};
  const Instant end = view.expected_end
                          ? now.instant + milliseconds(view.expected_end->value - now.wall.value)
                          : Instant::never();
  if (end <= latest + milliseconds(1)) return {};  // Answers have whole milliseconds.
  return fmt::format("lease {} is expected to end {} ms after it must: <{}>", lease.id.value,
                     (end - latest).ns / 1'000'000, lease.describe());
}

}  // namespace berth::sim
