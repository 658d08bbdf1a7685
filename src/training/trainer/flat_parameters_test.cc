// SPDX-License-Identifier: Apache-2.0
#include "trainer/flat_parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

TEST(FlatParameters, MatricesComeFirstAndEachIsAligned) {
  Bowl bowl(3);
  const FlatParameters flat(bowl);
  ASSERT_EQ(flat.segments().size(), 2U);
  EXPECT_EQ(flat.segments()[0].name, "matrix");
  EXPECT_TRUE(flat.segments()[0].decays);
  EXPECT_EQ(flat.segments()[1].name, "vector");
  EXPECT_FALSE(flat.segments()[1].decays);
  EXPECT_EQ(flat.segments()[1].begin, 16);
  EXPECT_EQ(flat.decaying(), 16);
  EXPECT_EQ(flat.parameter_count(), 22);
  EXPECT_EQ(flat.values().sum().item<double>(), 22 * 3);
}

TEST(FlatParameters, WhatTheModuleHoldsAreViewsOfTheBuffers) {
  Bowl bowl(3);
  const FlatParameters flat(bowl);
  EXPECT_TRUE(flat.is_attached(bowl));
  {
    const torch::NoGradGuard no_gradients;
    flat.values().fill_(5);
  }
  EXPECT_EQ(bowl.matrix.sum().item<double>(), 15 * 5);
  EXPECT_EQ(bowl.vector.sum().item<double>(), 7 * 5);
}

TEST(FlatParameters, GradientsAddUpInTheBuffer) {
  Bowl bowl(3);
  FlatParameters flat(bowl);
  bowl.loss(numbers()).backward();
  EXPECT_NEAR(flat.gradient_norm(),
              std::sqrt(15 * std::pow(6.0 / 15, 2) + 7 * std::pow(6.0 / 7, 2)), 1e-5);
  const double once = flat.gradients().sum().item<double>();
  bowl.loss(numbers()).backward();
  EXPECT_NEAR(flat.gradients().sum().item<double>(), 2 * once, 1e-5);
  flat.clear_gradients();
  EXPECT_EQ(flat.gradient_norm(), 0);
  EXPECT_TRUE(flat.is_attached(bowl));
}

TEST(FlatParameters, ItIsSeenWhenAModuleWasTornOff) {
  Bowl bowl(3);
  const FlatParameters flat(bowl);
  bowl.vector.set_data(torch::zeros({7}));
  EXPECT_FALSE(flat.is_attached(bowl));
}

}  // namespace
}  // namespace berth::trainer
