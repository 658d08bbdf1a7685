// SPDX-License-Identifier: Apache-2.0
#include "sim/span.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/coordinator.h"
#include "core/state.h"
#include "core/story_for_test.h"
#include "sim/heap.h"
#include "sim/seeds.h"

namespace berth::sim {
namespace {

/// A week of 168 hours in which each day is measured twice: once when many leases live, and once
/// when few do.
Span week(std::uint64_t growth) {
  Span span(hours(168));
  for (std::int64_t day = 0; day < 7; ++day) {
    const std::uint64_t few = 20'000 + static_cast<std::uint64_t>(day) * growth;
    span.measured(hours(24 * day + 1), few + 500'000);
    span.measured(hours(24 * day + 23), few);
  }
  return span;
}

TEST(Span, TheLeastOfEachDayCounts) {
  EXPECT_EQ(week(1'000).least().front(), 20'000U);
  EXPECT_EQ(week(1'000).least()[3], 23'000U);
  EXPECT_EQ(week(1'000).least().back(), 26'000U);
}

TEST(Span, WhatIsKeptMayNotGrowWithTheDays) {
  EXPECT_EQ(week(0).check_growth(), "");
  EXPECT_EQ(week(1'000).check_growth(), "") << "tables that fill up to their bound";
  EXPECT_NE(week(10'000).check_growth(), "");
}

TEST(Span, ADayThatWasNotMeasuredShowsNothing) {
  Span span(hours(168));
  span.measured(hours(1), 20'000);
  EXPECT_NE(span.check_growth(), "");
}

TEST(Span, TheDaemonThatRunsOnTheSecondDayRunsOnTheLast) {
  EXPECT_TRUE(week(0).daemon_may_end(hours(23)));
  EXPECT_FALSE(week(0).daemon_may_end(hours(25)));
  EXPECT_FALSE(week(0).daemon_may_end(hours(200)));
  EXPECT_TRUE(Span(Duration{}).daemon_may_end(hours(200)));
}

TEST(Span, IsOverAfterItsTime) {
  EXPECT_FALSE(Span(hours(2)).is_over(hours(1)));
  EXPECT_TRUE(Span(hours(2)).is_over(hours(2)));
  EXPECT_TRUE(Span(Duration{}).is_over(Duration{}));
}

// A table with a bound of its own, that takes days to reach it, is no growth.
TEST(Span, WhatSessionsHaveHadIsNotWhatIsKept) {
  core::Story story({.order = Order::kFair, .reserve = {}});
  const auto kept = [&] { return Span::kept_by(story.coordinator, story.now); };
  const std::uint64_t before = kept();
  for (int i = 0; i < 20; ++i) {
    Request request = core::Story::budget(gib(1));
    request.session = "a session of which the name is long " + std::to_string(i);
    (void)story.ask(std::move(request), 1);
    (void)story.claim(story.handles);
    (void)story.end(story.handles);
  }
  const std::uint64_t after = kept();
  EXPECT_LE(after, before + 100) << "and all of them are over";
  (void)story.ask(core::Story::budget(gib(1)), 1);
  EXPECT_GE(kept(), after + sizeof(core::Lease));
}

TEST(Heap, WhatIsGivenBackWasAllocatedToo) {
  EXPECT_EQ(allocated_by([] {}), 0U);
  EXPECT_EQ(allocated_by([] { const std::vector<char> some(1'000); }), 1'000U);
}

// By the same rules, and one seed is one world.
TEST(Span, AWorldGoesOnForItsTime) {
  const Outcome once = run_seed(7, false, minutes(70));
  const Outcome again = run_seed(7, false, minutes(70));
  EXPECT_EQ(once.broken, "");
  EXPECT_EQ(once.trace_hash, again.trace_hash);
  EXPECT_GE(once.events, 70U * 60U) << "a sample each second";
  EXPECT_NE(once.trace_hash, run_seed(7, false).trace_hash);
}

}  // namespace
}  // namespace berth::sim
