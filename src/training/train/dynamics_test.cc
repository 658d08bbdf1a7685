// SPDX-License-Identifier: Apache-2.0
#include "train/dynamics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "train/shuffle.h"

namespace berth::train {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr DynamicsConfig kSixteen{.steps_max = 16};

// A run that falls slowly, with noise; the simulated run says how much jumps bring, and each costs
// half a step.
class JumpWorld {
 public:
  using Speedup = std::function<double(double share)>;

  explicit JumpWorld(Speedup speedup) : speedup_(std::move(speedup)) {}

  /// Twenty real steps.
  void steps(Dynamics& dynamics) {
    for (int i = 0; i < 20; ++i) {
      ++step_;
      dynamics.observe({.loss = 4 * std::exp(-1e-3 * step_) * (1 + 0.02 * chance()),
                        .gradient_norm = 1 + 0.3 * chance(),
                        .rate = 0.001,
                        .predicted_share = 0.3});
    }
  }
  /// As the trainer does: by the choice, and of any length while there is none.
  void jump(Dynamics& dynamics) {
    steps(dynamics);
    const auto choice = dynamics.choose();
    const auto any = static_cast<std::uint32_t>(1 + mixed(++draws_) % 16);
    const std::uint32_t length = choice ? choice->steps : any;
    dynamics.learn({.steps = length, .speedup = speedup_(length / 16.0), .cost = 0.5});
  }
  void jumps(Dynamics& dynamics, int count) {
    for (int i = 0; i < count; ++i) jump(dynamics);
    steps(dynamics);
  }
  /// From -1 to 1.
  double chance() { return static_cast<double>(mixed(++draws_) >> 11U) * 0x1p-52 - 1; }
  void become(Speedup speedup) { speedup_ = std::move(speedup); }

 private:
  Speedup speedup_;
  double step_ = 0;
  std::uint64_t draws_ = 0;
};

StateText::Values saved_values(Dynamics& dynamics) {
  StateText state;
  dynamics.visit(state);
  return state.values();
}

double short_ones_pay(double share) {
  return share <= 0.5 ? 0.8 : 0;
}
double none_pays(double) {
  return 0;
}
double all_pay(double) {
  return 0.8;
}

TEST(Dynamics, SaysNothingBeforeItHasSeenAFewJumps) {
  Dynamics dynamics(kSixteen);
  JumpWorld world(all_pay);
  for (std::uint64_t i = 0; i < Dynamics::kOutcomesMin; ++i) {
    EXPECT_FALSE(dynamics.choose());
    world.jump(dynamics);
  }
  EXPECT_TRUE(dynamics.choose());
}

TEST(Dynamics, WhereOnlyShortJumpsPayItChoosesThemAndIsSure) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Dynamics dynamics({.steps_max = 16, .seed = seed * 100});
    JumpWorld world(short_ones_pay);
    world.jumps(dynamics, 40);
    const auto choice = dynamics.choose();
    ASSERT_TRUE(choice);
    EXPECT_GE(choice->steps, 4U) << seed;
    EXPECT_LE(choice->steps, 8U) << seed;
    EXPECT_NEAR(choice->speedup, 0.8, 0.15) << seed;
    EXPECT_GT(choice->confidence, 0.9) << seed;
    EXPECT_GT(choice->net_least, 1) << seed;
  }
}

TEST(Dynamics, WhereAllJumpsPayItChoosesLongOnes) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Dynamics dynamics({.steps_max = 16, .seed = seed * 100});
    JumpWorld world(all_pay);
    world.jumps(dynamics, 40);
    EXPECT_GE(dynamics.choose()->steps, 14U) << seed;
    EXPECT_GT(dynamics.choose()->confidence, 0.9) << seed;
  }
}

TEST(Dynamics, WhereNothingPaysItIsNotConfident) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Dynamics dynamics({.steps_max = 16, .seed = seed * 100});
    JumpWorld world(none_pays);
    world.jumps(dynamics, 40);
    EXPECT_LT(dynamics.choose()->confidence, 0.2) << seed;
    EXPECT_LT(dynamics.choose()->net_least, 0) << seed;
  }
}

TEST(Dynamics, JumpsThatDoNotCoverTheirCostDoNotPay) {
  Dynamics dynamics(kSixteen);
  JumpWorld world([](double share) { return 0.02 / share; });  // A third of a step, of any length.
  world.jumps(dynamics, 40);
  EXPECT_LT(dynamics.choose()->confidence, 0.5);
}

TEST(Dynamics, WhereARegimeEndsConfidenceFallsAndComesBackWithTheNext) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Dynamics dynamics({.steps_max = 16, .seed = seed * 100});
    JumpWorld world(all_pay);
    world.jumps(dynamics, 40);
    const double sure = dynamics.choose()->confidence;
    EXPECT_GT(sure, 0.9) << seed;
    world.become(none_pays);
    world.jumps(dynamics, 3);
    EXPECT_LT(dynamics.choose()->confidence, 0.85) << seed << ": below what is wanted";
    world.jumps(dynamics, 17);
    EXPECT_LT(dynamics.choose()->confidence, 0.3) << seed;
    world.become(all_pay);
    world.jumps(dynamics, 40);
    EXPECT_GT(dynamics.choose()->confidence, 0.9) << seed;
  }
}

