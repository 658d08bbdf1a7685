// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/world.h"

#include <algorithm>

#include "base/check.h"
#include "os/processes.h"
#include "simgpu/world/clock.h"

// Note [Death and teardown]
//
// The simulated driver has no process of its own that could see others die. A process that looks at
// a device (NVML, cuMemGetInfo, or an allocation that does not fit) looks for dead owners first.
// The first one who finds an owner dead stamps the slot with that instant; the memory stays used,
// and the pid listed, until the teardown time has passed since then, and is given back by the next
// one who looks. With a teardown time of 0 it is given back at the first look. The event written
// says since when it counts as free, not when a process looked.

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kGenerationMask = 0xffff;

Bytes bytes_of(std::uint64_t blocks) {
  return {blocks * kBlockBytes};
}

}  // namespace

AccountView World::account(std::uint32_t device) const {
  CHECK(device <= kHostMemory);
  Account& account = device == kHostMemory ? file_->host : file_->devices[device].account;
  return {account, file_->slots[0].shares[device], sizeof(SlotState)};
}

bool World::is_lost(std::uint32_t device) const {
  return file_->devices[device].lost.load() != 0;
}

std::uint64_t World::limit_blocks(std::uint32_t device) const {
  if (device == kHostMemory) return file_->host_capacity_blocks.load();
  const std::uint64_t capacity = file_->devices[device].capacity_blocks.load();
  const std::uint64_t reserved = file_->devices[device].reserved_blocks.load();
  return capacity > reserved ? capacity - reserved : 0;
}

bool World::lives(const SlotLocks& locks, std::uint32_t slot) const {
  if (locks.is_held(slot)) return true;
  const SlotState& state = file_->slots[slot];
  return state.lock_by_descriptor.load() != 0 &&
         state.pid_namespace.load() == os::own_pid_namespace() &&
         os::is_alive({.pid = state.pid.load(), .start_ticks = state.start_ticks.load()});
}

bool World::lives(std::uint32_t slot) const {
  return lives(SlotLocks(path(), id_), slot);
}

// A process that looks from the namespace that the machine was made in says it to all others.
std::int32_t World::pid_of(std::uint32_t slot) const {
  SlotState& state = file_->slots[slot];
  const std::uint64_t ours = os::own_pid_namespace();
  const std::uint64_t theirs = state.pid_namespace.load();
  if (theirs == ours) return state.own_pid.load();
  const bool from_outside = ours == file_->pid_namespace;
  std::int32_t pid = from_outside ? state.outer_pid.load() : 0;
  if (pid == 0) pid = pid_in_our_proc(state.own_pid.load(), theirs);
  if (pid != 0 && from_outside) state.outer_pid.store(pid);
  return pid != 0 ? pid : known_pid_of(slot);
}

std::int32_t World::known_pid_of(std::uint32_t slot) const {
  const SlotState& state = file_->slots[slot];
  const std::int32_t outer = state.outer_pid.load();
  return outer != 0 ? outer : state.pid.load();
}

std::optional<std::uint32_t> World::claim_slot() {
  const Identity self = draw_identity();
  const ProcessNumbers numbers = own_numbers();
  reap();
  for (std::uint32_t i = kUnmanagedSlot + 1; i < kSlotsMax; ++i) {
    SlotState& slot = file_->slots[i];
    if (slot.owner.load() != 0) continue;
    std::uint32_t seen = file_->slots_seen.load();
    while (seen <= i && !file_->slots_seen.compare_exchange_weak(seen, i + 1)) {
    }
    std::optional<SlotLock> lock = SlotLock::take(path(), i);
    Identity nobody = 0;
    if (!lock || !slot.owner.compare_exchange_strong(nobody, self)) continue;
    lock_ = std::move(lock);
    slot.generation.fetch_add(1);
    slot.contexts.store(0);
    for (auto& load : slot.load) load.store(0);
    slot.checkpoint.owner.store(0);
    slot.checkpoint.thread.store(0);
    slot.own_pid.store(numbers.own_pid);
    slot.pid.store(numbers.pid);
    slot.outer_pid.store(numbers.pid_namespace == file_->pid_namespace ? numbers.own_pid : 0);
    slot.pid_namespace.store(numbers.pid_namespace);
    slot.start_ticks.store(numbers.start_ticks);
    slot.lock_by_descriptor.store(lock_->by_descriptor() ? 1 : 0);
    return i;
  }
  return std::nullopt;
}

