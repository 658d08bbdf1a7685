// SPDX-License-Identifier: Apache-2.0
#include "guard/allocations.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace berth::guard {
namespace {

constexpr std::uint64_t kHere = std::uint64_t{7} << 40U;
constexpr auto kOfSmall = static_cast<std::uint16_t>(Kind::kSmall);
constexpr auto kOfLarge = static_cast<std::uint16_t>(Kind::kMemory);

Entry made_at(std::uint64_t address, std::uint64_t context = 1, std::uint16_t kind = kOfSmall) {
  return {
      .key = address, .bytes = kPageBytes, .owner = context, .count = 1, .device = 0, .kind = kind};
}

class AllocationsTest : public testing::Test {
 protected:
  // As the guard has it: in memory that is zero.
  AllocationsTest() : memory_(map_memory(sizeof(Allocations))) {}
  ~AllocationsTest() override { unmap(memory_, sizeof(Allocations)); }

  Allocations& all() { return *static_cast<Allocations*>(memory_); }
  bool has_new_pages(const Entry& made) {
    const Allocations::Added added = all().add(made);
    EXPECT_TRUE(added.kept);
    return added.has_new_pages;
  }
  /// Frees it: whether pages came free; nothing if it was not known.
  std::optional<bool> free(std::uint64_t address) {
    const Entry taken = all().take(address);
    if (taken.key == 0) return std::nullopt;
    return all().freed(taken);
  }
  std::size_t pages_released_with(std::uint64_t context) {
    std::size_t pages = 0;
    all().context_gone(context, [&](const Entry& entry) { pages += entry.bytes / kPageBytes; });
    return pages;
  }

