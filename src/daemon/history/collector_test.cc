// SPDX-License-Identifier: Apache-2.0
#include "history/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::history {
namespace {

using testing::IsEmpty;

constexpr DeviceId kCard = {.high = 1, .low = 2};
constexpr UnixMs kNoonMs = {1'770'465'600'000};

UnixMs after(std::int64_t ms) {
  return {kNoonMs.value + ms};
}

Reading used(std::uint64_t value, std::int32_t pid = 0) {
  return {.subject = {.device = kCard, .process = {pid, 0}}, .value = {value}, .name = "n"};
}

TEST(Collector, SeveralLooksInOneSecondAreOneBucket) {
  Collector collector;
  collector.add(used(10), after(0));
  collector.add(used(40), after(300));
  collector.add(used(10), after(999));
  const std::vector<Series> taken = collector.take_before(after(1'000));
  ASSERT_EQ(taken.size(), 1U);
  ASSERT_EQ(taken[0].buckets.size(), 1U);
  EXPECT_EQ(
      taken[0].buckets[0],
      (Bucket{
          .start = kNoonMs.value / 1'000, .known = 1, .least = {10}, .most = {40}, .total = 20}));
}

TEST(Collector, TheSecondUnderWayStaysUntilItIsOver) {
  Collector collector;
  collector.add(used(1), after(0));
  collector.add(used(2), after(1'000));
  EXPECT_EQ(collector.take_before(after(1'500))[0].buckets.size(), 1U);
  EXPECT_THAT(collector.take_before(after(1'999)), IsEmpty());
  collector.add(used(4), after(1'999));
  const std::vector<Series> rest = collector.take_before(after(2'000));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].buckets[0].total, 3U);
  EXPECT_THAT(collector.take_all(), IsEmpty());
}

TEST(Collector, AtTheEndNothingIsLeft) {
  Collector collector;
  collector.add(used(1), after(0));
  EXPECT_EQ(collector.take_all().size(), 1U);
  EXPECT_THAT(collector.take_all(), IsEmpty());
}

TEST(Collector, WhatIsBeyondTheBoundsIsCountedNotKept) {
  Collector collector;
  for (std::size_t i = 0; i <= Collector::kSubjectsMax; ++i) {
    collector.add(used(1, static_cast<std::int32_t>(i + 1)), after(0));
  }
  EXPECT_EQ(collector.take_left_out(), 1U);
  EXPECT_EQ(collector.take_left_out(), 0U);
  EXPECT_EQ(collector.take_all().size(), Collector::kSubjectsMax);
  for (std::size_t i = 0; i < Collector::kSecondsMax + 5; ++i) {
    collector.add(used(1), after(static_cast<std::int64_t>(i) * 1'000));
  }
  EXPECT_EQ(collector.take_left_out(), 5U);
}

TEST(Collector, AFigureThatCannotBeIsBounded) {
  Collector collector;
  for (int i = 0; i < 20'000; ++i) collector.add(used(~std::uint64_t{0}), after(0));
  const Bucket bucket = collector.take_all()[0].buckets[0];
  EXPECT_EQ(bucket.total, bucket.most.value);
}

}  // namespace
}  // namespace berth::history
