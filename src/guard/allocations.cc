// SPDX-License-Identifier: Apache-2.0
#include "guard/allocations.h"

#include <bit>

namespace berth::guard {
namespace {

constexpr std::size_t kMarksMade = 64;  // At a time.

bool is_small(const Entry& entry) {
  return entry.kind == static_cast<std::uint16_t>(Kind::kSmall);
}

struct Bit {
  std::uint64_t* word;
  std::uint64_t mask;
};

Bit bit_of(std::uint64_t* words, std::uint64_t grain) {
  return {.word = words + grain / 64, .mask = std::uint64_t{1} << grain % 64};
}

}  // namespace

Allocations::Added Allocations::add(const Entry& made) {
  if (!is_small(made)) return {.kept = others_.insert(made), .has_new_pages = true};
  bool has_new_pages = false;
  Mark marked = Mark::kNone;
  const bool counted = pages_.update(made.key / kPageBytes, [&](Entry& page) {
    has_new_pages = page.count == 0;
    if (has_new_pages) {
      page.owner = made.owner;
      page.device = made.device;
    }
    marked = mark(page, made);
    // Where there was a mark, it was freed in a way that nobody told us: there is one, as before.
    if (marked != Mark::kSet) ++page.count;
  });
  const bool kept = counted && (marked != Mark::kNone || others_.insert(made));
  return {.kept = kept, .has_new_pages = has_new_pages || !counted};
}

Entry Allocations::take(std::uint64_t address) {
  Entry taken{};
  pages_.change(address / kPageBytes, [&](Entry& page) {
    if (!unmark(page, address)) return;
    taken = {.key = address,
             .bytes = kPageBytes,
             .owner = page.owner,
             .count = 1,
             .device = page.device,
             .kind = static_cast<std::uint16_t>(Kind::kSmall)};
  });
  return taken.key != 0 ? taken : others_.take(address);
}

void Allocations::put_back(const Entry& taken) {
  Mark marked = Mark::kNone;
  if (is_small(taken)) {
    pages_.change(taken.key / kPageBytes, [&](Entry& page) { marked = mark(page, taken); });
  }
  if (marked == Mark::kNone) (void)others_.insert(taken);
}

bool Allocations::freed(const Entry& taken) {
  if (!is_small(taken)) return true;
  bool last = true;
  pages_.change(taken.key / kPageBytes, [&](Entry& page) {
    last = --page.count == 0;
    if (last) drop_marks(page);
  });
  return last;
}

Allocations::Mark Allocations::mark(Entry& page, const Entry& made) {
  if (page.owner != made.owner || made.key % kGrain != 0) return Mark::kNone;
  if (page.bytes == 0) page.bytes = std::bit_cast<std::uint64_t>(new_marks());
  if (page.bytes == 0) return Mark::kNone;
  auto* marks = std::bit_cast<Marks*>(page.bytes);
  const Bit bit = bit_of(marks->words, made.key % kPageBytes / kGrain);
  if ((*bit.word & bit.mask) != 0) return Mark::kSet;
  *bit.word |= bit.mask;
  ++marks->set;
  return Mark::kNew;
}

bool Allocations::unmark(Entry& page, std::uint64_t address) {
  if (page.bytes == 0 || address % kGrain != 0) return false;
  auto* marks = std::bit_cast<Marks*>(page.bytes);
  const Bit bit = bit_of(marks->words, address % kPageBytes / kGrain);
  if ((*bit.word & bit.mask) == 0) return false;
  *bit.word &= ~bit.mask;
  --marks->set;
  return true;
}

// Whether the page has no other allocations left.
bool Allocations::unmark_all(Entry& page) {
  auto* marks = std::bit_cast<Marks*>(page.bytes);
  if (marks != nullptr) {
    page.count -= static_cast<std::uint32_t>(marks->set);
    marks->set = 0;
    for (std::uint64_t& word : marks->words) word = 0;
  }
  if (page.count == 0) drop_marks(page);
  return page.count == 0;
}

void Allocations::drop_marks(Entry& page) {
  auto* marks = std::bit_cast<Marks*>(page.bytes);
  page.bytes = 0;
  if (marks == nullptr) return;
  const Lock lock(mutex_);
  marks->next_free = free_;
  free_ = marks;
}

// All zeros; null where there is no memory.
Allocations::Marks* Allocations::new_marks() {
  const Lock lock(mutex_);
  if (free_ == nullptr) {
    auto* made = static_cast<Marks*>(map_memory(kMarksMade * sizeof(Marks)));
    if (made == nullptr) return nullptr;
    for (std::size_t i = 0; i < kMarksMade; ++i) {
      made[i].next_free = free_;
      free_ = &made[i];
    }
  }
  Marks* marks = free_;
  free_ = marks->next_free;
  marks->next_free = nullptr;
  return marks;
}

}  // namespace berth::guard
