// SPDX-License-Identifier: Apache-2.0
#include "train/worth_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/shuffle.h"

namespace berth::train {
namespace {

// Numbers from -1 to 1 that look like chance.
WorthCase worth_case(std::uint64_t seed, std::size_t steps) {
  WorthCase jump{.history = {}, .share = 0.3, .worth = 0.8};
  for (std::size_t i = 0; i < steps; ++i) {
    std::array<double, kGruInputs> input{};
    for (double& number : input) number = static_cast<double>(mixed(++seed) >> 11U) * 0x1p-52 - 1;
    jump.history.add(input);
  }
  return jump;
}

TEST(WorthModel, TheSlopesAreThoseThatAreMeasured) {
  const GruHidden before = {0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8};
  for (const std::size_t steps : {std::size_t{0}, std::size_t{1}, kWorthWindow}) {
    const WorthCase jump = worth_case(steps, steps);
    WorthModel model(steps + 1);
    WorthModel::Weights slopes{};
    model.slopes_of(jump, before, slopes);
    WorthModel::Weights unused{};
    constexpr double kNudge = 1e-6;
    for (std::size_t i = 0; i < WorthModel::kWeights; ++i) {
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

TEST(WorthModel, ItsErrorIsThatOfWhatItForetells) {
  const WorthModel model(5);
  const WorthCase jump = worth_case(3, 9);
  const GruHidden before{};
  WorthModel::Weights slopes{};
  const double error = model.worth(model.after(jump.history, before), jump.share) - jump.worth;
  EXPECT_DOUBLE_EQ(model.slopes_of(jump, before, slopes), error * error / 2);
}

TEST(WorthModel, WhatItIsToldOftenItForetells) {
  WorthModel model(5);
  WorthCase near = worth_case(3, 9);
  WorthCase far = near;
  near.share = 0.25;
  far.share = 1;
  far.worth = 0;
  const GruHidden before{};
  for (int i = 0; i < 200; ++i) {
    model.learn(near, before);
    model.learn(far, before);
  }
  const GruHidden hidden = model.after(near.history, before);
  EXPECT_NEAR(model.worth(hidden, 0.25), 0.8, 0.02);
  EXPECT_NEAR(model.worth(hidden, 1), 0, 0.02);
}

TEST(WorthModel, WhatItForetellsFollowsFromTheStepsBefore) {
  WorthModel model(5);
  WorthCase calm = worth_case(3, 9);
  WorthCase wild = worth_case(77, 9);
  wild.worth = 0;
  const GruHidden before{};
  for (int i = 0; i < 300; ++i) {
    model.learn(calm, before);
    model.learn(wild, before);
  }
  EXPECT_NEAR(model.worth(model.after(calm.history, before), 0.3), 0.8, 0.05);
  EXPECT_NEAR(model.worth(model.after(wild.history, before), 0.3), 0, 0.05);
}

TEST(WorthModel, AHistoryKeepsTheLastSteps) {
  WorthHistory history;
  for (int step = 0; step < 20; ++step) {
    std::array<double, kGruInputs> input{};
    input.fill(step);
    history.add(input);
  }
  EXPECT_TRUE(history.is_full());
  for (std::size_t i = 0; i < kWorthWindow; ++i) {
    EXPECT_EQ(history.input(i).front(), static_cast<double>(i) + 4);
    EXPECT_EQ(history.input(i).back(), static_cast<double>(i) + 4);
  }
}

}  // namespace
}  // namespace berth::train
