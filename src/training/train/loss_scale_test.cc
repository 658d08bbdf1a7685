// SPDX-License-Identifier: Apache-2.0
#include "train/loss_scale.h"

#include <gtest/gtest.h>

namespace berth::train {
namespace {

TEST(LossScale, OnlyPowersOfTwoLeaveTheBitsOfAGradient) {
  for (const double possible : {0.0, 1.0, 2.0, 65'536.0, LossScale::kMost}) {
    EXPECT_TRUE(LossScale::is_possible(possible)) << possible;
  }
  for (const double not_one : {-2.0, 0.5, 3.0, 1000.0, 2 * LossScale::kMost}) {
    EXPECT_FALSE(LossScale::is_possible(not_one)) << not_one;
  }
}

TEST(LossScale, ItIsHalvedByEachGradientThatDoesNotFit) {
  LossScale scale(8);
  EXPECT_EQ(scale.now(), 8);
  EXPECT_TRUE(scale.overflowed());
  EXPECT_TRUE(scale.overflowed());
  EXPECT_EQ(scale.now(), 2);
}

TEST(LossScale, AtOneItIsNotTheScaleThatIsToBlame) {
  LossScale scale(2);
  EXPECT_TRUE(scale.overflowed());
  EXPECT_FALSE(scale.overflowed());
  EXPECT_EQ(scale.now(), 1);
}

TEST(LossScale, ItIsDoubledAfterManyThatFitOneAfterTheOther) {
  LossScale scale(4);
  for (std::uint32_t i = 1; i < LossScale::kGrowAfter; ++i) scale.fitted();
  EXPECT_EQ(scale.now(), 4);
  scale.fitted();
  EXPECT_EQ(scale.now(), 8);
  // Those before one that did not fit are not counted.
  for (std::uint32_t i = 1; i < LossScale::kGrowAfter; ++i) scale.fitted();
  EXPECT_TRUE(scale.overflowed());
  scale.fitted();
  EXPECT_EQ(scale.now(), 4);
}

TEST(LossScale, ItDoesNotGrowWithoutEnd) {
  LossScale scale(LossScale::kMost);
  for (std::uint32_t i = 0; i < LossScale::kGrowAfter; ++i) scale.fitted();
  EXPECT_EQ(scale.now(), LossScale::kMost);
}

TEST(LossScale, WithoutOneLossesStayAsTheyAre) {
  LossScale scale(0);
  for (std::uint32_t i = 0; i < LossScale::kGrowAfter; ++i) scale.fitted();
  EXPECT_EQ(scale.now(), 1);
  EXPECT_FALSE(scale.overflowed());
  StateText state;
  scale.visit(state);
  EXPECT_TRUE(state.values().empty());
}

TEST(LossScale, GoesOnFromItsSavedState) {
  LossScale scale(1024);
  EXPECT_TRUE(scale.overflowed());
  for (std::uint32_t i = 1; i < LossScale::kGrowAfter; ++i) scale.fitted();
  StateText state;
  scale.visit(state);
  LossScale again(1024);
  StateText saved(state.values());
  again.visit(saved);
  EXPECT_TRUE(saved.outcome().ok());
  EXPECT_EQ(again.now(), 512);
  again.fitted();
  EXPECT_EQ(again.now(), 1024);
}

}  // namespace
}  // namespace berth::train
