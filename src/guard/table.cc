// SPDX-License-Identifier: Apache-2.0
#include "guard/table.h"

namespace berth::guard {
namespace {

constexpr std::size_t kPlacesFirst = 128;  // A page of entries.
// With each call. A shard is half full when it grows, and again when twice as many are in it: two
// would do.
constexpr std::size_t kPlacesMoved = 8;
constexpr std::size_t kGivenBack = 2048;  // Places, of memory that is not needed any more: 64 KiB.

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

std::size_t Table::places_to_move() {
  std::size_t places = 0;
  for (Shard& shard : shards_) {
    const Lock lock(shard.mutex);
    places += shard.before.room - shard.moved;
  }
  return places;
}

std::size_t Table::Places::home(std::uint64_t key) const {
  return (mix(key) >> 16U) & (room - 1);
}

Entry* Table::Places::find(std::uint64_t key) const {
  if (room == 0) return nullptr;
  for (std::size_t i = home(key); entries[i].key != 0; i = (i + 1) & (room - 1)) {
    if (entries[i].key == key) return &entries[i];
  }
  return nullptr;
}

Entry* Table::Places::put(const Entry& entry) {
  std::size_t i = home(entry.key);
  while (entries[i].key != 0) i = (i + 1) & (room - 1);
  entries[i] = entry;
  return &entries[i];
}

// Entries behind it in its run move up, where that brings them nearer to their place: so no mark of
// what was there is needed, and a table that is used for long stays as fast as a new one.
void Table::Places::remove(Entry* at) {
  auto hole = static_cast<std::size_t>(at - entries);
  for (std::size_t i = (hole + 1) & (room - 1); entries[i].key != 0; i = (i + 1) & (room - 1)) {
    const std::size_t first = home(entries[i].key);
    const bool stays = hole <= i ? hole < first && first <= i : hole < first || first <= i;
    if (stays) continue;
    entries[hole] = entries[i];
    hole = i;
  }
  entries[hole] = {};
}

Entry* Table::Shard::find(std::uint64_t key) {
  move_some(kPlacesMoved);
  Entry* at = now.find(key);
  if (at != nullptr || before.room == 0) return at;
  at = before.find(key);
  if (at == nullptr) return nullptr;
  const Entry entry = *at;
  before.remove(at);
  return now.put(entry);
}

Entry* Table::Shard::add(const Entry& entry) {
  if ((used + 1) * 2 > now.room && !grow()) return nullptr;
  ++used;
  return now.put(entry);
}

void Table::Shard::remove(Entry* at) {
  now.remove(at);
  --used;
}

bool Table::Shard::grow() {
  move_all();
  const std::size_t room = now.room == 0 ? kPlacesFirst : now.room * 2;
  auto* made = static_cast<Entry*>(map_memory(room * sizeof(Entry)));
  if (made == nullptr) return false;
  before = now;
  moved = 0;
  now = {.entries = made, .room = room};
  return true;
}

// An entry that moves up into the place of the one that was taken out is met there, or later.
void Table::Shard::move_some(std::size_t places) {
  give_back_some();
  for (; places > 0 && moved < before.room; --places, ++moved) {
    Entry* const at = &before.entries[moved];
    while (at->key != 0) {
      const Entry entry = *at;
      before.remove(at);
      now.put(entry);
    }
  }
  if (before.room == 0 || moved < before.room) return;
  over = before.entries;
  over_room = before.room;
  before = {};
  moved = 0;
}

void Table::Shard::move_all() {
  move_some(before.room);
  while (over_room > 0) give_back_some();
}

void Table::Shard::give_back_some() {
  if (over_room == 0) return;
  const std::size_t places = over_room < kGivenBack ? over_room : kGivenBack;
  over_room -= places;
  unmap(over + over_room, places * sizeof(Entry));
}

}  // namespace berth::guard