 private:
  void* memory_;
};

TEST_F(AllocationsTest, SmallOnesTakeTheirPageOnceAndGiveItBackWithTheLast) {
  EXPECT_TRUE(has_new_pages(made_at(kHere)));
  EXPECT_FALSE(has_new_pages(made_at(kHere + 256)));
  EXPECT_FALSE(has_new_pages(made_at(kHere + kPageBytes - 256)));
  EXPECT_TRUE(has_new_pages(made_at(kHere + kPageBytes)));
  EXPECT_EQ(free(kHere), false);
  EXPECT_EQ(free(kHere + kPageBytes - 256), false);
  EXPECT_EQ(free(kHere + 256), true);
  EXPECT_EQ(free(kHere + kPageBytes), true);
}

TEST_F(AllocationsTest, NothingIsFreedThatIsNotThere) {
  EXPECT_TRUE(has_new_pages(made_at(kHere + 512)));
  for (const std::uint64_t address : {kHere, kHere + 256, kHere + 513, kHere + kPageBytes + 512}) {
    EXPECT_EQ(free(address), std::nullopt) << address - kHere;
  }
  EXPECT_EQ(free(kHere + 512), true);
  EXPECT_EQ(free(kHere + 512), std::nullopt);
}

TEST_F(AllocationsTest, WhatTheDriverDidNotFreeIsThereStill) {
  EXPECT_TRUE(has_new_pages(made_at(kHere)));
  EXPECT_TRUE(has_new_pages(made_at(kHere + kPageBytes, 1, kOfLarge)));
  for (const std::uint64_t address : {kHere, kHere + kPageBytes}) {
    const Entry taken = all().take(address);
    all().put_back(taken);
    EXPECT_EQ(free(address), true);
    EXPECT_EQ(free(address), std::nullopt);
  }
}

// Its page was counted for it already, and is not counted a second time.
TEST_F(AllocationsTest, AnAddressThatComesAgainWasFreedUnseen) {
  EXPECT_TRUE(has_new_pages(made_at(kHere)));
  EXPECT_FALSE(has_new_pages(made_at(kHere)));
  EXPECT_EQ(free(kHere), true);
}

TEST_F(AllocationsTest, OneThatLiesCrookedIsCountedWithItsPage) {
  EXPECT_TRUE(has_new_pages(made_at(kHere + 8)));
  EXPECT_FALSE(has_new_pages(made_at(kHere + 256)));
  EXPECT_EQ(free(kHere + 256), false);
  EXPECT_EQ(free(kHere + 8), true);
}

TEST_F(AllocationsTest, AContextLeavesToOthersThePagesInWhichTheyHaveSomething) {
  EXPECT_TRUE(has_new_pages(made_at(kHere, 1)));
  EXPECT_FALSE(has_new_pages(made_at(kHere + 256, 2)));
  EXPECT_TRUE(has_new_pages(made_at(kHere + kPageBytes, 1)));
  EXPECT_TRUE(has_new_pages(made_at(kHere + 2 * kPageBytes, 2)));
  EXPECT_FALSE(has_new_pages(made_at(kHere + 2 * kPageBytes + 256, 1)));
  EXPECT_TRUE(has_new_pages(made_at(kHere + 4 * kPageBytes, 1, kOfLarge)));
  EXPECT_EQ(pages_released_with(1), 2U);
  EXPECT_EQ(free(kHere), std::nullopt);
  EXPECT_EQ(free(kHere + 2 * kPageBytes + 256), std::nullopt);
  EXPECT_EQ(free(kHere + 256), true);
  EXPECT_EQ(pages_released_with(2), 1U);
}

// The memory of marks is used again: a page begins without any.
TEST_F(AllocationsTest, PagesThatComeAndGoLeaveNothingBehind) {
  for (std::uint64_t round = 0; round < 1000; ++round) {
    const std::uint64_t page = kHere + round * kPageBytes;
    ASSERT_TRUE(has_new_pages(made_at(page + 512, round)));
    ASSERT_FALSE(has_new_pages(made_at(page + 1024, round)));
    if (round % 2 == 0) {
      ASSERT_EQ(pages_released_with(round), 1U);
    } else {
      ASSERT_EQ(free(page + 512), false);
      ASSERT_EQ(free(page + 1024), true);
    }
    ASSERT_EQ(free(page + 512), std::nullopt);
  }
}

// What a driver has, and how many pages it takes.
TEST_F(AllocationsTest, RandomCallsAgreeWithAModel) {
  std::mt19937_64 random(20'261'126);
  std::map<std::uint64_t, Entry> live;
  std::uint64_t charged = 0;
  const auto pages_needed = [&] {
    std::set<std::uint64_t> pages;
    for (const auto& [address, entry] : live) pages.insert(address / kPageBytes);
    return pages.size();
  };
  const auto expect = [&](int step) { ASSERT_EQ(charged, pages_needed()) << step; };
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t what = random() % 100;
    if (what < 55) {
      const bool large = random() % 8 == 0;
      const std::uint64_t page = kHere + (large ? 64 + random() % 16 : random() % 6) * kPageBytes;
      const std::uint64_t address = large ? page : page + random() % 40 * 128;
      if (live.contains(address)) continue;
      const Entry made = made_at(address, 1 + random() % 3, large ? kOfLarge : kOfSmall);
      charged += std::uint64_t{has_new_pages(made)};
      live.emplace(address, made);
    } else if (what < 98 && !live.empty()) {
      const auto which = std::next(live.begin(), static_cast<long>(random() % live.size()));
      const Entry taken = all().take(which->first);
      ASSERT_EQ(taken.key, which->first);
      ASSERT_EQ(taken.owner, which->second.owner);
      ASSERT_EQ(taken.kind, which->second.kind);
      if (what < 65) {
        all().put_back(taken);
      } else {
        charged -= std::uint64_t{all().freed(taken)};
        live.erase(which);
      }
    } else {
      const std::uint64_t context = 1 + random() % 3;
      charged -= pages_released_with(context);
      std::erase_if(live, [&](const auto& entry) { return entry.second.owner == context; });
    }
    if (step % 16 == 0) expect(step);
  }
  for (const std::uint64_t context : {1U, 2U, 3U}) charged -= pages_released_with(context);
  EXPECT_EQ(charged, 0U);
}

}  // namespace
}  // namespace berth::guard
