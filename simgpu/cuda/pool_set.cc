// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/pool_set.h"

#include <algorithm>

namespace berth::simgpu {

Pool* PoolSet::find(const Pool* handle) {
  const auto found = std::ranges::find_if(
      pools_, [&](const Pool& each) { return &each == handle && !each.dying; });
  return found == pools_.end() ? nullptr : &*found;
}

const Pool* PoolSet::with(DevicePointer pointer) const {
  const auto found =
      std::ranges::find_if(pools_, [&](const Pool& each) { return each.bytes_at(pointer) > 0; });
  return found == pools_.end() ? nullptr : &*found;
}

Pool& PoolSet::default_of(std::uint32_t device, Heap& heap) {
  if (default_[device] == nullptr) default_[device] = &create(device, heap);
  return *default_[device];
}

Pool& PoolSet::current_of(std::uint32_t device, Heap& heap) {
  return current_[device] == nullptr ? default_of(device, heap) : *current_[device];
}

bool PoolSet::destroy(Pool& pool) {
  if (default_[pool.device()] == &pool) return false;
  if (current_[pool.device()] == &pool) current_[pool.device()] = nullptr;
  give_back_(pool.device(), pool.trim(0));
  pool.dying = true;
  bury();
  return true;
}

void PoolSet::bury() {
  std::erase_if(pools_, [](const Pool& each) { return each.dying && each.used_bytes() == 0; });
}

void PoolSet::drop(std::uint32_t device, Heap& heap) {
  for (const Pool& pool : pools_) {
    if (pool.device() == device) give_back_(device, heap.free_all(&pool));
  }
  std::erase_if(pools_, [device](const Pool& pool) { return pool.device() == device; });
  default_[device] = nullptr;
  current_[device] = nullptr;
}

void PoolSet::synchronise() {
  for (Pool& pool : pools_) give_back_(pool.device(), pool.trim(pool.release_threshold));
}

PoolSet::Freed PoolSet::free(DevicePointer pointer) {
  for (Pool& pool : pools_) {
    if (!pool.free(pointer)) {
      if (pool.has_chunk(pointer)) return Freed::kBefore;
      continue;
    }
    if (pool.dying) {
      give_back_(pool.device(), pool.trim(0));
      bury();
    }
    return Freed::kYes;
  }
  return Freed::kUnknown;
}

}  // namespace berth::simgpu
