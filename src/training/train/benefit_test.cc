// SPDX-License-Identifier: Apache-2.0
#include "train/benefit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace berth::train {
namespace {

// Ten steps, predicted to bring the loss from 3 to 2.
constexpr Trial kTrial{
    .steps = 10, .loss_before = 3, .drop_per_step = 0.1, .cost = 0.5, .speedup_wanted = 0.5};

TEST(Jump, TheLengthWithTheLowestLossIsTaken) {
  const std::vector<Candidate> tried = {{0.5, 2.6}, {1, 2.2}, {2, 2.4}};
  const Judgement judgement = judge(kTrial, tried);
  EXPECT_EQ(judgement.share, 1);
  EXPECT_EQ(judgement.loss, 2.2);
  EXPECT_NEAR(judgement.speedup, 0.8, 1e-12);
}

TEST(Jump, IsRejectedIfItsSpeedupIsNotTheOneWanted) {
  const std::vector<Candidate> tried = {{0.5, 2.8}, {1, 2.6}};
  const Judgement judgement = judge(kTrial, tried);
  EXPECT_EQ(judgement.share, 0);
  EXPECT_EQ(judgement.loss, 3);
  EXPECT_NEAR(judgement.speedup, 0.4, 1e-12);
}

TEST(Jump, IsRejectedIfNoLengthIsBetterThanStaying) {
  Trial trial = kTrial;
  trial.speedup_wanted = 0;
  EXPECT_EQ(judge(trial, std::vector<Candidate>{{0.5, 3}, {1, 3.1}}).share, 0);
  EXPECT_EQ(judge(trial, {}).share, 0);
}

TEST(Jump, WhatIsNotFiniteIsNeverTaken) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<Candidate> tried = {{0.5, std::nan("")}, {1, -infinite}, {2, infinite}};
  EXPECT_EQ(judge(kTrial, tried).share, 0);
}

TEST(Jump, OfUnknownSpeedupIsRejected) {
  Trial trial = kTrial;
  trial.drop_per_step = 0;
  EXPECT_EQ(judge(trial, std::vector<Candidate>{{1, 2.0}}).share, 0);
  trial.drop_per_step = -0.1;
  EXPECT_EQ(judge(trial, std::vector<Candidate>{{1, 2.0}}).share, 0);
}

BenefitEstimate after(int trials, double speedup) {
  BenefitEstimate benefit;
  for (int i = 0; i < trials; ++i)
    benefit.add(kTrial, {.share = speedup > 0 ? 1.0 : 0, .speedup = speedup});
  return benefit;
}

TEST(Benefit, NothingIsKnownBeforeTheFirstTrial) {
  EXPECT_EQ(BenefitEstimate().confidence(), std::nullopt);
  EXPECT_TRUE(BenefitEstimate().pays());
}

TEST(Benefit, PredictionIsSwitchedOffOnceEnoughTrialsWonNothing) {
  EXPECT_TRUE(after(BenefitEstimate::kTrialsMin - 1, 0).pays());
  EXPECT_FALSE(after(BenefitEstimate::kTrialsMin, 0).pays());
  EXPECT_NEAR(after(BenefitEstimate::kTrialsMin, 0).net_steps(), -0.5, 1e-12);
}

TEST(Benefit, WhatIsWonIsSpeedupTimesStepsLessTheCost) {
  EXPECT_NEAR(after(6, 0.8).net_steps(), 0.8 * 10 - 0.5, 1e-12);
  EXPECT_TRUE(after(6, 0.8).pays());
  EXPECT_FALSE(after(6, 0.04).pays());
}

TEST(Benefit, ConfidenceIsMeasuredSpeedup) {
  EXPECT_NEAR(*after(5, 0.8).confidence(), 0.8, 1e-12);
  EXPECT_NEAR(*after(5, 3).confidence(), 1, 1e-12);
  EXPECT_NEAR(*after(5, 0).confidence(), 0, 1e-12);
}

TEST(Benefit, RejectedJumpsHaveNoSpeedupThoughTheyLookedGood) {
  BenefitEstimate benefit;
  benefit.add(kTrial, {.share = 0, .speedup = 0.4});
  EXPECT_EQ(benefit.confidence(), 0);
  EXPECT_NEAR(benefit.net_steps(), -0.5, 1e-12);
}

TEST(Benefit, ANewRegimeBeginsWithoutPrejudice) {
  BenefitEstimate benefit = after(10, 0);
  benefit.begin_regime();
  EXPECT_TRUE(benefit.pays());
  EXPECT_EQ(benefit.confidence(), std::nullopt);
}

TEST(Benefit, IsSaved) {
  BenefitEstimate whole = after(7, 0.3);
  StateText saved;
  whole.visit(saved);
  BenefitEstimate resumed;
  StateText loaded(saved.values());
  resumed.visit(loaded);
  EXPECT_TRUE(loaded.outcome().ok());
  EXPECT_EQ(resumed.confidence(), whole.confidence());
  EXPECT_EQ(resumed.net_steps(), whole.net_steps());
}

}  // namespace
}  // namespace berth::train
