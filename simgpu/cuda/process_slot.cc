// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/process_slot.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth::simgpu {

ProcessSlot::ProcessSlot(World world, std::uint32_t slot) : world_(std::move(world)), slot_(slot) {
  std::iota(places_.begin(), places_.end(), 0U);
}

bool ProcessSlot::charge(std::uint32_t device, std::uint64_t blocks) {
  return world_.charge(slot_, places_[device], blocks);
}

void ProcessSlot::release(std::uint32_t device, std::uint64_t blocks) {
  if (blocks > 0) world_.release(slot_, places_[device], blocks);
}

std::uint64_t ProcessSlot::used_bytes(std::uint32_t device) {
  return world_.used_by(slot_, places_[device]).value;
}

void ProcessSlot::set_context(std::uint32_t device, bool exists) {
  contexts_[device] = exists;
  world_.set_context(slot_, places_[device], exists);
}

const DeviceState& ProcessSlot::state(std::uint32_t device) const {
  return world_.file().devices[places_[device]];
}

std::uint64_t ProcessSlot::held_blocks() {
  std::uint64_t blocks = 0;
  for (std::uint32_t device = 0; device < world_.device_count(); ++device) {
    blocks += used_bytes(device) / kBlockBytes;
  }
  return blocks;
}

bool ProcessSlot::is_on_shared_device() const {
  for (std::uint32_t device = 0; device < world_.device_count(); ++device) {
    if (contexts_[device] && state(device).mode.load() != DeviceMode::kUsual) return true;
  }
  return false;
}

bool ProcessSlot::take_host_memory() {
  return world_.charge(slot_, kHostMemory, held_blocks());
}

void ProcessSlot::give_host_memory() {
  world_.release(slot_, kHostMemory, world_.used_by(slot_, kHostMemory).value / kBlockBytes);
}

void ProcessSlot::leave() {
  for (std::uint32_t device = 0; device < world_.device_count(); ++device) {
    left_[device] = used_bytes(device) / kBlockBytes;
    release(device, left_[device]);
    world_.set_context(slot_, places_[device], false);
  }
}

bool ProcessSlot::is_same_kind(std::uint32_t one, std::uint32_t other) const {
  const DeviceState& a = world_.file().devices[one];
  const DeviceState& b = world_.file().devices[other];
  return a.model == b.model && a.capacity_blocks.load() == b.capacity_blocks.load();
}

// Every place stays one device's: a process that has nothing on a place that is wanted gets one of
// its kind that became free.
std::optional<ProcessSlot::Paths> ProcessSlot::places_after(const Moves& moves) const {
  Paths after = places_;
  if (moves.empty()) return after;
  const std::uint32_t count = world_.device_count();
  std::bitset<kDevicesMax> settled;
  std::bitset<kDevicesMax> given;
  for (std::uint32_t device = 0; device < count; ++device) {
    const auto move = moves.find(places_[device]);
    if (move == moves.end()) {
      if (contexts_[device] || left_[device] > 0) return std::nullopt;
      continue;
    }
    if (given[move->second] || !is_same_kind(move->first, move->second)) return std::nullopt;
    after[device] = move->second;
    given[move->second] = true;
    settled[device] = true;
  }
  for (std::uint32_t device = 0; device < count; ++device) {
    if (settled[device] || given[places_[device]]) continue;
    given[places_[device]] = true;
    settled[device] = true;
  }
  for (std::uint32_t device = 0; device < count; ++device) {
    for (std::uint32_t place = 0; place < count && !settled[device]; ++place) {
      if (given[place] || !is_same_kind(places_[device], place)) continue;
      after[device] = place;
      given[place] = true;
      settled[device] = true;
    }
  }
  return after;
}

ProcessSlot::Return ProcessSlot::swap_in(const Moves& moves) {
  const std::optional<Paths> after = places_after(moves);
  if (!after) return Return::kWrongMove;
  const Paths before = std::exchange(places_, *after);
  Return result = Return::kDone;
  std::uint32_t taken = 0;
  for (; taken < world_.device_count(); ++taken) {
    const bool needed = contexts_[taken] || left_[taken] > 0;
    if (needed && is_lost(taken)) result = Return::kLost;
    if (result == Return::kDone && left_[taken] > 0 && !charge(taken, left_[taken]))
      result = Return::kNoMemory;
    if (result != Return::kDone) break;
  }
  if (result != Return::kDone) {
    for (std::uint32_t device = 0; device < taken; ++device) release(device, left_[device]);
    places_ = before;
    return result;
  }
  for (std::uint32_t device = 0; device < world_.device_count(); ++device) {
    if (contexts_[device]) world_.set_context(slot_, places_[device], true);
  }
  left_ = {};
  return result;
}

}  // namespace berth::simgpu
