// SPDX-License-Identifier: Apache-2.0
#include "train/shuffle.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::train {
namespace {

std::vector<std::uint64_t> order(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(shuffled(i, count, seed));
  return all;
}

TEST(Shuffle, EachThingComesOnce) {
  for (const std::uint64_t count : {1U, 2U, 3U, 64U, 65U, 1000U, 4096U}) {
    std::vector<int> seen(count);
    for (const std::uint64_t at : order(count, 7)) {
      ASSERT_LT(at, count);
      ++seen[at];
    }
    EXPECT_EQ(seen, std::vector<int>(count, 1)) << count;
  }
}

TEST(Shuffle, TheSeedDecidesTheOrder) {
  EXPECT_EQ(order(1000, 7), order(1000, 7));
  EXPECT_NE(order(1000, 7), order(1000, 8));
}

TEST(Shuffle, NeighboursAreTornApart) {
  const std::vector<std::uint64_t> all = order(10'000, 3);
  int neighbours = 0;
  std::uint64_t in_place = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[i - 1] + 1) ++neighbours;
    if (all[i] == i) ++in_place;
  }
  EXPECT_LT(neighbours, 10);
  EXPECT_LT(in_place, 10U);
}

}  // namespace
}  // namespace berth::train
