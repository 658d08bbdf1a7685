// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/range_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace berth::simgpu {
namespace {

TEST(RangeSet, TakesTheFirstRangeThatFits) {
  RangeSet ranges(10);
  EXPECT_EQ(ranges.take(4), 0U);
  EXPECT_EQ(ranges.take(4), 4U);
  EXPECT_EQ(ranges.take(4), std::nullopt);
  ranges.give(0, 4);
  EXPECT_EQ(ranges.take(2), 0U);
  EXPECT_EQ(ranges.take(2), 2U);
  EXPECT_EQ(ranges.take(2), 8U);
  EXPECT_TRUE(ranges.empty());
}

TEST(RangeSet, NeighboursAreJoinedInEveryOrder) {
  const std::uint64_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
  for (const auto& order : orders) {
    RangeSet ranges(9);
    ASSERT_EQ(ranges.take(9), 0U);
    for (const std::uint64_t third : order) ranges.give(third * 3, 3);
    EXPECT_TRUE(ranges.is_whole(9));
  }
}

TEST(RangeSet, NeverGivesAUnitTwiceAndGetsAllBack) {
  constexpr std::uint64_t kUnits = 500;
  RangeSet ranges(kUnits);
  std::map<std::uint64_t, std::uint64_t> taken;
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t units = 1 + random() % 40;
    if (random() % 2 == 0) {
      const std::optional<std::uint64_t> start = ranges.take(units);
      if (!start) continue;
      const auto after = taken.lower_bound(*start);
      ASSERT_TRUE(after == taken.end() || *start + units <= after->first);
      ASSERT_TRUE(after == taken.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= *start);
      ASSERT_LE(*start + units, kUnits);
      taken.emplace(*start, units);
    } else if (!taken.empty()) {
      const auto some = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      ranges.give(some->first, some->second);
      taken.erase(some);
    }
  }
  for (const auto& [start, units] : taken) ranges.give(start, units);
  EXPECT_TRUE(ranges.is_whole(kUnits));
}

}  // namespace
}  // namespace berth::simgpu
