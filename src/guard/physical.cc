// SPDX-License-Identifier: Apache-2.0
#include "guard/physical.h"

namespace berth::guard {

bool Physical::created(Handle handle, std::uint32_t device, std::uint64_t bytes) {
  const Lock lock(mutex_);
  const Object object = ++last_;
  const bool kept = objects_.insert({.key = object,
                                     .bytes = bytes,
                                     .owner = 0,
                                     .count = 1,
                                     .device = static_cast<std::uint16_t>(device),
                                     .kind = 0});
  return handles_.insert(
             {.key = handle, .bytes = 0, .owner = object, .count = 1, .device = 0, .kind = 0}) &&
         kept;
}

Physical::Object Physical::imported(Handle handle) {
  {
    const Lock lock(mutex_);
    if (const Object known = handles_.find(handle).owner; known != 0) {
      (void)objects_.update(known, [](Entry& object) { ++object.count; });
      (void)handles_.update(handle, [](Entry& entry) { ++entry.count; });
      return 0;
    }
  }
  return created(handle, 0, 0) ? object_of(handle) : 0;
}

void Physical::retained(Handle handle, std::uint64_t address) {
  const Lock lock(mutex_);
  const Entry mapping = mappings_.find_if([&](const Entry& entry) {
    return address >= entry.key && address - entry.key < entry.bytes;
  });
  if (mapping.key == 0) return;
  (void)objects_.update(mapping.owner, [](Entry& object) { ++object.count; });
  (void)handles_.update(handle, [&](Entry& entry) {
    entry.owner = mapping.owner;
    ++entry.count;
  });
}

Physical::Object Physical::begin_release(Handle handle) {
  const Lock lock(mutex_);
  const Entry entry = handles_.find(handle);
  if (entry.key == 0) return 0;
  (void)handles_.update(handle, [](Entry& known) { --known.count; });
  return entry.owner;
}

void Physical::not_released(Object object, Handle handle) {
  const Lock lock(mutex_);
  (void)handles_.update(handle, [&](Entry& entry) {
    entry.owner = object;
    ++entry.count;
  });
}

Physical::Freed Physical::released(Object object) {
  const Lock lock(mutex_);
  return drop_locked(object);
}

Physical::Freed Physical::drop_locked(Object object) {
  Freed freed;
  if (objects_.find(object).key == 0) return freed;
  (void)objects_.update(object, [&](Entry& entry) {
    if (--entry.count == 0)
      freed = {.object = object, .device = entry.device, .bytes = entry.bytes};
  });
  return freed;
}

Physical::Object Physical::object_of(Handle handle) {
  const Lock lock(mutex_);
  return handles_.find(handle).owner;
}

void Physical::mapped(Object object, std::uint64_t address, std::uint64_t bytes) {
  const Lock lock(mutex_);
  const bool kept = mappings_.insert(
      {.key = address, .bytes = bytes, .owner = object, .count = 1, .device = 0, .kind = 0});
  if (kept) (void)objects_.update(object, [](Entry& entry) { ++entry.count; });
}

std::size_t Physical::begin_unmap(std::uint64_t address, std::uint64_t bytes, Entry* taken) {
  const Lock lock(mutex_);
  std::size_t count = 0;
  mappings_.take_all(
      [&](const Entry& entry) {
        return count < kTakenMax && entry.key >= address && entry.key - address < bytes;
      },
      [&](const Entry& entry) { taken[count++] = entry; });
  return count;
}

Physical::Freed Physical::unmapped(const Entry& mapping) {
  const Lock lock(mutex_);
  return drop_locked(mapping.owner);
}

void Physical::not_unmapped(const Entry& mapping) {
  const Lock lock(mutex_);
  (void)mappings_.insert(mapping);
}

}  // namespace berth::guard
