// SPDX-License-Identifier: Apache-2.0
#include "train/state_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

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

TEST(StateText, ARowOfNumbersIsOneValueAndComesBackToTheLastBit) {
  const std::vector<double> row = {1.0 / 3, -0.0, 5e-324, std::numeric_limits<double>::infinity()};
  for (std::size_t count = 0; count <= row.size(); ++count) {
    std::vector<double> kept(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count));
    StateText written;
    written.section("a");
    written.field("row", std::span<double>(kept));
    EXPECT_EQ(written.values().size(), 1U);
    std::vector<double> read(count, 7);
    StateText state(written.values());
    state.section("a");
    state.field("row", std::span<double>(read));
    EXPECT_TRUE(state.outcome().ok());
    EXPECT_EQ(read, kept);
    EXPECT_EQ(count > 1 && std::signbit(read[1]), count > 1);
    std::vector<double> longer(count + 1);
    StateText wrong(written.values());
    wrong.section("a");
    wrong.field("row", std::span<double>(longer));
    EXPECT_FALSE(wrong.outcome().ok()) << count;
  }
}

TEST(StateText, ARowOfAnotherLengthOrOfNoNumbersIsWrong) {
  for (const auto* text : {"", "1", "1 2 3", "1 2 ", " 1 2", "1  2", "1 x", "1,2"}) {
    std::array<double, 2> row{};
    StateText state(StateText::Values{{"a.row", text}});
    state.section("a");
    state.field("row", std::span<double>(row));
    EXPECT_FALSE(state.outcome().ok()) << '\'' << text << '\'';
  }
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
