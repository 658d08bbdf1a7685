// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

namespace berth::guard {
namespace {

constexpr std::size_t kRoomFirst = 64;

}  // namespace

Pools::Pool* Pools::find(Handle handle) {
  if (handle == 0) return nullptr;
  if (last_ < count_ && pools_[last_].handle == handle) return &pools_[last_];
  const std::uint64_t place = places_.find(handle).owner;
  if (place == 0) return nullptr;
  last_ = place - 1;
  return &pools_[last_];
}

bool Pools::grow() {
  const std::size_t larger = room_ == 0 ? kRoomFirst : room_ * 2;
  auto* made = static_cast<Pool*>(map_memory(larger * sizeof(Pool)));
  if (made == nullptr) return false;
  for (std::size_t i = 0; i < count_; ++i) made[i] = pools_[i];
  if (pools_ != nullptr) unmap(pools_, room_ * sizeof(Pool));
  pools_ = made;
  room_ = larger;
  return true;
}

Pools::Pool* Pools::place_for(Handle handle) {
  if (free_ == 0 && count_ == room_ && !grow()) return nullptr;
  const std::size_t place = free_ == 0 ? count_ : free_ - 1;
  const Entry entry{
      .key = handle, .bytes = 0, .owner = place + 1, .count = 1, .device = 0, .kind = 0};
  if (!places_.insert(entry)) return nullptr;
  if (free_ == 0) {
    ++count_;
  } else {
    free_ = pools_[place].generation;
  }
  return &pools_[place];
}

void Pools::remove(Pool& pool) {
  (void)places_.take(pool.handle);
  pool = {};
  pool.generation = free_;
  free_ = static_cast<std::size_t>(&pool - pools_) + 1;
}

bool Pools::know(Handle pool, Home home) {
  const Lock lock(mutex_);
  if (pool == 0) return false;
  if (find(pool) != nullptr) return true;
  Pool* place = place_for(pool);
  if (place == nullptr) return false;
  *place = {
      .handle = pool, .home = home, .is_dying = false, .charged = 0, .open = 0, .generation = 1};
  return true;
}

Pools::Known Pools::known(Handle pool) {
  const Lock lock(mutex_);
  const Pool* found = find(pool);
  if (found == nullptr) return {};
  return {.home = found->home, .is_known = true, .is_dying = found->is_dying};
}

int Pools::device_of(Handle pool) {
  return known(pool).home.device;
}

void Pools::is_home(Handle pool) {
  const Lock lock(mutex_);
  if (Pool* found = find(pool); found != nullptr) found->home.is_guess = false;
}

bool Pools::begin(Handle pool, std::uint64_t bytes) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr || found->home.device < 0) return false;
  found->charged += bytes;
  found->open += bytes;
  ++found->generation;
  return true;
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

bool Pools::begin_destroy(Handle pool) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr || !found->home.is_created || found->home.device < 0 || found->is_dying)
    return false;
  found->is_dying = true;
  ++found->generation;
  return true;
}

bool Pools::take_dead(Handle pool, std::uint64_t look) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr || !found->is_dying || found->generation != look) return false;
  found->is_dying = false;  // The next thread finds an ordinary one, and the one after it none.
  return true;
}

std::uint64_t Pools::forget(Handle pool) {
  const Lock lock(mutex_);
  Pool* found = find(pool);
  if (found == nullptr) return 0;
  const std::uint64_t charged = found->charged;
  remove(*found);
  return charged;
}

std::uint64_t Pools::forget_device(std::uint32_t device) {
  const Lock lock(mutex_);
  std::uint64_t charged = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Pool& pool = pools_[i];
    if (pool.handle == 0 || pool.home.device != static_cast<int>(device)) continue;
    charged += pool.charged;
    remove(pool);
  }
  return charged;
}

Pools::Handle Pools::next(std::size_t& place) {
  const Lock lock(mutex_);
  for (; place < count_; ++place) {
    const Pool& pool = pools_[place];
    if (pool.handle != 0 && (pool.charged > 0 || pool.is_dying)) return pool.handle;
  }
  return 0;
}

void Pools::all_are_due() {
  const Lock lock(mutex_);
  due_.store(count_, std::memory_order_relaxed);
}

Pools::Handle Pools::take_due() {
  const Lock lock(mutex_);
  for (std::uint64_t left = due_.load(std::memory_order_relaxed); left > 0; --left) {
    look_at_ = look_at_ + 1 < count_ ? look_at_ + 1 : 0;
    const Pool& pool = pools_[look_at_];
    if (pool.handle == 0 || (pool.charged == 0 && !pool.is_dying)) continue;
    due_.store(left - 1, std::memory_order_relaxed);
    return pool.handle;
  }
  due_.store(0, std::memory_order_relaxed);
  return 0;
}

}  // namespace berth::guard
