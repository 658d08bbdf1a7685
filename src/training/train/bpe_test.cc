// SPDX-License-Identifier: Apache-2.0
#include "train/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "train/ranks_for_test.h"
#include "train/shuffle.h"

namespace berth::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Ranks ranks_of(const std::vector<std::string>& joined) {
  auto ranks = Ranks::parse(ranks_text(joined));
  EXPECT_TRUE(ranks.ok()) << ranks.error().message;
  return *std::move(ranks);
}

std::vector<Token> encoded(const Ranks& ranks, std::string_view piece) {
  std::vector<Token> tokens;
  encode_piece(ranks, piece, tokens);
  return tokens;
}

std::string decoded(const Ranks& ranks, const std::vector<Token>& tokens) {
  std::string text;
  for (const Token token : tokens) text += ranks.piece(token);
  return text;
}

// As one would write it down: the leftmost pair of the lowest rank, again and again.
std::vector<Token> encoded_slowly(const Ranks& ranks, std::string_view piece) {
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  while (true) {
    std::optional<std::size_t> best;
    std::optional<Token> lowest;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = ranks.rank(parts[i] + parts[i + 1]);
      if (rank && (!lowest || *rank < *lowest)) {
        lowest = rank;
        best = i;
      }
    }
    if (!best) break;
    parts[*best] += parts[*best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
  std::vector<Token> tokens;
  for (const std::string& part : parts) tokens.push_back(*ranks.rank(part));
  return tokens;
}

TEST(Bpe, TheLowestRankIsJoinedFirst) {
  const Ranks ranks = ranks_of({"bc", "ab", "cd", "bcde"});
  EXPECT_THAT(encoded(ranks, "abcd"), ElementsAre('a', 256, 'd')) << "bc before ab";
  EXPECT_THAT(encoded(ranks, "abx"), ElementsAre(257, 'x'));
  EXPECT_THAT(encoded(ranks, "xcd"), ElementsAre('x', 258));
  EXPECT_THAT(encoded(ranks, "bcde"), ElementsAre(259)) << "which no joining would come to";
  EXPECT_THAT(encoded(ranks, "abcde"), ElementsAre('a', 256, 'd', 'e'));
  EXPECT_THAT(encoded(ranks, ""), IsEmpty());
}

TEST(Bpe, OfEqualPairsTheLeftOneIsJoined) {
  const Ranks ranks = ranks_of({"aa"});
  EXPECT_THAT(encoded(ranks, "aaa"), ElementsAre(256, 'a'));
  EXPECT_THAT(encoded(ranks, "aaaaa"), ElementsAre(256, 256, 'a'));
}

TEST(Bpe, WhatIsEncodedIsDecodedWhateverItsBytes) {
  const Ranks ranks = ranks_of({"th", "the", " the", "\xC3\xA9"});
  const std::string text("the \0 caf\xC3\xA9\xFF the", 16);
  EXPECT_EQ(decoded(ranks, encoded(ranks, text)), text);
  EXPECT_EQ(ranks.piece(99'999), "");
}

TEST(Bpe, IsThatOfTheSlowWayForAnyPiece) {
  std::vector<std::string> joined;
  std::uint64_t state = 7;
  const auto letter = [&] { return static_cast<char>('a' + mixed(++state) % 3); };
  while (joined.size() < 60) {
    std::string piece;
    for (std::uint64_t i = 2 + mixed(++state) % 4; i > 0; --i) piece += letter();
    if (std::ranges::find(joined, piece) == joined.end()) joined.push_back(piece);
  }
  const Ranks ranks = ranks_of(joined);
  for (int round = 0; round < 3'000; ++round) {
    std::string piece;
    for (std::uint64_t i = mixed(++state) % 40; i > 0; --i) piece += letter();
    if (ranks.rank(piece)) continue;  // Taken as a whole.
    ASSERT_EQ(encoded(ranks, piece), encoded_slowly(ranks, piece)) << piece;
  }
}

// A piece is as long as a line of dashes in a text, and takes no time of a square for that.
TEST(Bpe, ALongPieceIsNoTrouble) {
  const Ranks ranks = ranks_of({"--", "----", "--------"});
  const std::string piece(256 << 10, '-');
  EXPECT_EQ(encoded(ranks, piece).size(), piece.size() / 8);
}

std::string trouble_of_ranks(const std::string& text) {
  const auto ranks = Ranks::parse(text);
  return ranks.ok() ? "" : ranks.error().message;
}

TEST(Ranks, WhatIsNoFileOfThemIsRefusedByItsLine) {
  const std::string whole = ranks_text({"ab"});
  EXPECT_EQ(trouble_of_ranks(whole), "");
  EXPECT_EQ(trouble_of_ranks(whole + "\r\n\n"), "")
      << "an end of another system, and an empty line";
  EXPECT_THAT(trouble_of_ranks(""), HasSubstr("the byte 0 is no token"));
  EXPECT_THAT(trouble_of_ranks(whole + "YWI= 300\n"), HasSubstr("line 258: a piece comes twice"));
  EXPECT_THAT(trouble_of_ranks(whole + "YWM= 256\n"),
              HasSubstr("line 258: the rank 256 comes twice"));
  EXPECT_THAT(trouble_of_ranks(whole + "YWM= 258\n"), HasSubstr("the rank 257 is missing"));
  EXPECT_THAT(trouble_of_ranks(whole + "YWM=\n"),
              HasSubstr("line 258: must be base64, a blank and a rank"));
  for (const auto* line :
       {"YW*= 257", "YWM 257", "YWM= -1", "YWM= 1x", " 257", "YWM= 99999999999"}) {
    EXPECT_THAT(trouble_of_ranks(whole + line), HasSubstr("line 258: must be base64")) << line;
  }
  EXPECT_THAT(trouble_of_ranks(whole + "YWM= 999999999"), HasSubstr("2^24"));
  EXPECT_THAT(trouble_of_ranks("YQ== 0\n"), HasSubstr("the byte 0 is no token"));
}

}  // namespace
}  // namespace berth::train
