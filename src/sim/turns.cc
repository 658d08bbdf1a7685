// SPDX-License-Identifier: Apache-2.0
#include "sim/turns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "core/limits.h"

namespace berth::sim {
namespace {

bool has_exclusive(const Observations& observations, const DeviceView& device) {
  return std::ranges::any_of(device.leases, [&](LeaseId id) {
    const ReferenceLease* lease = observations.journal.find(id);
    return lease != nullptr && lease->holds() && lease->request.share == Share::kExclusive;
  });
}

bool has_room(const Observations& observations, const Request& request, const DeviceView& device) {
  if (device.lost || device.overcommitted || !device.capacity) return false;
  if (!may_be_on(request, device.id, device.index)) return false;
  if (request.share == Share::kExclusive) {
    return device.leases.empty() && device.grantable > Bytes{} && device.unmanaged &&
           saturating_sub(*device.unmanaged, device.ignored) <=
               observations.settings.exclusive_unmanaged_max;
  }
  return request.vram <= device.grantable && !has_exclusive(observations, device);
}

bool has_room(const Observations& observations, const Request& request,
              const std::vector<DeviceView>& devices) {
  std::vector<std::string> models;
  for (const DeviceView& device : devices) {
    if (has_room(observations, request, device)) models.push_back(device.model);
  }
  return are_enough(request, models);
}

/// As the coordinator tells it, and check_expected_end() bounds it. Answers have whole
/// milliseconds.
std::optional<Instant> end_in_answer(const core::Coordinator& coordinator, LeaseId id,
                                     core::Now now) {
  const std::optional<LeaseView> lease = coordinator.lease(id, now);
  if (!lease || !lease->expected_end) return std::nullopt;
  const auto left = lease->expected_end->value - now.wall.value;
  return now.instant + milliseconds(left + 1);
}

/// In the same step; when it was to end the coordinator does not tell any more.
bool leaves_after_grant(const core::Coordinator& coordinator, const ReferenceLease& lease,
                        core::Now now) {
  const std::optional<LeaseView> view = coordinator.lease(lease.id, now);
  return view && view->flags.suspending && lease.is_away(ReferenceLease::Away::kNo);
}

/// Why `granted` may not go before `first` on the only device there is; empty if it may.
std::string broken_reservation(const Observations& observations,
                               const core::Coordinator& coordinator, const ReferenceLease& first,
                               const ReferenceLease& granted, const DeviceView& device,
                               core::Now now) {
  const Bytes room = saturating_sub(device.capacity.value_or(Bytes{}), device.held_back);
  const bool whole = first.request.share == Share::kExclusive;
  if (!whole && first.request.vram > room) return {};  // It has no reservation here.

  Instant last_end = now.instant;
  Bytes together = first.request.vram;
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (lease.state == ReferenceLease::State::kReleasing) {
      last_end = std::max(last_end, lease.times.of<LeaseReleasing>() + seconds(30));
    }
    if (!lease.holds()) continue;
    if (leaves_after_grant(coordinator, lease, now)) return {};
    const std::optional<Instant> end = end_in_answer(coordinator, id, now);
    if (end && id != granted.id) last_end = std::max(last_end, *end);
    const bool passed =
        lease.place.passed_others && lease.granted_at() >= first.queued_at() && !end;
    if (passed || id == granted.id) together += lease.budget_on(device.id);
  }
  if (!whole && together <= room) return {};
  if (granted.request.limit && now.instant + *granted.request.limit <= last_end) return {};
  return fmt::format(
      "lease {} was granted before lease {}, which waits for {} and has a "
      "reservation",
      granted.id.value, first.id.value, first.request.vram.value);
}

struct Passing {
  const ReferenceLease& ahead;
  bool is_first;  // Nobody waits before it.
  const ReferenceLease& granted;
};

std::string check_passing(const Observations& observations, const Passing& passing,
                          const core::Coordinator& coordinator, core::Now now) {
  const auto& [ahead, is_first, granted] = passing;
  if (ahead.request.device_count > 1 || ahead.request.devices.size() > 1) return {};
  const std::optional<WhyView> why = coordinator.why(ahead.id, now);
  if (!why || !may_be_offered(why->reason)) return {};
  const bool too_long = ahead.place.passed_since &&
                        *ahead.place.passed_since + observations.settings.pass_max <= now.instant;
  for (const DeviceView& device : coordinator.devices(now)) {
    const Bytes room = saturating_sub(device.capacity.value_or(Bytes{}), device.held_back);
    const bool could_use =
        may_be_on(ahead.request, device.id, device.index) && ahead.request.vram <= room;
    if (granted.budget_on(device.id) == Bytes{} || !could_use) continue;
    if (!observations.settings.backfill || too_long) {
      return fmt::format("lease {} passed lease {}, which nobody may pass{}", granted.id.value,
                         ahead.id.value, too_long ? " any more" : "");
    }
    if (is_first && observations.devices.count() == 1) {
      return broken_reservation(observations, coordinator, ahead, granted, device, now);
    }
  }
  return {};
}

}  // namespace

