// SPDX-License-Identifier: Apache-2.0
#include "cli/run/leak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

std::vector<history::Bucket> life(std::int64_t seconds_long,
                                  const std::function<std::uint64_t(std::int64_t)>& mib_at) {
  std::vector<history::Bucket> buckets;
  for (std::int64_t at = 0; at <= seconds_long; ++at) {
    const Bytes bytes = mib(mib_at(at));
    buckets.push_back({.start = 1'000 + at, .least = bytes, .most = bytes, .total = bytes.value});
  }
  return buckets;
}

std::uint64_t count(std::int64_t at) {
  return static_cast<std::uint64_t>(at);
}

TEST(RunLeak, SteadyGrowthIsALeakWithItsRate) {
  const auto leak = leak_in(life(120, [](std::int64_t at) { return 1'000 + 10 * count(at); }));
  ASSERT_TRUE(leak);
  EXPECT_EQ(leak->span, seconds(60));
  EXPECT_EQ(leak->a_minute, mib(600));
  EXPECT_EQ(leak->growth, mib(600));
  EXPECT_THAT(leak_text(*leak), HasSubstr("about 600 MiB a minute (600 MiB in 1m): a leak?"));
}

TEST(RunLeak, GrowthUnderAllocationsThatComeAndGoIsALeakToo) {
  EXPECT_TRUE(leak_in(life(
      300, [](std::int64_t at) { return 2'000 + 3 * count(at) + (at % 2 == 0 ? 1'500U : 0U); })));
}

TEST(RunLeak, AProgramThatTakesItsMemoryAtTheStartHasNone) {
  EXPECT_FALSE(leak_in(life(300, [](std::int64_t) { return 8'000; })));
  EXPECT_FALSE(
      leak_in(life(300, [](std::int64_t at) { return at < 90 ? 80 * count(at) : 7'200U; })));
  EXPECT_FALSE(leak_in(life(300, [](std::int64_t at) { return 4'000 + count(at % 7) * 500; })));
}

TEST(RunLeak, ThatItHasEndedWhenItWasLookedAtLastHidesNone) {
  EXPECT_TRUE(
      leak_in(life(121, [](std::int64_t at) { return at > 119 ? 0 : 1'000 + 10 * count(at); })));
}

TEST(RunLeak, OneStepIsNone) {
  EXPECT_FALSE(leak_in(life(300, [](std::int64_t at) { return at < 200 ? 4'000 : 8'000; })));
}

TEST(RunLeak, WhatIsGivenBackIsNone) {
  EXPECT_FALSE(leak_in(
      life(300, [](std::int64_t at) { return 1'000 + 10 * count(at < 200 ? at : 300 - at); })));
}

TEST(RunLeak, LittleIsNone) {
  EXPECT_FALSE(leak_in(life(60, [](std::int64_t at) { return 1'000 + count(at); })));    // 30 MiB.
  EXPECT_FALSE(leak_in(life(600, [](std::int64_t at) { return 40'000 + count(at); })));  // 1 %.
}

TEST(RunLeak, AShortLifeTellsNothing) {
  EXPECT_FALSE(leak_in({}));
  EXPECT_FALSE(leak_in(life(19, [](std::int64_t at) { return 1'000 + 100 * count(at); })));
  EXPECT_TRUE(leak_in(life(30, [](std::int64_t at) { return 1'000 + 100 * count(at); })));
  // Seconds of which nothing is known: a part without any tells nothing.
  auto gap = life(300, [](std::int64_t at) { return 1'000 + 100 * count(at); });
  std::erase_if(
      gap, [](const history::Bucket& each) { return each.start > 1'120 && each.start < 1'250; });
  EXPECT_FALSE(leak_in(gap));
}

}  // namespace
}  // namespace berth::cli
