// SPDX-License-Identifier: Apache-2.0
#include "base/json_cursor.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(JsonCursor, TokensArePassedOneAfterTheOther) {
  JsonCursor cursor(" { \"a\\n\" :\t12, true -1.5e3 } x");
  EXPECT_EQ(cursor.next(), '{');
  EXPECT_FALSE(cursor.take('['));
  EXPECT_TRUE(cursor.take('{'));
  EXPECT_EQ(cursor.text(), "a\n");
  EXPECT_TRUE(cursor.take(':'));
  EXPECT_EQ(cursor.natural(), 12);
  EXPECT_TRUE(cursor.take(','));
  EXPECT_TRUE(cursor.word("true"));
  EXPECT_EQ(cursor.number(), "-1.5e3");
  EXPECT_FALSE(cursor.at_end());
  EXPECT_TRUE(cursor.take('}'));
  EXPECT_EQ(cursor.rest(), " x");
}

TEST(JsonCursor, WhatDoesNotFitStopsItWhereItIs) {
  JsonCursor cursor("  01x");
  EXPECT_EQ(cursor.number(), std::nullopt);
  EXPECT_EQ(cursor.natural(), std::nullopt);
  EXPECT_EQ(cursor.quoted(), std::nullopt);
  EXPECT_EQ(cursor.at(), 2);
  EXPECT_EQ(cursor.number_letters(), "01");
  EXPECT_EQ(cursor.rest(), "x");
}

TEST(JsonCursor, OnlyNumbersOfPlainDigitsAreNatural) {
  for (const char* text : {"", "-1", "+1", "1.0", "1e3", "00", "18446744073709551616", "x"}) {
    EXPECT_EQ(JsonCursor(text).natural(), std::nullopt) << text;
  }
  EXPECT_EQ(JsonCursor("18446744073709551615]").natural(), UINT64_MAX);
  EXPECT_EQ(JsonCursor("0,").natural(), 0);
}

TEST(JsonCursor, TextIsUtf8WithEscapesThatAreSome) {
  EXPECT_EQ(JsonCursor(R"("\u00e4\"\\")").text(), "ä\"\\");
  for (const char* text : {"\"\xFF\"", R"("\x")", R"("\ud800")", "\"a", "\"\n\"", "'a'"}) {
    EXPECT_EQ(JsonCursor(text).text(), std::nullopt) << text;
  }
  const JsonCursor::Quoted quoted = JsonCursor(R"("\x")").quoted().value_or(JsonCursor::Quoted{});
  EXPECT_EQ(quoted.text, "\\x");
  EXPECT_TRUE(quoted.escaped);
}

}  // namespace
}  // namespace berth
