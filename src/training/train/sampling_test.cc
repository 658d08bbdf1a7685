// SPDX-License-Identifier: Apache-2.0
#include "train/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "train/shuffle.h"

namespace berth::train {
namespace {

const float kNone = std::numeric_limits<float>::quiet_NaN();

// How often each comes, of ten thousand evenly spread chances.
std::vector<double> shares(const std::vector<float>& logits, const SamplingConfig& config) {
  constexpr int kTimes = 10'000;
  std::vector<double> found(logits.size());
  for (int i = 0; i < kTimes; ++i) {
    found[*sample(logits, config, (i + 0.5) / kTimes)] += 1.0 / kTimes;
  }
  return found;
}

TEST(Sampling, SharesAreThoseOfTheSoftmax) {
  const std::vector<float> logits = {std::log(1.0F), std::log(2.0F), std::log(5.0F)};
  const auto found = shares(logits, {});
  EXPECT_NEAR(found[0], 0.125, 1e-3);
  EXPECT_NEAR(found[1], 0.25, 1e-3);
  EXPECT_NEAR(found[2], 0.625, 1e-3);
}

TEST(Sampling, ALowTemperatureMakesTheLikelyOnesLikelier) {
  const std::vector<float> logits = {std::log(1.0F), std::log(2.0F)};
  EXPECT_NEAR(shares(logits, {.temperature = 0.5})[1], 0.8, 1e-3);  // 4 of 1 + 4.
  EXPECT_NEAR(shares(logits, {.temperature = 1e6})[1], 0.5, 1e-3);
  EXPECT_EQ(shares(logits, {.temperature = 1e-3})[0], 0);
}

TEST(Sampling, AtTemperatureZeroTheLikeliestIsTaken) {
  const std::vector<float> logits = {1, 3, 3, 2};
  for (const double chance : {0.0, 0.5, 0.999}) {
    EXPECT_EQ(sample(logits, {.temperature = 0}, chance), 1U) << "the first of equal ones";
  }
}

TEST(Sampling, OnlyTheLikeliestFewAreTaken) {
  const std::vector<float> logits = {0, 1, 2, 2, 2, -1};
  const auto found = shares(logits, {.top_k = 2});
  EXPECT_NEAR(found[2], 0.5, 1e-3);
  EXPECT_NEAR(found[3], 0.5, 1e-3);
  EXPECT_EQ(found[0] + found[1] + found[4] + found[5], 0);
  EXPECT_EQ(shares(logits, {.top_k = 100}), shares(logits, {}));
}

TEST(Sampling, WhatIsNoNumberIsNeverTaken) {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {kNone, 1, -infinite, infinite};
  EXPECT_EQ(shares(logits, {})[1], shares({1}, {})[0]);
  EXPECT_EQ(sample(logits, {.temperature = 0}, 0), 1U);
  EXPECT_EQ(sample(std::array{kNone, kNone}, {}, 0.5), std::nullopt);
  EXPECT_EQ(sample({}, {}, 0.5), std::nullopt);
}

// Whatever the logits and the chance: it is one of those that may be taken.
TEST(Sampling, EveryChanceFindsOne) {
  std::uint64_t state = 1;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<float> logits(1 + mixed(++state) % 40);
    for (float& logit : logits) {
      logit = static_cast<float>(mixed(++state) % 2'000) - 1'000.0F;
      if (mixed(++state) % 10 == 0) logit = kNone;
    }
    const SamplingConfig config = {.temperature = static_cast<double>(mixed(++state) % 30) / 10,
                                   .top_k = static_cast<std::uint32_t>(mixed(++state) % 5)};
    const double chance = static_cast<double>(mixed(++state) >> 11U) * 0x1p-53;
    const auto found = sample(logits, config, chance);
    const bool any = !std::ranges::all_of(logits, [](float logit) { return std::isnan(logit); });
    ASSERT_EQ(found.has_value(), any);
    EXPECT_FALSE(found && std::isnan(logits.at(*found)));
  }
}

}  // namespace
}  // namespace berth::train
