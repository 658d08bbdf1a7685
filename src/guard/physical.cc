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
  Entry mapping = mappings_.find(address);
  if (mapping.key == 0) {
    mapping = mappings_.find_if([&](const Entry& entry) {
      return address >= entry.key && address - entry.key < entry.bytes;
    });
  }
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

Physical::Mappings::~Mappings() {
  if (entries_ != few_) guard::unmap(entries_, room_ * sizeof(Entry));
}

bool Physical::Mappings::add(const Entry& entry) {
  if (size_ == room_) {
    auto* more = static_cast<Entry*>(map_memory(2 * room_ * sizeof(Entry)));
    if (more == nullptr) return false;
    for (std::size_t i = 0; i < size_; ++i) more[i] = entries_[i];
    if (entries_ != few_) guard::unmap(entries_, room_ * sizeof(Entry));
    entries_ = more;
    room_ *= 2;
  }
  entries_[size_++] = entry;
  return true;
}

// What a program unmaps are mappings, one behind the other. Only if one is not found where the last
// one ended, all are looked at.
bool Physical::begin_unmap(std::uint64_t address, std::uint64_t bytes, Mappings& taken) {
  const Lock lock(mutex_);
  bool all = true;
  std::uint64_t done = 0;
  while (done < bytes && all) {
    const Entry entry = mappings_.find(address + done);
    if (entry.key == 0 || entry.bytes > bytes - done) break;
    all = taken.add(entry);
    if (all) (void)mappings_.take(entry.key);
    done += entry.bytes;
  }
  if (done >= bytes) return all;
  mappings_.take_all(
      [&](const Entry& entry) {
        const std::uint64_t into = entry.key - address;
        const bool within = entry.key >= address && into < bytes && entry.bytes <= bytes - into;
        return within && all && (all = taken.add(entry));
      },
      [](const Entry&) {});
  return all;
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
