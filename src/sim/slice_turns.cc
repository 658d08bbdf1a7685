// SPDX-License-Identifier: Apache-2.0
// Turns of leases that share a device in turns: none ends too soon or for nobody, and none goes on
// for ever while others wait for theirs.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/turns.h"

namespace berth::sim {
namespace {

using Away = ReferenceLease::Away;

// To ask the driver, to be told, and to come back from a restart.
constexpr Duration kPatience = seconds(2);
constexpr Duration kAskedAgainAfter = seconds(61);

bool is_slice(const ReferenceLease& lease) {
  return lease.request.share == Share::kSlice;
}

bool is_on(const ReferenceLease& lease, DeviceId device) {
  return std::ranges::any_of(lease.parts, [&](const Part& part) { return part.device == device; });
}

bool waits_for_turn(const ReferenceLease& lease, const DeviceView& device) {
  if (!is_slice(lease) || lease.pause.frozen || lease.kill_at) return false;
  if (lease.state == ReferenceLease::State::kWaiting)
    return may_be_on(lease.request, device.id, device.index);
  return lease.holds() && lease.is_away(Away::kSuspended) && lease.absence.wanted_back &&
         is_on(lease, device.id);
}

/// At most: as sampled before it left, or as it was when it could take no more.
Bytes need_of(const Observations& observations, const ReferenceLease& lease) {
  if (lease.parts.empty()) return lease.request.vram;
  const Part& part = lease.parts.front();
  const auto index = observations.devices.index_of(part.device);
  const Bytes away = index ? observations.devices.away_of(lease.handle, *index) : Bytes{};
  return std::max({part.budget, lease.absence.used, away});
}

/// It could not be moved, and is not asked again yet.
bool was_tried(const ReferenceLease& lease, core::Now now) {
  const Instant undone_at = lease.absence.undone_at;
  return undone_at.ns > 0 && undone_at + kAskedAgainAfter > now.instant;
}

/// What it has comes free when its turn ends, and it may end.
bool is_over(const Observations& observations, const ReferenceLease& lease, core::Now now) {
  const ReferenceLease::Members& members = lease.members;
  const bool lives = (members.command && !members.command_ended &&
                      observations.processes.alive(*members.command)) ||
                     std::ranges::any_of(members.processes, [&](const Process& one) {
                       return observations.processes.alive(one);
                     });
  const bool may = lease.state == ReferenceLease::State::kClaimed && lives &&
                   lease.is_away(Away::kNo) && !lease.kill_at && !lease.requeue.asked &&
                   !lease.save.number && !lease.pause.frozen;
  const bool tried = was_tried(lease, now);
  return may && !tried && lease.runs_since() + observations.settings.turns.least <= now.instant;
}

/// What stays on the device when those slices have left it whose turns are over; absent while
/// a lease there comes, goes, has gone unseen or grows, or has it whole: it has all of it then,
/// whatever it is charged.
std::optional<Bytes> staying_on(const Observations& observations, const DeviceView& device,
                                core::Now now) {
  Bytes staying = device.charged;
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (!is_on(lease, device.id)) continue;
    if (lease.resizing.growth || lease.state == ReferenceLease::State::kReleasing)
      return std::nullopt;
    if (lease.is_moving()) return std::nullopt;
    const bool gone = lease.is_away(Away::kSuspended);
    if (gone && lease.stands_since() >= observations.last_asked_at) return std::nullopt;
    const bool whole = lease.request.share == Share::kExclusive;
    if (whole && !gone) return std::nullopt;
    if (!is_slice(lease) || !is_over(observations, lease, now)) continue;
    staying = saturating_sub(staying, lease.budget_on(device.id));
  }
  return staying;
}

/// Of those who wait for a turn there, and could be there at all.
Bytes greatest_need(const Observations& observations, const DeviceView& device) {
  const Bytes room = saturating_sub(device.capacity.value_or(Bytes{}), device.held_back);
  Bytes greatest;
  for (const auto& [id, lease] : observations.journal.leases()) {
    const bool could_be = waits_for_turn(lease, device) && need_of(observations, lease) <= room;
    if (could_be) greatest = std::max(greatest, need_of(observations, lease));
  }
  return greatest;
}

/// Who may have its first turn there: nobody who waits for anything else, or is only expected back,
/// stands before it in the queue, and nothing is kept for one. Nobody while any lease moves: a turn
/// may begin on another device then.
const ReferenceLease* who_may_begin(const Observations& observations,
                                    const core::Coordinator& coordinator, const DeviceView& device,
                                    core::Now now) {
  const bool moves = std::ranges::any_of(observations.journal.leases(), [](const auto& entry) {
    const ReferenceLease& lease = entry.second;
    // One that was told to end has no more turns, and returns as others do, if it has the time.
    const bool takes_turns = is_slice(lease) && !lease.kill_at;
    return lease.is_moving() ||
           (!takes_turns && (lease.resizing.growth || lease.absence.wanted_back));
  });
  if (moves) return nullptr;
  for (const LeaseId id : coordinator.queue(now)) {
    const ReferenceLease* lease = observations.journal.find(id);
    if (lease == nullptr || lease->place.is_set_aside()) continue;
    const std::optional<WhyView> why = coordinator.why(id, now);
    const bool is_passed = why && (why->reason == WhyView::Reason::kUserLimit ||
                                   why->reason == WhyView::Reason::kAboveLimit);
    if (is_passed) continue;
    const bool may = is_slice(*lease) && lease->state == ReferenceLease::State::kWaiting && why &&
                     may_be_offered(why->reason);
    if (!may) return nullptr;
    if (may_be_on(lease->request, device.id, device.index)) return lease;
  }
  return nullptr;
}

/// A lease that waits for a turn on the device, the first or the next, where there would be room
/// for the one of all of them that is next, if those left whose turns are over.
const ReferenceLease* whose_turn_it_is(const Observations& observations,
                                       const core::Coordinator& coordinator,
                                       const DeviceView& device, core::Now now) {
  if (device.lost || device.overcommitted || device.asleep || !device.capacity) return nullptr;
  const std::optional<Bytes> staying = staying_on(observations, device, now);
  const Bytes greatest = greatest_need(observations, device);
  if (!staying || *staying + device.held_back + greatest > *device.capacity) return nullptr;
  const auto may = [&](const ReferenceLease& lease) {
    return waits_for_turn(lease, device) && need_of(observations, lease) <= greatest;
  };
  for (const auto& [id, lease] : observations.journal.leases()) {
    const bool tried = was_tried(lease, now);
    if (lease.state == ReferenceLease::State::kClaimed && !tried && may(lease)) return &lease;
  }
  const ReferenceLease* first = who_may_begin(observations, coordinator, device, now);
  return first != nullptr && may(*first) ? first : nullptr;
}

}  // namespace