bool may_be_offered(WhyView::Reason reason) {
  return reason != WhyView::Reason::kParked && reason != WhyView::Reason::kOnHold &&
         reason != WhyView::Reason::kAfter && reason != WhyView::Reason::kNotBefore &&
         reason != WhyView::Reason::kNotReconnected && reason != WhyView::Reason::kUserLimit &&
         reason != WhyView::Reason::kAboveLimit && reason != WhyView::Reason::kStopped;
}

std::string Turns::check_idleness(const Observations& observations, const server::Engine& engine,
                                  core::Now now) {
  const core::Coordinator& coordinator = engine.coordinator();
  queue_ = coordinator.queue(now);
  const Idle before = std::exchange(idle_, {});
  if (queue_.empty() || engine.journal_behind()) return {};
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (lease.resizing.growth || lease.absence.wanted_back)
      return {};  // What is free may be kept for it.
  }
  for (const LeaseId id : queue_) {
    const ReferenceLease* lease = observations.journal.find(id);
    if (lease == nullptr || lease->state != ReferenceLease::State::kWaiting) {
      return fmt::format("lease {} is in the queue and does not wait", id.value);
    }
    if (lease->place.is_set_aside()) continue;
    if (!has_room(observations, lease->request, coordinator.devices(now))) return {};
    const std::optional<WhyView> why = coordinator.why(id, now);
    if (!why || !may_be_offered(why->reason)) return {};
    // With `fair` another is next after a while, although nothing has happened: it gets its
    // turn when something does, a sample at the latest.
    idle_ = {.lease = id, .since = before.lease == id ? before.since : now.instant};
    // The clock on the wall may have been set ahead to when it starts.
    const Duration patience = lease->request.not_before ? limits::kStartCheckPeriod
                              : observations.settings.order == Order::kFair ? seconds(10)
                                                                            : Duration{};
    if (now.instant - idle_.since < patience) return {};
    std::string grantable;
    for (const DeviceView& device : coordinator.devices(now)) {
      grantable += fmt::format(" {}", device.grantable.value);
    }
    return fmt::format(
        "lease {} waits for {} and is the next, would fit into one of{}, and is "
        "left waiting ({})",
        id.value, lease->request.vram.value, grantable, to_text(why->reason));
  }
  return {};
}

std::string Turns::check_grant(const Observations& observations, const ReferenceLease& granted,
                               const core::Coordinator& coordinator, core::Now now) const {
  // With the other orders the place of a request changes with time and with who else has asked.
  if (observations.settings.order != Order::kFifo) return {};
  std::vector<LeaseId> queue = queue_;
  // The order may be in force since this event only.
  std::ranges::sort(queue, {}, [&](LeaseId id) {
    const ReferenceLease* lease = observations.journal.find(id);
    return std::pair(lease == nullptr ? 0 : lease->place.sequence, id);
  });
  bool is_first = true;
  for (const LeaseId id : queue) {
    const ReferenceLease* ahead = observations.journal.find(id);
    const bool waits = ahead != nullptr && ahead->state == ReferenceLease::State::kWaiting;
    if (!waits || ahead->place.is_set_aside()) continue;
    if (ahead->place.sequence >= granted.place.sequence) continue;
    std::string broken =
        check_passing(observations, {.ahead = *ahead, .is_first = is_first, .granted = granted},
                      coordinator, now);
    if (!broken.empty()) return broken;
    is_first = false;
  }
  return {};
}

}  // namespace berth::sim
