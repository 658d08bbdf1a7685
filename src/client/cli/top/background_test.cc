// SPDX-License-Identifier: Apache-2.0
#include "cli/top/background.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/number.h"
#include "cli/top/keys.h"

namespace berth::cli::top {
namespace {

TEST(TopBackground, LightAndDarkOfAnyNumberOfDigits) {
  EXPECT_EQ(background_of("]11;rgb:ffff/ffff/ffff"), Background::kLight);
  EXPECT_EQ(background_of("]11;rgb:FdFd/f6f6/e3e3"), Background::kLight);
  EXPECT_EQ(background_of("]11;rgb:f/f/f"), Background::kLight);
  EXPECT_EQ(background_of("]11;rgb:00/2b/36"), Background::kDark);
  EXPECT_EQ(background_of("]11;rgb:0000/0000/0000"), Background::kDark);
  EXPECT_EQ(background_of("]11;rgb:000/000/fff"), Background::kDark);  // Blue is dark.
  EXPECT_EQ(background_of("]11;rgb:000/fff/000"), Background::kLight);
  EXPECT_EQ(background_of("]11;rgba:ffff/ffff/ffff/0000"), Background::kLight);
}

TEST(TopBackground, WhatIsNotOfThatFormMeansNothing) {
  const std::string good = "]11;rgb:ffff/ffff/ffff";
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    // Only the last part may be shorter: it has one to four digits.
    const bool is_short = cut >= good.size() - 3;
    EXPECT_EQ(background_of(good.substr(0, cut)).has_value(), is_short) << cut;
  }
  for (const std::string_view bad :
       {"", "]", "]10;rgb:ffff/ffff/ffff", "]11;?", "]11;#ffffff", "]11;rgb:ffff/ffff/ffff/ffff",
        "]11;rgba:ffff/ffff/ffff", "]11;rgb:fffff/ffff/ffff", "]11;rgb:ffff/ffff/", "]11;rgb://",
        "]11;rgb:-fff/ffff/ffff", "]11;rgb:0xf/ffff/ffff", "]11;rgb:fffg/ffff/ffff",
        "]11;rgb: fff/ffff/ffff", "]11;rgb:ffff/ffff/ffff ", "11;rgb:ffff/ffff/ffff", "[?62c"}) {
    EXPECT_EQ(background_of(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(background_of(good + std::string(1, '\0')), std::nullopt);
}

TEST(TopBackground, TheFenceIsThatOfAnyTerminal) {
  EXPECT_TRUE(is_fence("[?6c"));
  EXPECT_TRUE(is_fence("[?64;1;2;6;9;15;16;17;18;21;22;28c"));
  EXPECT_FALSE(is_fence("[?25$y"));
  EXPECT_FALSE(is_fence("[?1;2x3c"));
  EXPECT_FALSE(is_fence("]11;rgb:c"));
  EXPECT_FALSE(is_fence(""));
}

TEST(TopBackground, ColorfgbgSaysItByNumber) {
  EXPECT_EQ(background_by_colorfgbg("15;0"), Background::kDark);
  EXPECT_EQ(background_by_colorfgbg("0;15"), Background::kLight);
  EXPECT_EQ(background_by_colorfgbg("0;default;7"), Background::kLight);
  EXPECT_EQ(background_by_colorfgbg("15;8"), Background::kDark);
  for (const std::string_view bad : {"", "0", "15", ";", "0;", "0;16", "0;default", "0;-1"}) {
    EXPECT_EQ(background_by_colorfgbg(bad), std::nullopt) << bad;
  }
}

// ---- Answers among keys.

using Answers = std::vector<std::string>;

struct Heard {
  std::vector<Key> keys;
  Answers answers;
  friend bool operator==(const Heard&, const Heard&) = default;
};

// In pieces of which none is longer; nothing comes meanwhile for as long as an answer may take.
Heard heard(std::string_view bytes, std::size_t piece) {
  KeyReader reader;
  Heard all;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    for (Key& key : reader.take(bytes.substr(0, piece))) all.keys.push_back(std::move(key));
    if (reader.is_between() && bytes.size() > piece && bytes[piece - 1] != '\x1b') {
      EXPECT_EQ(reader.settle(), std::nullopt);
    }
  }
  all.answers = reader.take_answers();
  EXPECT_TRUE(reader.take_answers().empty());
  return all;
}

TEST(TopBackground, AnswersAreNeverKeysHoweverTheyAreCut) {
  const std::string bytes = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\j\x1b]11;rgb:0/0/0\x07q";
  const Heard whole = {.keys = {{.text = "j"}, {.text = "q"}},
                       .answers = {"]11;rgb:ffff/ffff/ffff", "]11;rgb:0/0/0"}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(heard(bytes, piece), whole) << piece;
  }
  const std::string fence = "\x1b[?62;22cq";
  for (std::size_t piece = 1; piece <= fence.size(); ++piece) {
    EXPECT_EQ(heard(fence, piece), (Heard{{{.text = "q"}}, {"[?62;22c"}})) << piece;
  }
}

TEST(TopBackground, TooLongOnesAreReadToTheirEndAndMeanNothing) {
  const std::string many(100'000, 'x');
  EXPECT_EQ(heard("\x1b]11;rgb:" + many + "\x1b\\q", 1'000), (Heard{{{.text = "q"}}, {}}));
  EXPECT_EQ(heard("\x1bP" + many + "\x07q", 77), (Heard{{{.text = "q"}}, {}}));
  EXPECT_EQ(heard("\x1b[?" + std::string(100'000, '1') + "cq", 1'000),
            (Heard{{{.text = "q"}}, {}}));
  std::string flood;
  for (int i = 0; i < 1'000; ++i) flood += "\x1b]11;rgb:f/f/f\x07";
  EXPECT_EQ(heard(flood, 64).answers.size(), KeyReader::kAnswersKept);
}

TEST(TopBackground, AnotherSequenceEndsOneThatNeverEnds) {
  const Key up{.kind = Key::Kind::kUp};
  for (std::size_t piece = 1; piece < 9; ++piece) {
    EXPECT_EQ(heard("\x1b]11;rgb:ff\x1b[A", piece), (Heard{{up}, {}})) << piece;
    EXPECT_EQ(heard("\x1b]11;rgb:ff\x18q", piece), (Heard{{{.text = "q"}}, {}})) << piece;
    EXPECT_EQ(heard("\x1b[?64;1\x1b[A", piece), (Heard{{up}, {}})) << piece;
  }
}

TEST(TopBackground, EscapeTwiceInAnAnswerIsNoKey) {
  for (std::size_t piece = 1; piece < 9; ++piece) {
    EXPECT_EQ(heard("\x1b]11;x\x1b\x1b\\q", piece), (Heard{{{.text = "q"}}, {"]11;x"}})) << piece;
  }
}

TEST(TopBackground, OneThatNeverEndsIsGivenUpAfterAWhile) {
  KeyReader reader;
  EXPECT_TRUE(reader.take("\x1b]11;rgb:ff").empty());
  for (std::size_t i = 0; i + 1 < KeyReader::kSettlesInAnswer; ++i) {
    EXPECT_EQ(reader.settle(), std::nullopt);
  }
  EXPECT_TRUE(reader.take("ff/ffff").empty());  // It has only been slow.
  for (std::size_t i = 0; i < KeyReader::kSettlesInAnswer; ++i) {
    EXPECT_TRUE(reader.is_between());
    EXPECT_EQ(reader.settle(), std::nullopt);
  }
  EXPECT_FALSE(reader.is_between());
  EXPECT_EQ(reader.take("q"), (std::vector<Key>{{.text = "q"}}));
  EXPECT_TRUE(reader.take_answers().empty());
}

TEST(TopBackground, EscapeAloneMayBeginAnAnswerThatIsExpected) {
  KeyReader reader;
  reader.expect_answer(true);
  EXPECT_TRUE(reader.take("\x1b").empty());
  EXPECT_EQ(reader.settle(), std::nullopt);
  EXPECT_TRUE(reader.take("]11;rgb:f/f/f\x1b").empty());
  EXPECT_EQ(reader.settle(), std::nullopt);
  EXPECT_TRUE(reader.take("\\").empty());
  EXPECT_EQ(reader.take_answers(), Answers{"]11;rgb:f/f/f"});
  EXPECT_TRUE(reader.take("\x1b").empty());
  for (std::size_t i = 0; i + 1 < KeyReader::kSettlesInAnswer; ++i) {
    EXPECT_EQ(reader.settle(), std::nullopt);
  }
  EXPECT_EQ(reader.settle(), Key{.kind = Key::Kind::kEscape});
  reader.expect_answer(false);
  EXPECT_TRUE(reader.take("\x1b").empty());
  EXPECT_EQ(reader.settle(), Key{.kind = Key::Kind::kEscape});
}

TEST(TopBackground, GarbageInAnAnswerIsNoKeyAndNoColour) {
  std::uint32_t random = 1;
  for (int round = 0; round < 2'000; ++round) {
    std::string garbage;
    for (std::uint32_t i = random % 90; i > 0; --i) {
      random = random * 1'664'525 + 1'013'904'223;
      const char letter = static_cast<char>(random >> 24U);
      // What ends it is for the tests above.
      if (letter != '\x1b' && letter != '\a' && letter != '\x18' && letter != '\x1a') {
        garbage += letter;
      }
    }
    random = random * 1'664'525 + 1'013'904'223;
    const Heard all = heard("\x1b]" + garbage + "\x1b\\", 1 + random % 40);
    EXPECT_TRUE(all.keys.empty()) << garbage;
    for (const std::string& answer : all.answers) {
      EXPECT_EQ(background_of(answer), std::nullopt) << answer;
    }
  }
}

// ---- Colours.

// Of 256, as xterm has them: a cube of six steps each, and greys.
double luminance(std::uint32_t colour) {
  const auto linear = [](std::uint32_t value) {
    const double part = value / 255.0;
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  constexpr std::array<std::uint32_t, 6> kSteps = {0, 95, 135, 175, 215, 255};
  if (colour >= 232) return linear(8 + 10 * (colour - 232));
  const std::uint32_t cube = colour - 16;
  return 0.2126 * linear(kSteps.at(cube / 36)) + 0.7152 * linear(kSteps.at(cube / 6 % 6)) +
         0.0722 * linear(kSteps.at(cube % 6));
}

double contrast(double a, double b) {
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

TEST(TopBackground, ColoursAreLegibleOnIt) {
  for (const Background background : {Background::kDark, Background::kLight}) {
    const double behind = background == Background::kLight ? 1 : 0;
    for (std::size_t i = 0; i < kStyles; ++i) {
      const auto style = static_cast<Style>(i);
      const std::string_view sgr = sgr_of(style, {Colours::kMany, background});
      constexpr std::string_view kOf256 = "0;38;5;";
      if (!sgr.starts_with(kOf256)) continue;  // The terminal's own.
      const std::uint32_t colour =
          parse_number<std::uint32_t>(sgr.substr(kOf256.size())).value_or(0);
      ASSERT_GE(colour, 16U);
      // WCAG 2: of text, of graphics, and of a grid.
      const bool is_text = style == Style::kDim || style == Style::kBad || style == Style::kWarn;
      const double wanted = style == Style::kFaint ? 2 : is_text ? 4.5 : 3;
      EXPECT_GE(contrast(luminance(colour), behind), wanted) << i << " " << sgr;
    }
  }
  // Yellow is not legible on white.
  for (std::size_t i = 0; i < kStyles; ++i) {
    EXPECT_EQ(sgr_of(static_cast<Style>(i), {Colours::kSixteen, Background::kLight}).find("33"),
              std::string_view::npos);
    EXPECT_EQ(sgr_of(static_cast<Style>(i), {Colours::kNone, Background::kLight}),
              sgr_of(static_cast<Style>(i), {Colours::kNone, Background::kDark}));
  }
}

}  // namespace
}  // namespace berth::cli::top
