// SPDX-License-Identifier: Apache-2.0
#include "train/speedup_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/shuffle.h"

namespace berth::train {
namespace {

// Numbers from -1 to 1 that look like chance.
SpeedupCase speedup_case(std::uint64_t seed, std::size_t steps) {
  SpeedupCase jump{.history = {}, .share = 0.3, .speedup = 0.8};
  for (std::size_t i = 0; i < steps; ++i) {
    std::array<double, kGruInputs> input{};
    for (double& number : input) number = static_cast<double>(mixed(++seed) >> 11U) * 0x1p-52 - 1;
    jump.history.add(input);
  }
  return jump;
}

TEST(SpeedupModel, TheSlopesAreThoseThatAreMeasured) {
  const GruHidden before = {0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8};
  for (const std::size_t steps : {std::size_t{0}, std::size_t{1}, kSpeedupWindow}) {
    const SpeedupCase jump = speedup_case(steps, steps);
    SpeedupModel model(steps + 1);
    SpeedupModel::Weights slopes{};
    model.slopes_of(jump, before, slopes);
    SpeedupModel::Weights unused{};
    constexpr double kNudge = 1e-6;
    for (std::size_t i = 0; i < SpeedupModel::kWeights; ++i) {
      double& weight = model.weights()[i];
      const double kept = weight;
      weight = kept + kNudge;
      const double above = model.slopes_of(jump, before, unused);
      weight = kept - kNudge;
      const double below = model.slopes_of(jump, before, unused);
      weight = kept;
      ASSERT_NEAR(slopes[i], (above - below) / (2 * kNudge), 1e-8) << steps << ' ' << i;
    }
  }
}

TEST(SpeedupModel, ItsErrorIsThatOfWhatItForetells) {
  const SpeedupModel model(5);
  const SpeedupCase jump = speedup_case(3, 9);
  const GruHidden before{};
  SpeedupModel::Weights slopes{};
  const double error = model.speedup(model.after(jump.history, before), jump.share) - jump.speedup;
  EXPECT_DOUBLE_EQ(model.slopes_of(jump, before, slopes), error * error / 2);
}

TEST(SpeedupModel, WhatItIsToldOftenItForetells) {
  SpeedupModel model(5);
  SpeedupCase near = speedup_case(3, 9);
  SpeedupCase far = near;
  near.share = 0.25;
  far.share = 1;
  far.speedup = 0;
  const GruHidden before{};
  for (int i = 0; i < 200; ++i) {
    model.learn(near, before);
    model.learn(far, before);
  }
  const GruHidden hidden = model.after(near.history, before);
  EXPECT_NEAR(model.speedup(hidden, 0.25), 0.8, 0.02);
  EXPECT_NEAR(model.speedup(hidden, 1), 0, 0.02);
}

TEST(SpeedupModel, WhatItForetellsFollowsFromTheStepsBefore) {
  SpeedupModel model(5);
  SpeedupCase calm = speedup_case(3, 9);
  SpeedupCase wild = speedup_case(77, 9);
  wild.speedup = 0;
  const GruHidden before{};
  for (int i = 0; i < 300; ++i) {
    model.learn(calm, before);
    model.learn(wild, before);
  }
  EXPECT_NEAR(model.speedup(model.after(calm.history, before), 0.3), 0.8, 0.05);
  EXPECT_NEAR(model.speedup(model.after(wild.history, before), 0.3), 0, 0.05);
}

TEST(SpeedupModel, AHistoryKeepsTheLastSteps) {
  SpeedupHistory history;
  for (int step = 0; step < 20; ++step) {
    std::array<double, kGruInputs> input{};
    input.fill(step);
    history.add(input);
  }
  EXPECT_TRUE(history.is_full());
  for (std::size_t i = 0; i < kSpeedupWindow; ++i) {
    EXPECT_EQ(history.input(i).front(), static_cast<double>(i) + 4);
    EXPECT_EQ(history.input(i).back(), static_cast<double>(i) + 4);
  }
}

}  // namespace
}  // namespace berth::train
