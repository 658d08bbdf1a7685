// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keys.h"

#include <gtest/gtest.h>

namespace berth::cli::top {
namespace {

using Kind = Key::Kind;
using Keys = std::vector<Key>;

Keys keys_of(std::string_view bytes) {
  return KeyReader().take(bytes);
}

TEST(TopKeys, LettersAreThemselves) {
  EXPECT_EQ(keys_of("q?ä"), (Keys{{.text = "q"}, {.text = "?"}, {.text = "ä"}}));
  EXPECT_EQ(keys_of("\r\x7f\x01"), (Keys{{Kind::kEnter}, {Kind::kBackspace}}));
}

TEST(TopKeys, SequencesAreKeysInBothModesOfATerminal) {
  EXPECT_EQ(keys_of("\x1b[A\x1b[B\x1bOA"), (Keys{{Kind::kUp}, {Kind::kDown}, {Kind::kUp}}));
  EXPECT_EQ(keys_of("\x1b[5~\x1b[6~"), (Keys{{Kind::kPageUp}, {Kind::kPageDown}}));
  EXPECT_EQ(keys_of("\x1b[H\x1b[F\x1b[1~\x1b[4~"),
            (Keys{{Kind::kHome}, {Kind::kEnd}, {Kind::kHome}, {Kind::kEnd}}));
  EXPECT_EQ(keys_of("\x1b[21~\x1b[1;2P\x1bxq"), Keys{{.text = "q"}});  // Of keys without a use.
}

TEST(TopKeys, TheMouseSaysWhere) {
  EXPECT_EQ(keys_of("\x1b[<0;12;5M\x1b[<0;12;5m"),
            (Keys{{.kind = Kind::kClick, .column = 11, .row = 4}}));
  EXPECT_EQ(keys_of("\x1b[<64;1;1M\x1b[<65;1;1M"), (Keys{{Kind::kWheelUp}, {Kind::kWheelDown}}));
  EXPECT_EQ(keys_of("\x1b[<0;0;5M\x1b[<0;;5M\x1b[<2;3;3M"), Keys{});
}

TEST(TopKeys, ASequenceMayComeInPieces) {
  const std::string_view bytes = "\x1b[<0;12;5M\x1b[6~ä";
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    KeyReader reader;
    Keys keys = reader.take(bytes.substr(0, at));
    for (Key& key : reader.take(bytes.substr(at))) keys.push_back(std::move(key));
    EXPECT_EQ(
        keys,
        (Keys{{.kind = Kind::kClick, .column = 11, .row = 4}, {Kind::kPageDown}, {.text = "ä"}}))
        << at;
  }
}

TEST(TopKeys, EscapeAloneIsAKeyWhenNothingFollows) {
  KeyReader reader;
  EXPECT_EQ(reader.take("\x1b"), Keys{});
  EXPECT_TRUE(reader.is_between());
  EXPECT_EQ(reader.settle(), Key{Kind::kEscape});
  EXPECT_EQ(reader.settle(), std::nullopt);
  EXPECT_EQ(keys_of("\x1b\x1b[A"), (Keys{{Kind::kEscape}, {Kind::kUp}}));
}

TEST(TopKeys, ASequenceThatIsTooLongIsReadToItsEnd) {
  const std::string endless = "\x1b[" + std::string(500, '1');
  for (std::size_t at = 0; at <= endless.size(); at += 10) {
    KeyReader reader;
    EXPECT_EQ(reader.take(endless.substr(0, at)), Keys{});
    EXPECT_EQ(reader.take(endless.substr(at)), Keys{});
    EXPECT_EQ(reader.take("Aq"), Keys{{.text = "q"}});
    EXPECT_FALSE(reader.is_between());
  }
}

}  // namespace
}  // namespace berth::cli::top
