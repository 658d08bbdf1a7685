// SPDX-License-Identifier: Apache-2.0
#include "guard/table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace berth::guard {
namespace {

// As the guard has it: in memory that is zero.
struct ZeroedTable {
  void* memory = map_memory(sizeof(Table));
  Table& table = *static_cast<Table*>(memory);
  ZeroedTable() = default;
  ~ZeroedTable() { unmap(memory, sizeof(Table)); }
  ZeroedTable(const ZeroedTable&) = delete;
  ZeroedTable& operator=(const ZeroedTable&) = delete;
};

Entry entry(std::uint64_t key, std::uint64_t bytes, std::uint64_t owner = 0) {
  return {.key = key, .bytes = bytes, .owner = owner, .count = 1, .device = 0, .kind = 0};
}

// NOLINTNEXTLINE(bugprone-exception-escape)
RC_GTEST_PROP(Table, RandomCallsAgreeWithAMap, ()) {
  const ZeroedTable zeroed;
  std::map<std::uint64_t, std::uint64_t> model;
  // Few keys, of all kinds of distances, so that they meet one another in every way.
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint64_t, int>>>(
      rc::gen::pair(rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 600),
                                 [](std::uint64_t n) { return n << (n % 3 * 10); }),
                    rc::gen::inRange(0, 5)));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto [key, what] = steps[i];
    if (what < 3) {
      RC_ASSERT(zeroed.table.insert(entry(key, i)));
      model[key] = i;
    } else {
      const Entry taken = zeroed.table.take(key);
      RC_ASSERT((taken.key != 0) == model.contains(key));
      if (taken.key != 0) RC_ASSERT(taken.bytes == model.at(key));
      model.erase(key);
    }
  }
  RC_ASSERT(zeroed.table.size() == model.size());
  for (const auto& [key, bytes] : model) RC_ASSERT(zeroed.table.find(key).bytes == bytes);
}

TEST(Table, HoldsAHundredThousandEntries) {
  const ZeroedTable zeroed;
  constexpr std::uint64_t kCount = 100'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) ASSERT_TRUE(zeroed.table.insert(entry(i << 9U, i)));
  EXPECT_EQ(zeroed.table.size(), kCount);
  for (std::uint64_t i = 1; i <= kCount; ++i) ASSERT_EQ(zeroed.table.take(i << 9U).bytes, i);
  EXPECT_EQ(zeroed.table.size(), 0U);
}

TEST(Table, AgreesWithAMapWhileItGrows) {
  const ZeroedTable zeroed;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(7);  // NOLINT(bugprone-random-generator-seed): the same calls each time.
  std::size_t moving = 0;
  for (std::uint64_t i = 0; i < 400'000; ++i) {
    // At first most calls insert, in the end most take out.
    const std::uint64_t key = (random() % 60'000 + 1) << 21U;
    if (random() % 400'000 >= i) {
      ASSERT_TRUE(zeroed.table.insert(entry(key, i)));
      model[key] = i;
    } else if (random() % 4 == 0) {
      const auto known = model.find(key);
      const Entry found = zeroed.table.find(key);
      ASSERT_EQ(found.key != 0, known != model.end());
      ASSERT_EQ(found.bytes, known == model.end() ? 0 : known->second);
    } else {
      ASSERT_EQ(zeroed.table.take(key).key != 0, model.erase(key) > 0);
    }
    if (i % 64 == 0 && zeroed.table.places_to_move() > 0) ++moving;
  }
  EXPECT_GT(moving, 100U);
  EXPECT_EQ(zeroed.table.size(), model.size());
  for (const auto& [key, bytes] : model) ASSERT_EQ(zeroed.table.find(key).bytes, bytes);
}

TEST(Table, NoCallMovesMoreThanAFewPlaces) {
  const ZeroedTable zeroed;
  std::size_t before = 0;
  std::size_t most = 0;
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    (void)zeroed.table.insert(entry(i << 21U, i));
    const std::size_t after = zeroed.table.places_to_move();
    ASSERT_LE(before, after + 8) << i;
    before = after;
    most = std::max(most, after);
  }
  EXPECT_GT(most, 10'000U) << "nothing was left to be moved later";
}

TEST(Table, WhatGrowsIsLookedAtEntirely) {
  const ZeroedTable zeroed;
  std::uint64_t count = 0;
  while (zeroed.table.places_to_move() < 1'000) {
    ++count;
    (void)zeroed.table.insert(entry(count << 21U, count, 1));
  }
  EXPECT_EQ(zeroed.table.find_if([](const Entry& e) { return e.bytes == 1; }).key, 1U << 21U);
  std::uint64_t taken = 0;
  zeroed.table.take_all([](const Entry& e) { return e.owner == 1; },
                        [&](const Entry&) { ++taken; });
  EXPECT_EQ(taken, count);
  EXPECT_EQ(zeroed.table.size(), 0U);
}

TEST(Table, TakesAllOfOneOwner) {
  const ZeroedTable zeroed;
  for (std::uint64_t i = 1; i <= 5'000; ++i) (void)zeroed.table.insert(entry(i << 21U, i, i % 3));
  std::uint64_t taken = 0;
  zeroed.table.take_all([](const Entry& e) { return e.owner == 1; },
                        [&](const Entry& e) { taken += e.owner == 1 ? 1 : 1'000'000; });
  EXPECT_EQ(taken, 1'667U);
  EXPECT_EQ(zeroed.table.size(), 5'000U - 1'667U);
}

TEST(Table, AnEntryThatCountsToZeroIsGone) {
  const ZeroedTable zeroed;
  for (int i = 0; i < 3; ++i) (void)zeroed.table.update(9, [](Entry& e) { ++e.count; });
  EXPECT_EQ(zeroed.table.find(9).count, 3U);
  for (int i = 0; i < 3; ++i) (void)zeroed.table.update(9, [](Entry& e) { --e.count; });
  EXPECT_EQ(zeroed.table.size(), 0U);
}

TEST(Table, ThreadsDoNotLoseOneAnothersEntries) {
  const ZeroedTable zeroed;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 1; i <= 2'000; ++i) {
        (void)zeroed.table.insert(entry(t << 40U | i << 21U, i));
        if (i % 2 == 0) (void)zeroed.table.take(t << 40U | i << 21U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(zeroed.table.size(), 4'000U);
}

}  // namespace
}  // namespace berth::guard
