// SPDX-License-Identifier: Apache-2.0
#include "sim/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "core/effect.h"
#include "model/record.h"
#include "sim/attempt.h"
#include "sim/frozen.h"
#include "sim/turns.h"

namespace berth::sim {
namespace {

using Kind = Remedy::Kind;

bool helps(const Attempt& base, const LeaseView& waiter, const Remedy& remedy) {
  Attempt attempt(base);
  if (remedy.kind == Kind::kAskLess || remedy.kind == Kind::kOtherDevice) {
    Request request = waiter.request;
    if (remedy.kind == Kind::kAskLess) {
      request.vram = remedy.bytes;
    } else {
      request.device_count = static_cast<std::uint32_t>(request.devices.size());
      request.devices.clear();
    }
    const std::optional<LeaseId> id = attempt.ask_instead(waiter, request);
    return id && attempt.has_started(*id);
  }
  std::vector<LeaseId> leases = remedy.also;
  leases.insert(leases.begin(), remedy.lease);
  if (std::ranges::any_of(leases, [&](LeaseId id) { return base.is_on_lost_device(id); })) {
    return true;
  }
  return attempt.carry_out(remedy.kind, leases, remedy.bytes) && attempt.has_started(waiter.id);
}

std::string text_of(const Remedy& remedy) {
  if (remedy.lease == LeaseId{}) return std::string(to_text(remedy.kind));
  std::string text = fmt::format("{} of lease {}", to_text(remedy.kind), remedy.lease.value);
  for (const LeaseId other : remedy.also) text += fmt::format(" and {}", other.value);
  return text;
}

// With `fair` who is next changes when another user, or another session, has less.
bool keeps_order(const Observations& observations, const Attempt& base, const LeaseView& waiter) {
  if (observations.settings.order != Order::kFair) return true;
  return std::ranges::all_of(base.coordinator().queue(base.now()), [&](LeaseId id) {
    const std::optional<LeaseView> other = base.coordinator().lease(id, base.now());
    return other && other->user == waiter.user && other->request.session == waiter.request.session;
  });
}

// Until then it holds what it does, or nothing: a lease that moves may end up either way.
bool stands_until_its_end(const LeaseView& lease) {
  switch (lease.state) {
    case LeaseState::kWaiting:
      return true;
    case LeaseState::kHeld:
      return lease.flags == LeaseFlags{};
    case LeaseState::kReleasing:
      return !lease.requeue;
    default:
      return false;
  }
}

// Programs that outlive their lease and were told to end do so, or are killed. False: that cannot
// be tried.
bool end_by(UnixMs start, Attempt& attempt, const WhyView& why) {
  std::vector<LeaseId> ending;
  for (const Holder& holder : why.holders) {
    const std::optional<LeaseView> lease = attempt.coordinator().lease(holder.lease, attempt.now());
    const bool is_told = lease && lease->state == LeaseState::kReleasing && lease->flags.revoking;
    if (is_told && holder.expected_end && *holder.expected_end <= start) {
      ending.push_back(holder.lease);
    }
  }
  return ending.empty() || attempt.carry_out(Kind::kEndPrograms, ending, {});
}

// It does, or others of its user pass it on other devices meanwhile and use up what that may have:
// then all others may pass it, too.
bool starts_or_is_bounded(Attempt& attempt, LeaseId waiter) {
  if (attempt.has_started(waiter)) return true;
  const std::optional<WhyView> why = attempt.coordinator().why(waiter, attempt.now());
  return why && why->reason == WhyView::Reason::kUserLimit;
}

// Whose end is told as when it starts. Nobody is before it in any way: else room may be kept. Of
// leases that have ended the dead leave, and programs run on.
std::string broken_start(const Attempt& base, const LeaseView& waiter, const WhyView& why) {
  if (!why.expected_start || why.ahead_count > 0 || !may_be_offered(why.reason)) return {};
  const bool is_named = std::ranges::any_of(
      why.holders, [&](const Holder& holder) { return holder.expected_end == why.expected_start; });
  if (!is_named || waiter.request.share != Share::kBudget) return {};
  const bool stands =
      std::ranges::all_of(base.coordinator().leases(base.now()), [&](const LeaseView& lease) {
        const bool is_lost =
            lease.state == LeaseState::kReleasing && base.is_on_lost_device(lease.id);
        return stands_until_its_end(lease) && !is_lost;
      });
  if (!stands) return {};
  Attempt attempt(base);
  attempt.dead_leave();
  if (starts_or_is_bounded(attempt, waiter.id)) return {};
  if (!end_by(*why.expected_start, attempt, why)) return {};
  if (starts_or_is_bounded(attempt, waiter.id)) return {};
  // What nobody can tell whose it is keeps one from its end for a while.
  const bool is_kept = std::ranges::any_of(why.holders, [&](const Holder& holder) {
    const std::optional<LeaseView> left = attempt.coordinator().lease(holder.lease, attempt.now());
    return left && left->state == LeaseState::kReleasing && !holder.has_ended;
  });
  if (is_kept) return {};
  for (std::size_t i = 0; i <= base.coordinator().queue(base.now()).size(); ++i) {
    std::vector<LeaseId> ending;
    for (const LeaseView& lease : attempt.coordinator().leases(attempt.now())) {
      if (lease.state != LeaseState::kHeld || base.is_on_lost_device(lease.id)) continue;
      // A lease that was granted something since has passed it, while another leaves.
      const std::optional<LeaseView> before = base.coordinator().lease(lease.id, base.now());
      const bool passed = before && before->parts.empty();
      const std::optional<UnixMs> end = lease.expected_end;
      if (end && (passed || *end <= *why.expected_start)) ending.push_back(lease.id);
    }
    if (!attempt.carry_out(Kind::kCancelLease, ending, {})) return {};
    if (starts_or_is_bounded(attempt, waiter.id)) return {};
  }
  return fmt::format("lease {} was to start when others end by then, and does not",
                     waiter.id.value);
}

// Where nobody is ahead nothing but leases and unmanaged processes keeps it waiting; of those
// behind it some may pass while the last are on their way out, and end as well.
std::string broken_place(const Attempt& base, const LeaseView& waiter, const WhyView& why) {
  using Reason = WhyView::Reason;
  const bool by_leases = why.reason == Reason::kMemory || why.reason == Reason::kExclusive ||
                         why.reason == Reason::kTurn || why.reason == Reason::kSlices;
  if (why.ahead_count > 0 || !by_leases) return {};
  Attempt attempt(base);
  for (std::size_t i = 0; i <= base.coordinator().queue(base.now()).size(); ++i) {
    std::vector<LeaseId> all;
    for (const LeaseView& lease : attempt.coordinator().leases(attempt.now())) {
      if (lease.state == LeaseState::kWaiting || lease.state == LeaseState::kReleasing) continue;
      if (attempt.is_on_lost_device(lease.id)) return {};
      all.push_back(lease.id);
    }
    if (!attempt.carry_out(Kind::kCancelLease, all, {})) return {};
    if (attempt.has_started(waiter.id)) return {};
  }
  // Of those that had ended before, memory may not be free yet.
  const std::vector<LeaseView> left = attempt.coordinator().leases(attempt.now());
  const bool is_free = std::ranges::none_of(
      left, [](const LeaseView& lease) { return lease.state == LeaseState::kReleasing; });
  const std::optional<WhyView> after = attempt.coordinator().why(waiter.id, attempt.now());
  if (!is_free || !after || after->ahead_count > 0 || after->reason == Reason::kUnmanaged) {
    return {};
  }
  return fmt::format("nobody is ahead of lease {}, and it waits when all leases have ended ({})",
                     waiter.id.value, to_text(after->reason));
}

std::string broken_wait(const Observations& observations, const Attempt& base,
                        std::uint64_t number) {
  const std::vector<LeaseId> queue = base.coordinator().queue(base.now());
  if (queue.empty()) return {};
  const LeaseId which = queue[number % queue.size()];
  const std::optional<LeaseView> waiter = base.coordinator().lease(which, base.now());
  if (!waiter || waiter->state != LeaseState::kWaiting) return {};
  for (const Remedy& remedy : base.coordinator().remedies(which, base.now())) {
    if (helps(base, *waiter, remedy)) continue;
    return fmt::format("{} was proposed to lease {}, which does not start by it", text_of(remedy),
                       which.value);
  }
  const std::optional<WhyView> why = base.coordinator().why(which, base.now());
  if (!why) return {};
  std::string broken = broken_place(base, *waiter, *why);
  if (broken.empty() && keeps_order(observations, base, *waiter)) {
    broken = broken_start(base, *waiter, *why);
  }
  return broken;
}

std::string broken_advice(const Observations& observations, const Attempt& base,
                          std::uint64_t number) {
  std::string broken = broken_wait(observations, base, number);
  return broken.empty() ? check_halt(observations, base, number) : broken;
}

}  // namespace

std::string check_advice(const Observations& observations, const Question& question) {
  Attempt base(observations, question.coordinator, question.now);
  base.sample();
  return broken_advice(observations, base, question.number);
}

std::string check_restart(const Observations& observations, const Question& question) {
  Attempt base(observations, question.coordinator, question.now);
  base.recovers();
  base.sample();
  return broken_advice(observations, base, question.number);
}

std::string check_waiting(const Question& question) {
  for (const core::Effect& effect : question.coordinator.copy().step(question.now, core::Woke{})) {
    const auto* append = std::get_if<core::Append>(&effect);
    if (append == nullptr) continue;
    return fmt::format("{} could be decided at once, and waits for another event",
                       name_of(append->record.fact));
  }
  return {};
}

}  // namespace berth::sim
