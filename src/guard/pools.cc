// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

namespace berth::guard {

Pools::Pool* Pools::find(Handle handle) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (pools_[i].handle == handle) return &pools_[i];
  }
  return nullptr;
}

bool Pools::know(Handle pool, std::uint32_t device) {
  const Lock lock(mutex_);
  if (find(pool) != nullptr) return true;
  Pool* place = find(0);
  if (place == nullptr && count_ < kPoolsMax) place = &pools_[count_++];
  if (place == nullptr) return false;
  *place = {.handle = pool, .device = device, .charged = 0, .open = 0, .generation = 1};
  return true;
}

int Pools::device_of(Handle pool) {
  const Lock lock(mutex_);
  const Pool* found = find(pool);
  return found == nullptr ? -1 : static_cast<int>(found->device);
}

void Pools::begin(Handle pool, std::uint64_t bytes) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr) return;
  found->charged += bytes;
  found->open += bytes;
  ++found->generation;
}

void Pools::end(Handle pool, std::uint64_t bytes) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr) return;
  found->open -= bytes < found->open ? bytes : found->open;
  ++found->generation;
}

std::uint64_t Pools::look(Handle pool) {
  const Lock lock(mutex_);
  const Pool* found = find(pool);
  return found == nullptr ? 0 : found->generation;
}

Pools::Settled Pools::settle(Handle pool, std::uint64_t look, std::uint64_t reserved) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr) return {.done = true, .excess = 0};
  if (found->generation != look) return {};
  const std::uint64_t wanted = reserved + found->open;
  if (found->charged <= wanted) return {.done = true, .excess = 0};
  const std::uint64_t excess = found->charged - wanted;
  found->charged = wanted;
  return {.done = true, .excess = excess};
}

std::uint64_t Pools::forget(Handle pool) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr || pool == 0) return 0;
  const std::uint64_t charged = found->charged;
  *found = {};
  return charged;
}

std::uint64_t Pools::forget_device(std::uint32_t device) {
  const Lock lock(mutex_);
  std::uint64_t charged = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (pools_[i].handle == 0 || pools_[i].device != device) continue;
    charged += pools_[i].charged;
    pools_[i] = {};
  }
  return charged;
}

Pools::Handle Pools::next(std::size_t& place) {
  const Lock lock(mutex_);
  for (; place < count_; ++place) {
    if (pools_[place].handle != 0) return pools_[place].handle;
  }
  return 0;
}

}  // namespace berth::guard
