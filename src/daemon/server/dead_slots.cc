// SPDX-License-Identifier: Apache-2.0
#include "server/dead_slots.h"

#include <algorithm>
#include <utility>

namespace berth::server {

namespace {

// One that nobody has waited for yet, or that is still ending, has its place in /proc: it is listed
// as if it lived.
bool may_be(const ProcessSample& listed, std::optional<Process> dead) {
  if (!dead) return !listed.alive;
  return listed.alive ? listed.process == *dead : listed.process.pid == dead->pid;
}

}  // namespace

Freed is_freed(std::optional<Process> process, const std::vector<DeviceId>& devices,
               const Sample& sample) {
  Freed freed = Freed::kYes;
  for (const DeviceId id : devices) {
    const auto device = std::ranges::find(sample.devices, id, &DeviceSample::id);
    if (device == sample.devices.end() || device->lost) {
      freed = Freed::kUnknown;
      continue;
    }
    if (device->asleep) continue;  // To free something, the driver would have woken it.
    const std::optional<std::vector<ProcessSample>>& processes = device->processes;
    if (!processes) {
      freed = Freed::kUnknown;
      continue;
    }
    const bool listed = std::ranges::any_of(
        *processes, [&](const ProcessSample& other) { return may_be(other, process); });
    if (listed) return Freed::kNo;
  }
  return sample.trouble.empty() ? freed : Freed::kUnknown;
}

void DeadSlots::found(Handle lease, const std::vector<Dead>& dead, Instant now) {
  std::vector<Known> before;
  if (const auto known = leases_.find(lease); known != leases_.end()) {
    before = std::move(known->second);
    leases_.erase(known);
  }
  for (const Dead& one : dead) {
    const auto same = std::ranges::find_if(before, [&](const Known& known) {
      return known.dead.slot.index == one.slot.index &&
             known.dead.slot.process == one.slot.process &&
             known.dead.slot.namespaces == one.slot.namespaces;
    });
    leases_[lease].push_back({one, same == before.end() ? now : same->since});
  }
}

bool DeadSlots::is_settled(const Known& known, const Sample& sample, Instant now) {
  const Duration age = now - known.since;
  const bool named = known.dead.named;
  const auto process = named ? std::optional(known.dead.slot.process) : std::nullopt;
  switch (is_freed(process, known.dead.devices, sample)) {
    case Freed::kYes:
      return named || age >= kZombieFor;
    case Freed::kNo:
      return !named && age >= kUnnamedFor;
    case Freed::kUnknown:
      return age >= kUnknownFor;
  }
  return false;
}

std::vector<DeadSlots::Settled> DeadSlots::answered(const Sample& sample, Instant now) {
  std::vector<Settled> all;
  for (auto& [lease, dead] : leases_) {
    Settled& settled = all.emplace_back(Settled{.lease = lease, .freed = {}});
    std::erase_if(dead, [&](const Known& known) {
      const bool is_over = is_settled(known, sample, now);
      if (is_over) settled.freed.push_back(known.dead.slot);
      return is_over;
    });
  }
  std::erase_if(leases_, [](const auto& entry) { return entry.second.empty(); });
  return all;
}

Instant DeadSlots::next(Instant now) const {
  Instant next = Instant::never();
  for (const auto& [lease, dead] : leases_) {
    for (const Known& known : dead) {
      const Duration age = now - known.since;
      if (age >= kSlowFor) continue;  // The regular questions do.
      next = std::min(next, now + (age < kFastFor ? kFastEvery : kSlowEvery));
    }
  }
  return next;
}

}  // namespace berth::server
