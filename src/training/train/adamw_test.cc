// SPDX-License-Identifier: Apache-2.0
#include "train/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace berth::train {
namespace {

struct Buffers {
  std::vector<float> values, gradients, first, second;

  explicit Buffers(std::size_t count)
      : values(count), gradients(count), first(count), second(count) {
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(std::sin(static_cast<double>(i)));
      gradients[i] = static_cast<float>(std::cos(static_cast<double>(3 * i)));
    }
  }
  AdamWBuffers part(std::size_t begin, std::size_t count) {
    return {.values = std::span(values).subspan(begin, count),
            .gradients = std::span(gradients).subspan(begin, count),
            .first_moments = std::span(first).subspan(begin, count),
            .second_moments = std::span(second).subspan(begin, count)};
  }
};

TEST(AdamW, IsThePapersFormula) {
  constexpr float kRate = 0.125F;
  constexpr float kDecay = 0.25F;
  Buffers buffers(1);
  double value = buffers.values[0];
  double first = 0;
  double second = 0;
  for (int number = 1; number <= 5; ++number) {
    const double gradient = 0.5 * number - 1;
    buffers.gradients[0] = static_cast<float>(gradient);
    adamw(buffers.part(0, 1),
          {.rate = kRate, .decay = kDecay, .number = static_cast<std::uint64_t>(number)});
    first = 0.9 * first + 0.1 * gradient;
    second = 0.99 * second + 0.01 * gradient * gradient;
    value -= kRate * kDecay * value;
    value -= kRate * (first / (1 - std::pow(0.9, number))) /
             (std::sqrt(second / (1 - std::pow(0.99, number))) + 1e-8);
    EXPECT_NEAR(buffers.values[0], value, 1e-6) << number;
  }
}

TEST(AdamW, InPartsItGivesTheSameBits) {
  constexpr std::size_t kCount = 1003;
  Buffers whole(kCount);
  Buffers parts(kCount);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const AdamWStep step{.rate = 0.01F, .decay = 0.1F, .number = number};
    adamw(whole.part(0, kCount), step);
    adamw(parts.part(0, 17), step);
    adamw(parts.part(17, 600), step);
    adamw(parts.part(617, kCount - 617), step);
  }
  EXPECT_EQ(whole.values, parts.values);
  EXPECT_EQ(whole.first, parts.first);
  EXPECT_EQ(whole.second, parts.second);
}

TEST(AdamW, ScaledGradientsAreAsIfTheyHadComeSo) {
  Buffers scaled(9);
  Buffers smaller(9);
  for (float& gradient : smaller.gradients) gradient *= 0.25F;
  adamw(scaled.part(0, 9), {.rate = 0.1F, .gradient_scale = 0.25F});
  adamw(smaller.part(0, 9), {.rate = 0.1F});
  EXPECT_EQ(scaled.values, smaller.values);
  EXPECT_EQ(scaled.second, smaller.second);
}

TEST(AdamW, WithoutARateNothingMovesButTheMoments) {
  Buffers buffers(5);
  const std::vector<float> before = buffers.values;
  adamw(buffers.part(0, 5), {.rate = 0, .decay = 0.1F});
  EXPECT_EQ(buffers.values, before);
  EXPECT_NE(buffers.first, std::vector<float>(5));
}

}  // namespace
}  // namespace berth::train