bool World::charge(std::uint32_t slot, std::uint32_t device, std::uint64_t blocks) {
  std::optional<std::uint64_t> used = account(device).charge(slot, blocks, limit_blocks(device));
  if (!used) {
    reap();
    used = account(device).charge(slot, blocks, limit_blocks(device));
  }
  if (!used) return false;
  log(device, known_pid_of(slot), static_cast<std::int64_t>(blocks), *used, now_ns());
  return true;
}

void World::release(std::uint32_t slot, std::uint32_t device, std::uint64_t blocks) {
  const std::uint64_t used = account(device).release(slot, blocks);
  log(device, known_pid_of(slot), -static_cast<std::int64_t>(blocks), used, now_ns());
}

Bytes World::used_by(std::uint32_t slot, std::uint32_t device) {
  AccountView account = this->account(device);
  (void)account.settle();
  return {account.used_by(slot) * kBlockBytes};
}

void World::set_context(std::uint32_t slot, std::uint32_t device, bool exists) {
  const std::uint32_t bit = 1U << device;
  if (exists) {
    file_->slots[slot].contexts.fetch_or(bit);
  } else {
    file_->slots[slot].contexts.fetch_and(~bit);
  }
}

bool World::set_unmanaged(std::uint32_t device, std::uint64_t blocks) {
  const std::uint64_t now = account(device).used_by(kUnmanagedSlot);
  if (blocks > now) return charge(kUnmanagedSlot, device, blocks - now);
  if (blocks < now) release(kUnmanagedSlot, device, now - blocks);
  return true;
}

Bytes World::unmanaged_used(std::uint32_t device) const {
  return bytes_of(account(device).used_by(kUnmanagedSlot));
}

// Since when the memory of a dead owner counts as free; nothing while that is still to come.
std::optional<std::int64_t> World::torn_down_since(SlotState& slot, std::uint64_t generation,
                                                   std::int64_t now_us) {
  std::uint64_t death = slot.death.load();
  if ((death & kGenerationMask) != generation || death == 0) {
    const std::uint64_t stamp = static_cast<std::uint64_t>(now_us) << 16U | generation;
    if (slot.death.compare_exchange_strong(death, stamp)) death = stamp;
  }
  const std::int64_t since =
      static_cast<std::int64_t>(death >> 16U) + file_->faults.teardown_us.load();
  if (now_us < since) return std::nullopt;
  return since;
}

void World::clear_all(std::uint32_t slot, Identity owner, std::int64_t time_ns) {
  for (std::uint32_t device = 0; device <= kHostMemory; ++device) {
    AccountView account = this->account(device);
    for (;;) {
      const std::uint64_t seen = account.settle();
      // Another process may have freed the slot, and a living process have taken it.
      if (file_->slots[slot].owner.load() != owner || account.used_by(slot) == 0) break;
      const AccountView::Cleared cleared = account.clear_dead(slot, seen);
      if (cleared.blocks == 0) continue;
      log(device, known_pid_of(slot), -static_cast<std::int64_t>(cleared.blocks), cleared.used,
          time_ns);
    }
  }
}

