// SPDX-License-Identifier: Apache-2.0
#include "trainer/text_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace berth::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  EXPECT_TRUE(
      for_each_piece(text, [&](std::string_view piece) { pieces.emplace_back(piece); }).ok());
  return pieces;
}

TEST(TextPieces, WordsHaveTheBlankBeforeThem) {
  EXPECT_THAT(pieces_of(""), IsEmpty());
  EXPECT_THAT(pieces_of("In the beginning"), ElementsAre("In", " the", " beginning"));
  EXPECT_THAT(pieces_of("the 42nd time."), ElementsAre("the", " 42", "nd", " time", "."));
  EXPECT_THAT(pieces_of("\"So,\" he"), ElementsAre("\"", "So", ",\"", " he"));
}

TEST(TextPieces, ContractionsAreCutBeforeTheirEnding) {
  EXPECT_THAT(pieces_of("I've we'll it's don't"),
              ElementsAre("I", "'ve", " we", "'ll", " it", "'s", " don", "'t"));
  EXPECT_THAT(pieces_of("I'VE"), ElementsAre("I", "'", "VE")) << "only small ones";
}

TEST(TextPieces, OfSeveralBlanksTheLastBelongsToTheWord) {
  EXPECT_THAT(pieces_of("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(pieces_of("a\n\n b"), ElementsAre("a", "\n\n", " b"));
  EXPECT_THAT(pieces_of("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(pieces_of("a  "), ElementsAre("a", "  "));
}

TEST(TextPieces, WhatALetterIsIsUnicodesToSay) {
  EXPECT_THAT(pieces_of("Größe 東京x ٣٤ ½"), ElementsAre("Größe", " 東京x", " ٣٤", " ½"));
  EXPECT_THAT(pieces_of("a\u00a0b"), ElementsAre("a", "\u00a0", "b")) << "a blank, but no space";
}

TEST(TextPieces, AByteThatIsNoUtf8StandsAlone) {
  EXPECT_THAT(pieces_of("ab\xff\xfe cd"), ElementsAre("ab", "\xff", "\xfe", " cd"));
  EXPECT_THAT(pieces_of("\xe6\x9d"), ElementsAre("\xe6", "\x9d")) << "half a letter";
}

TEST(TextPieces, TogetherTheyAreTheTextWhateverItHolds) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random() % (i % 2 == 0 ? 256 : 48));
    std::string together;
    for (const std::string& piece : pieces_of(text)) {
      EXPECT_FALSE(piece.empty());
      together += piece;
    }
    EXPECT_EQ(together, text);
  }
}

TEST(TextPieces, ALongPieceIsOne) {
  const std::string blanks(1U << 20U, '\n');
  EXPECT_EQ(pieces_of(blanks).size(), 1U);
  const std::string word(1U << 20U, 'a');
  EXPECT_EQ(pieces_of(word).size(), 1U);
}

}  // namespace
}  // namespace berth::trainer
