// SPDX-License-Identifier: Apache-2.0
#include "cli/top/canvas.h"

#include <gtest/gtest.h>

namespace berth::cli::top {
namespace {

TEST(TopCanvas, TextIsCutAtTheEdgeAndNeverInALetter) {
  Canvas canvas(6, 2);
  EXPECT_EQ(canvas.put(0, 3, "abcdef"), 6U);
  canvas.put(1, 0, "漢字漢字");
  EXPECT_EQ(canvas.text(), "   abc\n漢字漢\n");
  canvas.put(1, 0, "a漢字漢");
  EXPECT_EQ(canvas.text(), "   abc\na漢字\n");  // The third would have half a cell.
  canvas.put(7, 0, "below");
  EXPECT_EQ(canvas.put_before(0, 6, "xy"), 4U);
  EXPECT_EQ(canvas.text(), "   axy\na漢字\n");
}

TEST(TopCanvas, OnlyCellsThatDifferAreSent) {
  Canvas before(20, 2);
  before.put(0, 0, "used 9.8 GiB");
  Canvas now = before;
  EXPECT_EQ(changes(before, now, {Colours::kMany}), "");
  now.put(0, 5, "9.9");
  EXPECT_EQ(changes(before, now, {Colours::kMany}), "\x1b[1;8H9");
  now.put(1, 3, "x", Style::kBold);
  EXPECT_EQ(changes(before, now, {Colours::kMany}), "\x1b[1;8H9\x1b[2;4H\x1b[0;1mx\x1b[0m");
}

TEST(TopCanvas, WhatIsNearIsSentAgainRatherThanJumpedOver) {
  Canvas before(40, 1);
  before.put(0, 0, "aaaaaaaaaaaaaaaaaaaaaaaa");
  Canvas now = before;
  now.put(0, 0, "b");
  now.put(0, 3, "b");
  now.put(0, 20, "b");
  EXPECT_EQ(changes(before, now, {Colours::kNone}), "\x1b[1;1Hbaab\x1b[1;21Hb");
}

TEST(TopCanvas, AScreenOfAnotherSizeIsDrawnAnew) {
  Canvas now(8, 1);
  now.put(0, 2, "ab");
  EXPECT_EQ(changes(Canvas(4, 1), now, {Colours::kNone}), "\x1b[0m\x1b[2J\x1b[1;3Hab");
}

TEST(TopCanvas, ColoursAreThoseThatThereAre) {
  Canvas now(4, 1);
  now.put(0, 0, "a", Style::kHue1);
  const Canvas blank(4, 1);
  EXPECT_EQ(changes(blank, now, {Colours::kMany}), "\x1b[1;1H\x1b[0;38;5;178ma\x1b[0m");
  EXPECT_EQ(changes(blank, now, {Colours::kSixteen}), "\x1b[1;1H\x1b[0;33ma\x1b[0m");
  EXPECT_EQ(changes(blank, now, {Colours::kNone}), "\x1b[1;1Ha");
}

}  // namespace
}  // namespace berth::cli::top
