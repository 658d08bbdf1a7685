// SPDX-License-Identifier: Apache-2.0
#include "train/gru.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/shuffle.h"

namespace berth::train {
namespace {

// Numbers from -1 to 1 that look like chance.
struct GruCase {
  std::array<double, kGruWeights> weights{};
  std::array<double, kGruInputs> input{};
  GruHidden before{};
  GruHidden wanted{};

  explicit GruCase(std::uint64_t seed) {
    const auto fill = [&](std::span<double> numbers) {
      for (double& number : numbers)
        number = static_cast<double>(mixed(++seed) >> 11U) * 0x1p-52 - 1;
    };
    fill(weights);
    fill(input);
    fill(before);
    fill(wanted);
  }
  double loss() const {
    const GruTrace trace = gru_step(weights, input, before);
    double sum = 0;
    for (std::size_t i = 0; i < kGruHidden; ++i) sum += wanted[i] * trace.after[i];
    return sum;
  }
  double measured_slope(double& place) const {
    constexpr double kStep = 1e-6;
    const double kept = place;
    place = kept + kStep;
    const double above = loss();
    place = kept - kStep;
    const double below = loss();
    place = kept;
    return (above - below) / (2 * kStep);
  }
};

TEST(Gru, TheSlopesAreThoseThatAreMeasured) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    GruCase story(seed * 10'000);
    std::array<double, kGruWeights> slopes{};
    const GruTrace trace = gru_step(story.weights, story.input, story.before);
    const GruHidden before = gru_back(story.weights, trace, story.wanted, slopes);
    for (std::size_t i = 0; i < kGruWeights; ++i) {
      ASSERT_NEAR(slopes[i], story.measured_slope(story.weights[i]), 1e-8) << i;
    }
    for (std::size_t i = 0; i < kGruHidden; ++i) {
      ASSERT_NEAR(before[i], story.measured_slope(story.before[i]), 1e-8) << i;
    }
  }
}

TEST(Gru, SlopesAreAddedToThoseThatAreThere) {
  const GruCase story(7);
  std::array<double, kGruWeights> once{};
  std::array<double, kGruWeights> twice{};
  const GruTrace trace = gru_step(story.weights, story.input, story.before);
  gru_back(story.weights, trace, story.wanted, once);
  for (const int i : {1, 2}) {
    (void)i;
    gru_back(story.weights, trace, story.wanted, twice);
  }
  for (std::size_t i = 0; i < kGruWeights; ++i) EXPECT_EQ(twice[i], 2 * once[i]) << i;
}

TEST(Gru, WithAClosedGateTheStateStaysAndWithAnOpenOneItIsReplaced) {
  GruCase story(3);
  story.weights = {};
  const auto bias = [&](std::size_t gate, double value) {
    for (std::size_t i = 0; i < kGruHidden; ++i) {
      story.weights[(gate * kGruHidden + i) * kGruRow + kGruRow - 1] = value;
    }
  };
  bias(0, -1000);
  bias(2, 0.5);
  EXPECT_EQ(gru_step(story.weights, story.input, story.before).after, story.before);
  bias(0, 1000);
  for (const double number : gru_step(story.weights, story.input, story.before).after) {
    EXPECT_NEAR(number, std::tanh(0.5), 1e-12);
  }
}

}  // namespace
}  // namespace berth::train
