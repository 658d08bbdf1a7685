// SPDX-License-Identifier: Apache-2.0
// A hash table from addresses to what is known of them, for any number of entries and many threads:
// shards with a mutex each, memory straight from the kernel. In zeroed memory it is empty and
// ready. Never freed. A shard that grows moves its entries some at a time, with each of the calls
// that follow: no call waits for all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guard/linux.h"

namespace berth::guard {

struct Entry {
  std::uint64_t key;  // 0: there is none.
  std::uint64_t bytes;
  std::uint64_t owner;
  std::uint32_t count;
  std::uint16_t device;
  std::uint16_t kind;
};

class Table {
 public:
  static constexpr std::size_t kShards = 64;

  /// False only if there is no memory. An entry of that key is replaced.
  bool insert(const Entry& entry);
  /// Takes the entry out; key 0 if there was none.
  Entry take(std::uint64_t key);
  Entry find(std::uint64_t key);

  /// change(entry) of that key, made of zeros if it was not there. What is left with count 0 is
  /// taken out. False only if there is no memory.
  template <class Change>
  bool update(std::uint64_t key, Change change) {
    return change_if_there(key, change, true);
  }
  /// The same, if it was there.
  template <class Change>
  bool change(std::uint64_t key, Change change) {
    return change_if_there(key, change, false);
  }

  /// Takes out all entries for which wanted(entry), and gives each to taken(entry), which must not
  /// use this table.
  template <class Wanted, class Taken>
  void take_all(Wanted wanted, Taken taken) {
    for (Shard& shard : shards_) {
      const Lock lock(shard.mutex);
      shard.move_all();
      for (std::size_t i = 0; i < shard.now.room;) {
        Entry* at = &shard.now.entries[i];
        if (at->key == 0 || !wanted(*at)) {
          ++i;
          continue;
        }
        const Entry entry = *at;
        shard.remove(at);  // What moves up comes to this place or a later one.
        taken(entry);
      }
    }
  }

  /// The first entry for which wanted(entry); key 0 if there is none. It looks at all of them.
  template <class Wanted>
  Entry find_if(Wanted wanted) {
    for (Shard& shard : shards_) {
      const Lock lock(shard.mutex);
      shard.move_all();
      for (std::size_t i = 0; i < shard.now.room; ++i) {
        const Entry& entry = shard.now.entries[i];
        if (entry.key != 0 && wanted(entry)) return entry;
      }
    }
    return {};
  }

  std::size_t size();
  /// How many places are still to be moved since shards grew.
  std::size_t places_to_move();

 private:
  struct Places {
    Entry* entries;
    std::size_t room;  // A power of two.

    std::size_t home(std::uint64_t key) const;
    Entry* find(std::uint64_t key) const;
    Entry* put(const Entry& entry);  // Which is not there yet; there is room.
    void remove(Entry* at);
  };
  struct Shard {
    Mutex mutex;
    Places now;
    Places before;  // Until all of it is moved; those below `moved` are.
    std::size_t moved;
    std::size_t used;  // In both.
    Entry* over;       // Of what was moved entirely: to be given back from its end.
    std::size_t over_room;

    Entry* find(std::uint64_t key);  // It is moved.
    Entry* add(const Entry& entry);  // Which is not there yet.
    void remove(Entry* at);
    bool grow();
    void move_some(std::size_t places);
    void move_all();
    void give_back_some();
  };

  Shard& shard(std::uint64_t key);
  template <class Change>
  bool change_if_there(std::uint64_t key, Change& change, bool make) {
    Shard& shard = this->shard(key);
    const Lock lock(shard.mutex);
    Entry* at = shard.find(key);
    if (at == nullptr && make) at = shard.add({.key = key});
    if (at == nullptr) return false;
    change(*at);
    if (at->count == 0) shard.remove(at);
    return true;
  }

  Shard shards_[kShards];
};

}  // namespace berth::guard
