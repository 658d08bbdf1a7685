// SPDX-License-Identifier: Apache-2.0
#include "guard/table.h"

namespace berth::guard {
namespace {

constexpr std::size_t kRoomFirst = 128;  // A page of entries.

// Addresses differ in their middle bits; a multiplication spreads them to the top ones.
std::uint64_t mix(std::uint64_t key) {
  return (key ^ (key >> 21U)) * 0x9e3779b97f4a7c15U;
}

}  // namespace

Table::Shard& Table::shard(std::uint64_t key) {
  return shards_[mix(key) >> 58U];
}

bool Table::insert(const Entry& entry) {
  Shard& shard = this->shard(entry.key);
  const Lock lock(shard.mutex);
  if (Entry* at = shard.find(entry.key); at != nullptr) {
    *at = entry;
    return true;
  }
  return shard.add(entry) != nullptr;
}

Entry Table::take(std::uint64_t key) {
  Shard& shard = this->shard(key);
  const Lock lock(shard.mutex);
  Entry* at = shard.find(key);
  if (at == nullptr) return {};
  const Entry entry = *at;
  shard.remove(at);
  return entry;
}

Entry Table::find(std::uint64_t key) {
  Shard& shard = this->shard(key);
  const Lock lock(shard.mutex);
  const Entry* at = shard.find(key);
  return at == nullptr ? Entry{} : *at;
}

std::size_t Table::size() {
  std::size_t size = 0;
  for (Shard& shard : shards_) {
    const Lock lock(shard.mutex);
    size += shard.used;
  }
  return size;
}

std::size_t Table::Shard::place(std::uint64_t key) const {
  return (mix(key) >> 16U) & (room - 1);
}

Entry* Table::Shard::find(std::uint64_t key) {
  if (room == 0) return nullptr;
  for (std::size_t i = place(key); entries[i].key != 0; i = (i + 1) & (room - 1)) {
    if (entries[i].key == key) return &entries[i];
  }
  return nullptr;
}

Entry* Table::Shard::add(const Entry& entry) {
  if ((used + 1) * 2 > room && !grow()) return nullptr;
  std::size_t i = place(entry.key);
  while (entries[i].key != 0) i = (i + 1) & (room - 1);
  entries[i] = entry;
  ++used;
  return &entries[i];
}

// Entries behind it in its run move up, where that brings them nearer to their place: so no mark of
// what was there is needed, and a table that is used for long stays as fast as a new one.
void Table::Shard::remove(Entry* at) {
  auto hole = static_cast<std::size_t>(at - entries);
  for (std::size_t i = (hole + 1) & (room - 1); entries[i].key != 0; i = (i + 1) & (room - 1)) {
    const std::size_t home = place(entries[i].key);
    const bool stays = hole <= i ? hole < home && home <= i : hole < home || home <= i;
    if (stays) continue;
    entries[hole] = entries[i];
    hole = i;
  }
  entries[hole] = {};
  --used;
}

bool Table::Shard::grow() {
  const std::size_t larger = room == 0 ? kRoomFirst : room * 2;
  auto* made = static_cast<Entry*>(map_memory(larger * sizeof(Entry)));
  if (made == nullptr) return false;
  Entry* const old = entries;
  const std::size_t old_room = room;
  entries = made;
  room = larger;
  for (std::size_t i = 0; i < old_room; ++i) {
    if (old[i].key == 0) continue;
    std::size_t at = place(old[i].key);
    while (entries[at].key != 0) at = (at + 1) & (room - 1);
    entries[at] = old[i];
  }
  if (old != nullptr) unmap(old, old_room * sizeof(Entry));
  return true;
}

}  // namespace berth::guard