void World::tear_down(std::uint32_t slot, Identity owner, std::int64_t since_us) {
  clear_all(slot, owner, since_us * 1'000);
  file_->slots[slot].owner.compare_exchange_strong(owner, 0);
}

void World::reap() {
  const SlotLocks locks(path(), id_);
  const std::int64_t now_us = now_ns() / 1'000;
  const std::uint32_t end = std::min(file_->slots_seen.load(), kSlotsMax);
  for (std::uint32_t i = kUnmanagedSlot + 1; i < end; ++i) {
    SlotState& slot = file_->slots[i];
    // In this order: what is stamped with an owner's generation is never a later owner's death.
    const std::uint64_t generation = slot.generation.load() & kGenerationMask;
    const Identity owner = slot.owner.load();
    if (owner == 0 || lives(locks, i)) continue;
    if (const auto since = torn_down_since(slot, generation, now_us)) tear_down(i, owner, *since);
  }
}

std::optional<std::uint32_t> World::slot_of(std::int32_t pid) const {
  const std::uint32_t end = std::min(file_->slots_seen.load(), kSlotsMax);
  for (std::uint32_t i = kUnmanagedSlot + 1; i < end; ++i) {
    const SlotState& slot = file_->slots[i];
    const Identity owner = slot.owner.load();
    if (owner != 0 && slot.checkpoint.owner.load() == owner && pid_of(i) == pid && lives(i))
      return i;
  }
  return std::nullopt;
}

std::vector<CheckpointFigures> World::checkpointables() {
  reap();
  std::vector<CheckpointFigures> found;
  AccountView account = this->account(kHostMemory);
  (void)account.settle();
  const std::uint32_t end = std::min(file_->slots_seen.load(), kSlotsMax);
  for (std::uint32_t i = kUnmanagedSlot + 1; i < end; ++i) {
    const SlotState& slot = file_->slots[i];
    const Identity owner = slot.owner.load();
    if (owner == 0 || slot.checkpoint.owner.load() != owner) continue;
    found.push_back({.pid = pid_of(i),
                     .state = slot.checkpoint.state.load(),
                     .saved = bytes_of(account.used_by(i))});
  }
  return found;
}

DeviceFigures World::figures(std::uint32_t device) {
  reap();
  AccountView account = this->account(device);
  const bool host = device == kHostMemory;
  const std::uint64_t capacity =
      host ? file_->host_capacity_blocks.load() : file_->devices[device].capacity_blocks.load();
  const std::uint64_t reserved = host ? 0 : file_->devices[device].reserved_blocks.load();
  DeviceFigures figures{.capacity = bytes_of(capacity),
                        .reserved = bytes_of(reserved),
                        .used = bytes_of(account.used()),
                        .used_max = bytes_of(account.used_max()),
                        .free = {}};
  figures.free = saturating_sub(figures.capacity, figures.reserved + figures.used);
  return figures;
}

std::vector<ProcessFigures> World::processes(std::uint32_t device) {
  reap();
  std::vector<ProcessFigures> found;
  const FaultState& faults = file_->faults;
  AccountView account = this->account(device);
  (void)account.settle();
  const Bytes unmanaged_used = bytes_of(account.used_by(kUnmanagedSlot));
  if (const std::int32_t pid = faults.unmanaged_pid.load(); pid != 0 && unmanaged_used.value > 0) {
    found.push_back(
        {.pid = pid, .used = unmanaged_used, .graphics = faults.unmanaged_is_graphics.load() != 0});
  }
  const std::uint32_t end = std::min(file_->slots_seen.load(), kSlotsMax);
  for (std::uint32_t i = kUnmanagedSlot + 1; i < end; ++i) {
    const SlotState& slot = file_->slots[i];
    const Identity owner = slot.owner.load();
    const Bytes used = bytes_of(account.used_by(i));
    const bool has_context = (slot.contexts.load() >> device & 1U) != 0;
    if (owner == 0 || (!has_context && used.value == 0)) continue;
    // The look above has marked the dead.
    const std::uint64_t death = slot.death.load();
    const bool ended =
        death != 0 && (death & kGenerationMask) == (slot.generation.load() & kGenerationMask);
    found.push_back({.pid = pid_of(i), .used = used, .ended = ended});
  }
  return found;
}

void World::log(std::uint32_t device, std::int32_t pid, std::int64_t change, std::uint64_t used,
                std::int64_t time_ns) {
  if (device == kHostMemory) return;  // The events are the devices'.
  const std::uint64_t number = file_->events_made.fetch_add(1);
  EventState& event = file_->events[number % kEventsMax];
  event.sequence.store(0);
  event.time_ns.store(time_ns);
  event.used_blocks.store(used);
  event.change_blocks.store(change);
  event.pid.store(pid);
  event.device.store(device);
  event.sequence.store(number + 1);
}

}  // namespace berth::simgpu
