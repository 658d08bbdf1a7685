// SPDX-License-Identifier: Apache-2.0
#include "train/state_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth::train {
namespace {

using testing::HasSubstr;

struct Things {
  double number = 0;
  std::uint64_t large = 0;
  std::uint32_t small = 0;
  bool flag = false;
  std::optional<double> perhaps;

  void visit(StateText& state) {
    state.section("things");
    state.field("number", number);
    state.field("large", large);
    state.field("small", small, 9);
    state.field("flag", flag);
    state.field("perhaps", perhaps);
  }
};

StateText::Values values_of(Things things) {
  StateText state;
  things.visit(state);
  return state.values();
}

TEST(StateText, NumbersComeBackToTheLastBit) {
  const double third = 1.0 / 3;
  for (const double number : {third, -0.0, std::nextafter(third, 1.0), 1e-310, 5e-324, 1.7e308}) {
    Things read;
    StateText state(values_of(
        {.number = number, .large = UINT64_MAX, .small = 9, .flag = true, .perhaps = third}));
    read.visit(state);
    ASSERT_TRUE(state.outcome().ok());
    EXPECT_EQ(std::signbit(read.number), std::signbit(number));
    EXPECT_EQ(read.number, number);
    EXPECT_EQ(read.large, UINT64_MAX);
    EXPECT_EQ(read.small, 9U);
    EXPECT_TRUE(read.flag);
    EXPECT_EQ(read.perhaps, third);
  }
}

TEST(StateText, WhatIsNotANumberComesBackToo) {
  Things read;
  StateText state(
      values_of({.number = std::numeric_limits<double>::infinity(), .perhaps = std::nan("")}));
  read.visit(state);
  EXPECT_TRUE(state.outcome().ok());
  EXPECT_TRUE(std::isinf(read.number));
  EXPECT_TRUE(read.perhaps && std::isnan(*read.perhaps));
}

TEST(StateText, NoneIsNotZero) {
  Things read{.perhaps = 3};
  StateText state(values_of({}));
  read.visit(state);
  EXPECT_EQ(read.perhaps, std::nullopt);
}

TEST(StateText, WhatIsMissingOrWrongIsNamed) {
  for (const auto& [name, value] : StateText::Values{{"things.number", "1x"},
                                                     {"things.large", "-1"},
                                                     {"things.small", "10"},
                                                     {"things.flag", "2"},
                                                     {"things.perhaps", "some"}}) {
    StateText::Values values = values_of({});
    values[name] = value;
    StateText wrong(values);
    Things read;
    read.visit(wrong);
    ASSERT_FALSE(wrong.outcome().ok()) << name;
    EXPECT_EQ(wrong.outcome().error().code, Errc::kCorrupt);
    EXPECT_THAT(wrong.outcome().error().message, HasSubstr(name));
    values.erase(name);
    StateText missing(values);
    read.visit(missing);
    ASSERT_FALSE(missing.outcome().ok()) << name;
    EXPECT_THAT(missing.outcome().error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace berth::train
