// SPDX-License-Identifier: Apache-2.0
// Table of allocations, and of what the guard has charged for each. Any thread may call it. In
// zeroed memory it is empty and ready. Never freed.
//
// Note [Small allocations]
//
// The driver puts small allocations together into pages of 2 MiB. Whether one needs a new page
// is only known afterwards, by its address. So a page is charged before each of them, and taken
// back if the page was there already: what is charged is never less than what the driver takes. In
// the last page below the budget this refuses a small allocation that would have found room.
//
// Of such a page a bit for every 256 bytes is kept, which is set where an allocation begins: a
// million of them take 250 KiB and not 64 MiB, and none is looked for in memory that no cache has.
// Those that lie otherwise, or in a page of another context, are kept one by one as large ones are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guard/linux.h"
#include "guard/table.h"

namespace berth::guard {

constexpr std::uint64_t kPageBytes = std::uint64_t{2} << 20U;  // What the driver takes at once.

enum class Kind : std::uint16_t {
  kMemory,   // Pages of its own.
  kManaged,  // Pages of its own.
  kSmall,    // Shares its page.
  kArray,    // Pages of its own, as far as is known; under its handle.
};

class Allocations {
 public:
  struct Added {
    bool kept = false;  // There was memory for that.
    bool has_new_pages = false;
  };
  /// It was made: `owner` is the context it dies with.
  Added add(const Entry& made);
  /// Before it is freed. Key 0: it is not known.
  Entry take(std::uint64_t address);
  /// The driver did not free what was taken.
  void put_back(const Entry& taken);
  /// What was taken is freed. Whether its pages are.
  bool freed(const Entry& taken);

  /// A context is gone, with all that was made in it: released(entry) for what took pages.
  template <class Released>
  void context_gone(std::uint64_t context, Released released) {
    others_.take_all([&](const Entry& entry) { return entry.owner == context; },
                     [&](const Entry& entry) {
                       if (freed(entry)) released(entry);
                     });
    pages_.take_all([&](Entry& page) { return page.owner == context && unmark_all(page); },
                    [&](const Entry& page) {
                      Entry entry = page;
                      entry.bytes = kPageBytes;
                      released(entry);
                    });
  }

 private:
  static constexpr std::uint64_t kGrain = 256;  // All that the driver gives begins at a multiple.
  static constexpr std::size_t kWords = kPageBytes / kGrain / 64;
  struct Marks {
    Marks* next_free;
    std::uint64_t set;
    std::uint64_t words[kWords];
  };

  enum class Mark : std::uint8_t { kNone, kSet, kNew };
  Mark mark(Entry& page, const Entry& made);
  bool unmark(Entry& page, std::uint64_t address);
  bool unmark_all(Entry& page);
  void drop_marks(Entry& page);
  Marks* new_marks();

  Table others_;  // By address.
  // By address / kPageBytes: `count` small allocations lie there, of which those of the context
  // `owner` have a bit at `bytes`, a pointer to Marks.
  Table pages_;
  Mutex mutex_;  // Of what follows.
  Marks* free_;
};

}  // namespace berth::guard
