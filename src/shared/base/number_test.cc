// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace berth {
namespace {

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(parse_number<std::uint64_t>("0"), 0U);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_number<std::int32_t>("-7"), -7);
  EXPECT_EQ(parse_number<std::uint32_t>("ff", 16), 255U);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500.0);
  for (const char* const text : {"", " 1", "1 ", "+1", "-1", "1.5", "0x1", "one", "1,"}) {
    EXPECT_EQ(parse_number<std::uint64_t>(text), std::nullopt) << text;
  }
  for (const char* const text : {"", " 1", "1x", "+1"}) {
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
}

TEST(Number, ThatDoesNotFitIsNone) {
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<std::int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e999"), std::nullopt);
}

TEST(LeadingNumber, IsWhatATextBeginsWith) {
  EXPECT_EQ(leading_number("575.57.08"), 575U);
  EXPECT_EQ(leading_number("580"), 580U);
  EXPECT_EQ(leading_number("sim"), 0U);
  EXPECT_EQ(leading_number(""), 0U);
}

}  // namespace
}  // namespace berth
