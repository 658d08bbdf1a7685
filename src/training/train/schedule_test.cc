// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <gtest/gtest.h>

namespace berth::train {
namespace {

ScheduleConfig config(Schedule shape) {
  return {.shape = shape,
          .rate = 1,
          .rate_min_share = 0.1,
          .decay_share = 0.4,
          .warmup_steps = 10,
          .steps = 101};
}

TEST(Schedule, EveryShapeRisesInAStraightLineFirst) {
  for (const Schedule shape : {Schedule::kConstant, Schedule::kCosine, Schedule::kStableDecay}) {
    EXPECT_DOUBLE_EQ(rate_at(config(shape), 0), 0.1);
    EXPECT_DOUBLE_EQ(rate_at(config(shape), 4), 0.5);
    EXPECT_DOUBLE_EQ(rate_at(config(shape), 9), 1);
    EXPECT_DOUBLE_EQ(rate_at(config(shape), 10), 1);
  }
}

TEST(Schedule, CosineIsHalfwayInTheMiddleAndLowestAtTheEnd) {
  const ScheduleConfig cosine = config(Schedule::kCosine);
  EXPECT_NEAR(rate_at(cosine, 55), 0.55, 1e-12);
  EXPECT_NEAR(rate_at(cosine, 100), 0.1, 1e-12);
  EXPECT_NEAR(rate_at(cosine, 500), 0.1, 1e-12);
  EXPECT_GT(rate_at(cosine, 20), 0.95);
}

TEST(Schedule, StableDecayStaysAndThenFallsInAStraightLine) {
  ScheduleConfig stable = config(Schedule::kStableDecay);
  stable.steps = 100;  // It falls from step 60 to step 99.
  EXPECT_DOUBLE_EQ(rate_at(stable, 60), 1);
  EXPECT_NEAR(rate_at(stable, 99), 0.1, 1e-12);
  const double slope = rate_at(stable, 70) - rate_at(stable, 71);
  EXPECT_NEAR(rate_at(stable, 90) - rate_at(stable, 91), slope, 1e-12);
  EXPECT_NEAR(slope, 0.9 / 39, 1e-12);
}

TEST(Schedule, ConstantStays) {
  EXPECT_DOUBLE_EQ(rate_at(config(Schedule::kConstant), 100), 1);
}

TEST(Schedule, TheRateIsStableOnlyBetweenWarmupAndDecay) {
  ScheduleConfig stable = config(Schedule::kStableDecay);
  stable.steps = 100;
  EXPECT_FALSE(rate_is_stable(stable, 9, 1));
  EXPECT_TRUE(rate_is_stable(stable, 10, 15));
  EXPECT_TRUE(rate_is_stable(stable, 45, 15));
  EXPECT_FALSE(rate_is_stable(stable, 50, 15));
  EXPECT_FALSE(rate_is_stable(stable, 80, 15));
  EXPECT_FALSE(rate_is_stable(config(Schedule::kCosine), 50, 15));
  EXPECT_TRUE(rate_is_stable(config(Schedule::kConstant), 50, 15));
}

TEST(Schedule, RunsShorterThanTheirWarmupHaveARateToo) {
  ScheduleConfig odd = config(Schedule::kCosine);
  odd.steps = 5;
  EXPECT_DOUBLE_EQ(rate_at(odd, 4), 0.5);
  odd.steps = 0;
  EXPECT_DOUBLE_EQ(rate_at(odd, 50), 1);
}

TEST(Schedule, StepsAreMadeAheadOnlyWhereTheRateIsHigh) {
  ScheduleConfig stable = config(Schedule::kStableDecay);
  stable.steps = 90;
  EXPECT_EQ(lookahead_at(stable, 9), 0) << "the warmup";
  EXPECT_DOUBLE_EQ(lookahead_at(stable, 10), 1);
  EXPECT_EQ(lookahead_at(stable, 60), 0) << "the last third";
  ScheduleConfig cosine = config(Schedule::kCosine);
  cosine.rate = 0.5;
  EXPECT_DOUBLE_EQ(lookahead_at(cosine, 40), rate_at(cosine, 40) / 0.5);
  EXPECT_LT(lookahead_at(cosine, 40), 0.9);
}

}  // namespace
}  // namespace berth::train
