// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace berth {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kVerbs = {"status"sv, "ps"sv,      "run"sv,  "release"sv, "renew"sv, "wait"sv,
                               "why"sv,    "reserve"sv, "show"sv, "fit"sv,     "queue"sv};

TEST(Nearest, FindsTheWordOneSlipAway) {
  EXPECT_EQ(nearest("sattus", kVerbs), "status");  // Swapped.
  EXPECT_EQ(nearest("relase", kVerbs), "release");
  EXPECT_EQ(nearest("whyy", kVerbs), "why");
  EXPECT_EQ(nearest("rum", kVerbs), "run");
  EXPECT_EQ(nearest("quuee", kVerbs), "queue");
}

TEST(Nearest, FindsTheOnlyWordThatWasBegun) {
  EXPECT_EQ(nearest("stat", kVerbs), "status");
  EXPECT_EQ(nearest("res", kVerbs), "reserve");
}

TEST(Nearest, SaysNothingRatherThanSomethingFarAway) {
  EXPECT_EQ(nearest("frobnicate", kVerbs), std::nullopt);
  EXPECT_EQ(nearest("", kVerbs), std::nullopt);
  EXPECT_EQ(nearest("x", kVerbs), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'r'), kVerbs), std::nullopt);
  EXPECT_EQ(nearest("status", {}), std::nullopt);
}

}  // namespace
}  // namespace berth
