// SPDX-License-Identifier: Apache-2.0
#include "sim/turns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace berth::sim {
namespace {

bool may_use(const Request& request, const DeviceView& device) {
  return request.devices.empty() ||
         std::ranges::any_of(request.devices, [&](const DeviceName& name) {
           const auto* id = std::get_if<DeviceId>(&name);
           return id != nullptr ? *id == device.id : std::get<std::uint32_t>(name) == device.index;
         });
}

bool has_exclusive(const Evidence& evidence, const DeviceView& device) {
  return std::ranges::any_of(device.leases, [&](LeaseId id) {
    const ShadowLease* lease = evidence.journal.find(id);
    return lease != nullptr && lease->holds() && lease->request.share == Share::kExclusive;
  });
}

bool has_room(const Evidence& evidence, const Request& request, const DeviceView& device) {
  if (device.lost || device.overcommitted || !device.capacity || !may_use(request, device)) {
    return false;
  }
  if (request.share == Share::kExclusive) {
    return device.leases.empty() && device.grantable > Bytes{} && device.external &&
           saturating_sub(*device.external, device.ignored) <=
               evidence.settings.exclusive_external_max;
  }
  return request.vram <= device.grantable && !has_exclusive(evidence, device);
}

bool has_room(const Evidence& evidence, const Request& request,
              const std::vector<DeviceView>& devices) {
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  const bool any_model = request.mixed || !request.devices.empty();
  std::map<std::string, std::size_t> able;
  for (const DeviceView& device : devices) {
    if (!has_room(evidence, request, device)) continue;
    if (++able[any_model ? std::string() : device.model] >= count) return true;
  }
  return false;
}

Instant doubled(Instant from, Duration expected, Instant now) {
  while (from + expected <= now) expected = expected + expected;
  return from + expected;
}

/// Start + min(limit, eta), or what its program has told instead of the eta; what has passed
/// doubles.
std::optional<Instant> expected_end(const Evidence& evidence, const ShadowLease& lease,
                                    Instant now) {
  std::optional<Instant> end = lease.kill_at;
  const auto sooner = [&](Instant at) { end = std::min(end.value_or(at), at); };
  if (lease.expires) sooner(*lease.expires);
  if (lease.away != ShadowLease::Away::kNo) return end;
  const Instant began = lease.granted_at + lease.away_before;
  if (lease.request.limit) sooner(began + *lease.request.limit);
  if (const auto& told = evidence.of(lease.id).told_end) {
    sooner(doubled(std::max(told->at, lease.runs_since), told->left, now));
  } else if (lease.request.eta && lease.request.eta->ns > 0) {
    sooner(doubled(began, *lease.request.eta, now));
  }
  return end;
}

/// Why `granted` may not go before `first` on the only device there is; empty if it may.
std::string broken_reservation(const Evidence& evidence, const ShadowLease& first,
                               const ShadowLease& granted, const DeviceView& device,
                               core::Now now) {
  const Bytes room = saturating_sub(device.capacity.value_or(Bytes{}), device.held_back);
  const bool whole = first.request.share == Share::kExclusive;
  if (!whole && first.request.vram > room) return {};  // It has no reservation here.

  Instant last_end = now.instant;
  Bytes together = first.request.vram;
  for (const auto& [id, lease] : evidence.journal.leases()) {
    if (lease.state == ShadowLease::State::kReleasing && lease.releasing_since) {
      last_end = std::max(last_end, *lease.releasing_since + seconds(30));
    }
    if (!lease.holds()) continue;
    const std::optional<Instant> end = expected_end(evidence, lease, now.instant);
    if (end && id != granted.id) last_end = std::max(last_end, *end);
    const bool passed = lease.passed_others && lease.granted_at >= first.queued_at && !end;
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
  const ShadowLease& ahead;
  bool is_first;  // Nobody waits before it.
  const ShadowLease& granted;
};

std::string broken_by_passing(const Evidence& evidence, const Passing& passing,
                              const core::Coordinator& coordinator, core::Now now) {
  const auto& [ahead, is_first, granted] = passing;
  if (ahead.request.device_count > 1 || ahead.request.devices.size() > 1) return {};
  const std::optional<WhyView> why = coordinator.why(ahead.id, now);
  if (!why || !may_be_offered(why->reason)) return {};
  const bool too_long =
      ahead.passed_since && *ahead.passed_since + evidence.settings.pass_max <= now.instant;
  for (const DeviceView& device : coordinator.devices(now)) {
    const Bytes room = saturating_sub(device.capacity.value_or(Bytes{}), device.held_back);
    const bool could_use = may_use(ahead.request, device) && ahead.request.vram <= room;
    if (granted.budget_on(device.id) == Bytes{} || !could_use) continue;
    if (!evidence.settings.backfill || too_long) {
      return fmt::format("lease {} passed lease {}, which nobody may pass{}", granted.id.value,
                         ahead.id.value, too_long ? " any more" : "");
    }
    if (is_first && evidence.devices.count() == 1) {
      return broken_reservation(evidence, ahead, granted, device, now);
    }
  }
  return {};
}

}  // namespace

bool may_be_offered(WhyView::Reason reason) {
  return reason != WhyView::Reason::kParked && reason != WhyView::Reason::kNotReconnected &&
         reason != WhyView::Reason::kUserLimit && reason != WhyView::Reason::kAboveLimit &&
         reason != WhyView::Reason::kStopped;
}

std::string Turns::broken_by_idleness(const Evidence& evidence, const server::Engine& engine,
                                      core::Now now) {
  const core::Coordinator& coordinator = engine.coordinator();
  queue_ = coordinator.queue(now);
  const Idle before = std::exchange(idle_, {});
  if (queue_.empty() || engine.journal_behind()) return {};
  for (const auto& [id, lease] : evidence.journal.leases()) {
    if (lease.growing || lease.wanted_back) return {};  // What is free may be kept for it.
  }
  for (const LeaseId id : queue_) {
    const ShadowLease* lease = evidence.journal.find(id);
    if (lease == nullptr || lease->state != ShadowLease::State::kWaiting) {
      return fmt::format("lease {} is in the queue and does not wait", id.value);
    }
    if (lease->parked) continue;
    if (!has_room(evidence, lease->request, coordinator.devices(now))) return {};
    const std::optional<WhyView> why = coordinator.why(id, now);
    if (!why || !may_be_offered(why->reason)) return {};
    // With `fair` somebody else is next after a while, although nothing has happened: he gets his
    // turn when something does, a sample at the latest.
    idle_ = {.lease = id, .since = before.lease == id ? before.since : now.instant};
    const Duration patience =
        evidence.settings.order == core::Order::kFair ? seconds(10) : Duration{};
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

std::string Turns::broken_by_grant(const Evidence& evidence, const ShadowLease& granted,
                                   const core::Coordinator& coordinator, core::Now now) const {
  // With the other orders the place of a request changes with time and with who else has asked.
  if (evidence.settings.order != core::Order::kFifo) return {};
  std::vector<LeaseId> queue = queue_;
  // The order may be in force since this event only.
  std::ranges::sort(queue, {}, [&](LeaseId id) {
    const ShadowLease* lease = evidence.journal.find(id);
    return std::pair(lease == nullptr ? Instant{} : lease->queued_at, id);
  });
  bool is_first = true;
  for (const LeaseId id : queue) {
    const ShadowLease* ahead = evidence.journal.find(id);
    const bool waits = ahead != nullptr && ahead->state == ShadowLease::State::kWaiting;
    if (!waits || ahead->parked || ahead->queued_at >= granted.queued_at) continue;
    std::string broken = broken_by_passing(
        evidence, {.ahead = *ahead, .is_first = is_first, .granted = granted}, coordinator, now);
    if (!broken.empty()) return broken;
    is_first = false;
  }
  return {};
}

}  // namespace berth::sim