std::string Turns::check_end_of_turn(const Observations& observations, const ReferenceLease& lease,
                                     const core::Coordinator& coordinator, core::Now now) {
  if (lease.runs_since() + observations.settings.turns.least > now.instant) {
    return fmt::format("the turn of lease {} ended after {} ms, before the least of {}",
                       lease.id.value, (now.instant - lease.runs_since()).ns / 1'000'000,
                       observations.settings.turns.least.ns / 1'000'000);
  }
  for (const DeviceView& device : coordinator.devices(now)) {
    if (!is_on(lease, device.id)) continue;
    const bool needed = std::ranges::any_of(observations.journal.leases(), [&](const auto& entry) {
      const ReferenceLease& other = entry.second;
      return other.id != lease.id && waits_for_turn(other, device) &&
             need_of(observations, other) > device.grantable;
    });
    if (!needed) return fmt::format("the turn of lease {} ended for nobody", lease.id.value);
  }
  return {};
}

std::string Turns::check_turn_ends(const Observations& observations, const server::Engine& engine,
                                   core::Now now) {
  const core::Coordinator& coordinator = engine.coordinator();
  // Where a turn lasts as long as moves take, its end is not known here.
  const bool known = observations.settings.turns.loss_percent == 0 && !engine.journal_behind() &&
                     coordinator.trouble().empty();
  std::map<DeviceId, Instant> since;
  if (known) {
    for (const DeviceView& device : coordinator.devices(now)) {
      const bool fresh = device.sample_age && *device.sample_age < seconds(2);
      const ReferenceLease* next =
          fresh ? whose_turn_it_is(observations, coordinator, device, now) : nullptr;
      if (next == nullptr) continue;
      // What is more important may go before, however long that takes.
      const bool yields =
          std::ranges::any_of(observations.journal.leases(), [&](const auto& entry) {
            const ReferenceLease& other = entry.second;
            return other.state == ReferenceLease::State::kWaiting &&
                   other.request.priority > next->request.priority;
          });
      if (yields) continue;
      const auto before = over_since_.find(device.id);
      const Instant begun = before == over_since_.end() ? now.instant : before->second;
      since.emplace(device.id, begun);
      const Instant heard = std::max(begun, observations.daemon_since);
      if (now.instant - heard < kPatience) continue;
      return fmt::format("it is the turn of lease {}, and nothing happens: <{}>", next->id.value,
                         next->describe());
    }
  }
  over_since_.swap(since);
  return {};
}

}  // namespace berth::sim
