// SPDX-License-Identifier: Apache-2.0
#include "train/gpt2_shape.h"

#include <gtest/gtest.h>

#include "base/checked.h"

namespace berth::train {
namespace {

std::int64_t count(std::string_view name) {
  const auto shape = gpt2_shape(name);
  return parameter_count(checked(shape));
}

TEST(Gpt2Shape, TheFamilyHasAsManyParametersAsItsPublicCheckpoints) {
  EXPECT_EQ(count("small"), 124'439'808);
  EXPECT_EQ(count("medium"), 354'823'168);
  EXPECT_EQ(count("large"), 774'030'080);
  EXPECT_EQ(count("xl"), 1'557'611'200);
}

TEST(Gpt2Shape, NanoIsHalfAMillion) {
  EXPECT_EQ(count("nano"), 478'272);
}

TEST(Gpt2Shape, EveryNameThatIsToldIsOneAndNoOther) {
  for (const auto name : {"nano", "micro", "small", "medium", "large", "xl"}) {
    EXPECT_TRUE(gpt2_shape(name)) << name;
    EXPECT_NE(gpt2_names().find(name), std::string_view::npos) << name;
    EXPECT_EQ(gpt2_shape(name)->width % gpt2_shape(name)->heads, 0) << name;
  }
  EXPECT_FALSE(gpt2_shape("huge"));
}

}  // namespace
}  // namespace berth::train
