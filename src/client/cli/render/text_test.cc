// SPDX-License-Identifier: Apache-2.0
#include "cli/render/text.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

constexpr Charset kUnicode = {.unicode = true};
constexpr Charset kAscii = {};

TEST(Text, NamesCannotSendEscapeSequences) {
  EXPECT_EQ(escape_control("a\033[31mb\007", kUnicode), "a?[31mb?");
  EXPECT_EQ(escape_control("a\xC2\x9B"
                           "31m",
                           kUnicode),
            "a?31m");  // CSI as one C1 control.
  EXPECT_EQ(escape_control("one\ntwo\tthree", kUnicode), "one two three");
  EXPECT_EQ(escape_control("user\xE2\x80\xAE"
                           "gnp",
                           kUnicode),
            "user?gnp");  // U+202E turns the direction.
}

TEST(Text, BytesThatAreNoUtf8BecomeQuestionMarks) {
  EXPECT_EQ(escape_control("\xFF\xC0\x80", kUnicode), "???");
  EXPECT_EQ(escape_control("\xED\xA0\x80", kUnicode), "???");  // A surrogate.
  EXPECT_EQ(escape_control("caf\xC3", kUnicode), "caf?");      // Cut short.
}

TEST(Text, WithoutUnicodeOnlyAsciiIsSent) {
  EXPECT_EQ(escape_control("café", kUnicode), "café");
  EXPECT_EQ(escape_control("café", kAscii), "caf?");
  for (const std::string_view sign :
       {glyphs_of(kAscii).ellipsis, glyphs_of(kAscii).dash, glyphs_of(kAscii).bar_used}) {
    EXPECT_EQ(escape_control(sign, kAscii), sign);
  }
}

TEST(Text, ColumnsAreCountedNotBytes) {
  EXPECT_EQ(columns_of("café"), 4U);
  EXPECT_EQ(columns_of("訓練"), 4U);
  EXPECT_EQ(columns_of("e\xCC\x81"), 1U);  // A combining accent.
}

TEST(Text, SentencesAreBrokenAtBlanksAndWordsStayWhole) {
  EXPECT_EQ(wrapped("one two three four five six", 2, 22), "  one two three four\n  five six\n");
  EXPECT_EQ(wrapped("see /a/path/that/is/longer/than/a/line here", 0, 20),
            "see\n/a/path/that/is/longer/than/a/line\nhere\n");
  EXPECT_EQ(wrapped("one\n\ntwo\n", 0, 40), "one\n\ntwo\n");
  EXPECT_EQ(wrapped("−−−− −−−− −−−− −−−− −−−− −−−−", 0, 23), "−−−− −−−− −−−− −−−−\n−−−− −−−−\n");
}

TEST(Text, ColourIsSentOnlyWhereItMayBe) {
  EXPECT_EQ(painted("held", Colour::kGreen, kUnicode), "held");
  EXPECT_EQ(painted("held", Colour::kGreen, {.unicode = true, .colour = true}),
            "\033[32mheld\033[0m");
}

}  // namespace
}  // namespace berth::cli
