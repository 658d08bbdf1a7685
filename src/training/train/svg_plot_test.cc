// SPDX-License-Identifier: Apache-2.0
#include "train/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace berth::train {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(SvgPlot, TicksAreRound) {
  EXPECT_THAT(round_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(round_ticks(1.4, 2.6, 3), ElementsAre(1.5, 2, 2.5));
  EXPECT_THAT(round_ticks(0, 0.3, 3), ElementsAre(0, DoubleEq(0.1), DoubleEq(0.2), DoubleEq(0.3)));
  EXPECT_THAT(round_ticks(-5, 5, 2), ElementsAre(-5, 0, 5));
  EXPECT_THAT(round_ticks(3, 3, 5), ElementsAre(3));
}

TEST(SvgPlot, ALineGoesFromCornerToCorner) {
  const std::string svg = to_svg({.lines = {{.name = "up", .points = {{0, 0}, {1, 1}}}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M80 360L700 40\""));
  EXPECT_THAT(svg, HasSubstr(">up</text>"));
}

TEST(SvgPlot, NothingHasNoSign) {
  const std::string svg = to_svg({.lines = {{.name = "up", .points = {{-0.01, 0}, {1, 1}}}}});
  EXPECT_THAT(svg, HasSubstr(">0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">-0</text>")));
}

TEST(SvgPlot, WhatIsNotFiniteBreaksTheLine) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = to_svg({.lines = {{.points = {{0, 0}, {1, nan}, {2, 1}}}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M80 360M700 40\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(SvgPlot, TheAxisBeginsAtZeroIfThatIsWanted) {
  const Plot plot{.lines = {{.points = {{0, 5}, {1, 10}}}}, .y_from_zero = true};
  EXPECT_THAT(to_svg(plot), HasSubstr("d=\"M80 200L700 40\""));
}

TEST(SvgPlot, NothingToShowIsAnEmptyFrame) {
  EXPECT_THAT(to_svg({.title = "a < b & c"}), HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(to_svg({.lines = {{.points = {{3, 3}}}}}), HasSubstr("M80 360"));
}

}  // namespace
}  // namespace berth::train