TEST(Dynamics, WhatPaysMayFollowFromWhatTheStepsLookLike) {
  // Jumps pay only where the gradient has just become small.
  Dynamics dynamics(kSixteen);
  JumpWorld chance(none_pays);
  const auto steps = [&](bool is_calm) {
    for (int i = 0; i < 20; ++i) {
      dynamics.observe({.loss = 2 + 0.02 * chance.chance(),
                        .gradient_norm = (is_calm ? 0.5 : 2.0) + 0.1 * chance.chance(),
                        .rate = 0.001});
    }
  };
  for (std::uint64_t i = 0; i < 60; ++i) {
    const bool is_calm = mixed(i) % 2 == 0;
    steps(is_calm);
    const auto length = static_cast<std::uint32_t>(4 + mixed(i + 1000) % 12);
    dynamics.learn({.steps = length, .speedup = is_calm ? 0.9 : 0, .cost = 0.5});
  }
  steps(true);
  const auto calm = dynamics.choose();
  steps(false);
  const auto wild = dynamics.choose();
  ASSERT_TRUE(calm && wild);
  EXPECT_GT(calm->confidence, 0.9);
  EXPECT_LT(wild->confidence, 0.5);
  EXPECT_GT(calm->speedup, 0.7);
}

TEST(Dynamics, TheSameSeedDoesTheSameToTheLastBitAndAnotherSomethingElse) {
  Dynamics first(kSixteen);
  Dynamics second(kSixteen);
  Dynamics other({.steps_max = 16, .seed = 99});
  for (Dynamics* each : {&first, &second, &other}) {
    JumpWorld world(short_ones_pay);
    world.jumps(*each, 12);
  }
  EXPECT_EQ(saved_values(first), saved_values(second));
  EXPECT_NE(first.choose()->speedup, other.choose()->speedup);
}

TEST(Dynamics, SavedAtAnyTimeItGoesOnToTheLastBit) {
  for (const int cut : {0, 1, 3, 7, 35}) {
    Dynamics whole(kSixteen);
    JumpWorld world(short_ones_pay);
    world.jumps(whole, cut);
    Dynamics resumed(kSixteen);
    StateText loaded(saved_values(whole));
    resumed.visit(loaded);
    ASSERT_TRUE(loaded.outcome().ok()) << loaded.outcome().error().message;
    JumpWorld same = world;
    world.jumps(whole, 6);
    same.jumps(resumed, 6);
    EXPECT_EQ(saved_values(resumed), saved_values(whole)) << cut;
    EXPECT_EQ(resumed.choose()->confidence, whole.choose()->confidence) << cut;
  }
}

TEST(Dynamics, AResetMakesItAsItWas) {
  Dynamics dynamics(kSixteen);
  Dynamics fresh(kSixteen);
  JumpWorld world(all_pay);
  world.jumps(dynamics, 9);
  dynamics.reset();
  EXPECT_FALSE(dynamics.choose());
  EXPECT_EQ(saved_values(dynamics), saved_values(fresh));
}

TEST(Dynamics, WhatIsNotFiniteIsLeftOut) {
  Dynamics dynamics(kSixteen);
  JumpWorld world(all_pay);
  world.jumps(dynamics, 5);
  const auto before = saved_values(dynamics);
  for (const double wrong : {kNoNumber, kEndless, -kEndless}) {
    dynamics.observe({.loss = wrong, .gradient_norm = 1, .rate = 1});
    dynamics.observe({.loss = 1, .gradient_norm = wrong, .rate = 1});
    dynamics.observe({.loss = 1, .gradient_norm = 1, .rate = wrong});
    dynamics.observe({.loss = 1, .gradient_norm = 1, .rate = 1, .predicted_share = wrong});
    dynamics.learn({.steps = 4, .speedup = wrong, .cost = 1});
    dynamics.learn({.steps = 4, .speedup = 1, .cost = wrong});
  }
  dynamics.learn({.steps = 0, .speedup = 1, .cost = 1});
  EXPECT_EQ(saved_values(dynamics), before);
}

TEST(Dynamics, ExtremeStepsLeaveItWithNumbers) {
  Dynamics dynamics(kSixteen);
  for (int i = 0; i < 30; ++i) {
    for (const double value : {0.0, -1.0, 1e-300, 1e300, 1.0}) {
      dynamics.observe({.loss = value, .gradient_norm = value, .rate = value});
    }
    dynamics.learn({.steps = 1000, .speedup = i % 2 == 0 ? 1e300 : -1e300, .cost = 1});
  }
  const auto choice = dynamics.choose();
  ASSERT_TRUE(choice);
  EXPECT_TRUE(std::isfinite(choice->speedup) && std::isfinite(choice->confidence));
}

TEST(Dynamics, LengthsAreFromOneToTheGreatest) {
  for (const std::uint32_t most : {1U, 2U, 7U, 15U, 10'000U}) {
    Dynamics dynamics({.steps_max = most});
    for (int i = 0; i < 20; ++i) {
      dynamics.learn({.steps = 1 + most / 2, .speedup = 0.8, .cost = 0.01});
      const auto choice = dynamics.choose();
      if (!choice) continue;
      EXPECT_GE(choice->steps, 1U);
      EXPECT_LE(choice->steps, most);
    }
  }
}

}  // namespace
}  // namespace berth::train
