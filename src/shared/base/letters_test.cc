// SPDX-License-Identifier: Apache-2.0
#include "base/letters.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>

namespace berth {
namespace {

TEST(Letters, WhatTurnsTextOrCannotBeSeenIsNotShown) {
  EXPECT_EQ(escape_control_line("train \u00e9t\u00e9 \u4e2d"), "train \u00e9t\u00e9 \u4e2d");
  EXPECT_EQ(escape_control_line("user\u202egnp"), "user?gnp");
  EXPECT_EQ(escape_control_line("a\u200bb\u2066c\ufeffd"), "a?b?c?d");
  EXPECT_EQ(escape_control_line("tag\U000e0041"), "tag?");
  EXPECT_EQ(escape_control_line("\x1b[2J\u009bm"), "?[2J?m");
}

TEST(Letters, ALineStaysOne) {
  EXPECT_EQ(escape_control_line("a\nb\tc\rd"), "a b c?d");
  EXPECT_EQ(escape_control_line("a\u2028b"), "a?b");
}

TEST(Letters, ACutLeavesWholeOnes) {
  const std::string text = "a\u00e9\u20ac";  // Of one byte, two and three.
  const std::size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6};
  for (std::size_t bytes = 0; bytes < std::size(kept); ++bytes) {
    EXPECT_EQ(whole_letters(text, bytes), text.substr(0, kept[bytes])) << bytes;
  }
}

TEST(Letters, WhatIsNoUtf8IsTakenByteByByte) {
  EXPECT_EQ(escape_control_line("a\xc3(\xff\xed\xa0\x80"), "a?(????");
}

}  // namespace
}  // namespace berth
