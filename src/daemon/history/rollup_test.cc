// SPDX-License-Identifier: Apache-2.0
#include "history/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kNoon = 1'770'465'600;  // 2026-02-07T12:00:00Z: a whole minute and hour.

Bucket second(std::int64_t at, std::uint64_t value) {
  return {.start = at, .known = 1, .least = {value}, .most = {value}, .total = value};
}

std::vector<Bucket> constant(std::int64_t from, std::uint32_t count, std::uint64_t value) {
  std::vector<Bucket> seconds;
  for (std::uint32_t i = 0; i < count; ++i) seconds.push_back(second(from + i, value));
  return seconds;
}

TEST(RollUp, KeepsLeastMostAndTheMeanOverTime) {
  const std::vector<Bucket> minute =
      rolled_up(std::vector{second(kNoon, 10), second(kNoon + 1, 40), second(kNoon + 59, 100)}, 60);
  ASSERT_EQ(minute.size(), 1U);
  EXPECT_EQ(minute[0],
            (Bucket{.start = kNoon, .known = 3, .least = {10}, .most = {100}, .total = 150}));
  EXPECT_EQ(minute[0].mean(), Bytes{50});
}

TEST(RollUp, BeginsANewSpanAtEachWholeStep) {
  const std::vector<Bucket> minutes =
      rolled_up(std::vector{second(kNoon + 59, 1), second(kNoon + 60, 2)}, 60);
  ASSERT_EQ(minutes.size(), 2U);
  EXPECT_EQ(minutes[1].start, kNoon + 60);
}

TEST(RollUp, TimeOfWhichNothingIsKnownHasNoBucket) {
  const std::vector<Bucket> minutes =
      rolled_up(std::vector{second(kNoon, 1), second(kNoon + 600, 2)}, 60);
  EXPECT_EQ(minutes.size(), 2U);
  EXPECT_THAT(rolled_up({}, 60), IsEmpty());
}

TEST(RollUp, HoursOfMinutesAreHoursOfTheirSeconds) {
  std::vector<Bucket> seconds;
  for (std::int64_t i = 0; i < 7'200; i += 7) {
    seconds.push_back(second(kNoon + i, static_cast<std::uint64_t>(i * i % 1'000)));
  }
  EXPECT_EQ(rolled_up(rolled_up(seconds, 60), 3'600), rolled_up(seconds, 3'600));
  EXPECT_EQ(rolled_up(runs_of(seconds), 3'600), rolled_up(seconds, 3'600));
}

TEST(Runs, SecondsThatFollowWithTheSameValueAreOneBucket) {
  const std::vector<Bucket> runs = runs_of(constant(kNoon, 10, 8));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].known, 10U);
  EXPECT_EQ(runs[0].total, 80U);
}

TEST(Runs, AChangeAGapAndANewMinuteEndThem) {
  EXPECT_EQ(runs_of(std::vector{second(kNoon, 1), second(kNoon + 1, 2)}).size(), 2U);
  EXPECT_EQ(runs_of(std::vector{second(kNoon, 1), second(kNoon + 2, 1)}).size(), 2U);
  EXPECT_EQ(runs_of(constant(kNoon + 55, 10, 1)).size(), 2U);
}

TEST(Runs, AreTakenApartWhereTheStepIsFiner) {
  const std::vector<Bucket> runs = runs_of(constant(kNoon + 3, 12, 8));
  const std::vector<Bucket> steps = rolled_up(runs, 5);
  EXPECT_EQ(steps, rolled_up(constant(kNoon + 3, 12, 8), 5));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].known, 2U);
  EXPECT_EQ(steps[1].known, 5U);
  EXPECT_EQ(steps[2].known, 5U);
}

TEST(Starts, AreWholeBefore1970Too) {
  EXPECT_EQ(start_of(-1, 60), -60);
  EXPECT_EQ(start_of(61, 60), 60);
}

constexpr Retention kKept = {
    .second = hours(2), .minute = hours(168), .hour = hours(2'160), .size_max = gib(1)};

TEST(Grains, CoarsestOfWhichTheStepIsMadeIsRead) {
  EXPECT_EQ(grain_for(1, hours(1), kKept), Grain::kSecond);
  EXPECT_EQ(grain_for(30, hours(1), kKept), Grain::kSecond);
  EXPECT_EQ(grain_for(60, hours(1), kKept), Grain::kMinute);
  EXPECT_EQ(grain_for(90, hours(1), kKept), Grain::kSecond);
  EXPECT_EQ(grain_for(7'200, hours(24), kKept), Grain::kHour);
}

TEST(Grains, WhatIsNotKeptSoLongIsReadFromWhatIs) {
  EXPECT_EQ(grain_for(1, hours(3), kKept), Grain::kMinute);
  EXPECT_EQ(grain_for(1, hours(192), kKept), Grain::kHour);
  EXPECT_EQ(grain_for(1, hours(2'400), kKept), Grain::kHour);
  EXPECT_EQ(step_from(Grain::kMinute, 1), 60U);
  EXPECT_EQ(step_from(Grain::kMinute, 90), 120U);
  EXPECT_EQ(step_from(Grain::kHour, 7'200), 7'200U);
}

TEST(Steps, AreAboutSixtyAndRound) {
  EXPECT_EQ(step_for(seconds(10)), 1U);
  EXPECT_EQ(step_for(hours(1)), 60U);
  EXPECT_EQ(step_for(hours(24)), 1'800U);
  EXPECT_EQ(step_for(hours(8'760)), 86'400U);
}

}  // namespace
}  // namespace berth::history
