// SPDX-License-Identifier: Apache-2.0
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace berth::train {
namespace {

// A run whose losses go to and fro by 0.1 around 2, with a gradient norm of 1.
DivergenceMonitor usual() {
  DivergenceMonitor monitor({});
  for (int i = 0; i < 40; ++i) {
    const Verdict verdict =
        monitor.observe({.loss = 2 + (i % 4 < 2 ? 0.1 : -0.1), .gradient_norm = 1});
    EXPECT_EQ(verdict.level, Level::kNormal) << i;
  }
  return monitor;
}

struct DivergenceStory {
  std::string name;
  Observation seen;
  Level level;
  std::optional<Sign> sign;
};

TEST(Divergence, Table) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<DivergenceStory> stories = {
      {"AsUsual", {.loss = 2.1, .gradient_norm = 1}, Level::kNormal, {}},
      {"AFastFallIsNoTrouble", {.loss = 0.1, .gradient_norm = 1}, Level::kNormal, {}},
      {"HighLoss", {.loss = 2.25}, Level::kCaution, Sign::kLossDeviation},
      {"HigherLoss", {.loss = 2.4}, Level::kWarning, Sign::kLossDeviation},
      {"HighestLoss", {.loss = 2.7}, Level::kCritical, Sign::kLossDeviation},
      {"LossNotANumber", {.loss = std::nan("")}, Level::kCritical, Sign::kNotFinite},
      {"LossInfinite", {.loss = infinite}, Level::kCritical, Sign::kNotFinite},
      {"GradientNotANumber",
       {.loss = 2, .gradient_norm = std::nan("")},
       Level::kCritical,
       Sign::kNotFinite},
      {"GradientStillUsual", {.loss = 2, .gradient_norm = 99}, Level::kNormal, {}},
      {"GradientExplodes",
       {.loss = 2, .gradient_norm = 101},
       Level::kWarning,
       Sign::kGradientExplosion},
      {"GradientExplodesBadly",
       {.loss = 2, .gradient_norm = 1001},
       Level::kCritical,
       Sign::kGradientExplosion},
      {"GradientVanishes",
       {.loss = 2, .gradient_norm = 0.009},
       Level::kWarning,
       Sign::kGradientVanishing},
      {"PerfectPrediction", {.prediction_error = 0.0}, Level::kNormal, {}},
      {"RoughPrediction", {.prediction_error = 0.3}, Level::kCaution, Sign::kPredictionError},
      {"AltogetherWrongPrediction",
       {.prediction_error = 1.0},
       Level::kWarning,
       Sign::kPredictionError},
  };
  for (const DivergenceStory& story : stories) {
    DivergenceMonitor monitor = usual();
    const Verdict verdict = monitor.observe(story.seen);
    EXPECT_EQ(verdict.level, story.level) << story.name;
    EXPECT_EQ(verdict.findings.empty(), !story.sign) << story.name;
    EXPECT_TRUE(!story.sign || verdict.has(*story.sign)) << story.name;
  }
}

TEST(Divergence, TheFirstLossesAreNotJudged) {
  DivergenceMonitor monitor({});
  for (const double loss : {5.0, 9.0, 5.0, 30.0}) {
    EXPECT_EQ(monitor.observe({.loss = loss, .gradient_norm = loss}).level, Level::kNormal);
  }
}

TEST(Divergence, ThreeWarningsInARowAreCritical) {
  DivergenceMonitor monitor = usual();
  const Observation wrong{.prediction_error = 0.6};
  EXPECT_EQ(monitor.observe(wrong).level, Level::kWarning);
  EXPECT_EQ(monitor.observe(wrong).level, Level::kWarning);
  EXPECT_EQ(monitor.observe(wrong).level, Level::kCritical);
}

TEST(Divergence, AGoodStepBetweenWarningsEndsTheCount) {
  DivergenceMonitor monitor = usual();
  const Observation wrong{.prediction_error = 0.6};
  monitor.observe(wrong);
  monitor.observe(wrong);
  EXPECT_EQ(monitor.observe({.loss = 2}).level, Level::kNormal);
  EXPECT_EQ(monitor.observe(wrong).level, Level::kWarning);
}

TEST(Divergence, CriticalStepsTeachNothing) {
  DivergenceMonitor monitor = usual();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(monitor.observe({.loss = 1e6, .gradient_norm = 1e6}).level, Level::kCritical);
  }
  EXPECT_EQ(monitor.observe({.loss = 2, .gradient_norm = 1}).level, Level::kNormal);
}

TEST(Divergence, ConstantSwingsAreNoOscillation) {
  DivergenceMonitor monitor({});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(monitor.observe({.loss = i % 2 == 0 ? 2.1 : 1.9}).level, Level::kNormal) << i;
  }
}

TEST(Divergence, GrowingSwingsAreOscillation) {
  DivergenceMonitor monitor({.deviation_max = 1000});
  for (int i = 0; i < 50; ++i) monitor.observe({.loss = i % 2 == 0 ? 2.01 : 1.99});
  Verdict worst;
  double swing = 0.02;
  for (int i = 0; i < 12; ++i) {
    swing *= 1.5;
    const Verdict verdict = monitor.observe({.loss = 2 + (i % 2 == 0 ? swing : -swing)});
    if (verdict.has(Sign::kOscillation)) worst = verdict;
  }
  EXPECT_TRUE(worst.has(Sign::kOscillation));
  EXPECT_GE(worst.level, Level::kWarning);
}

TEST(Divergence, AStepUpwardsIsNoOscillation) {
  DivergenceMonitor monitor({.deviation_max = 1000});
  for (int i = 0; i < 50; ++i) monitor.observe({.loss = 2 + 0.001 * i});
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(monitor.observe({.loss = 3 + 0.5 * i}).has(Sign::kOscillation)) << i;
  }
}

TEST(Divergence, ItsLimitsAreThoseOfItsConfiguration) {
  DivergenceMonitor monitor({.deviation_max = 100, .explosion_factor = 2, .vanishing_factor = 0.6});
  for (int i = 0; i < 20; ++i) monitor.observe({.loss = 2 + (i % 2) * 0.1, .gradient_norm = 1});
  EXPECT_EQ(monitor.observe({.loss = 2.7, .gradient_norm = 1}).level, Level::kNormal);
  EXPECT_TRUE(monitor.observe({.loss = 2, .gradient_norm = 2.5}).has(Sign::kGradientExplosion));
  EXPECT_TRUE(monitor.observe({.loss = 2, .gradient_norm = 0.5}).has(Sign::kGradientVanishing));
}

TEST(Divergence, SavedInTheMidstItJudgesTheSameWay) {
  DivergenceMonitor whole = usual();
  whole.observe({.prediction_error = 0.6});
  StateText saved;
  whole.visit(saved);
  DivergenceMonitor resumed({});
  StateText loaded(saved.values());
  resumed.visit(loaded);
  ASSERT_TRUE(loaded.outcome().ok());
  for (int i = 0; i < 30; ++i) {
    const Observation seen{.loss = 2 + 0.03 * i, .gradient_norm = 1 + i * 4};
    EXPECT_EQ(whole.observe(seen).level, resumed.observe(seen).level) << i;
  }
}

}  // namespace
}  // namespace berth::train
