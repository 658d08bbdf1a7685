// SPDX-License-Identifier: Apache-2.0
#include "base/json_string.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

TEST(JsonString, WhatJsonCannotHoldIsEscaped) {
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("plain"), R"("plain")");
  EXPECT_EQ(quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(quoted("\n\t\r\x01\x1f\x7f"), R"("\n\t\r\u0001\u001f\u007f")");
  EXPECT_EQ(quoted(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

TEST(JsonString, Utf8StaysAndAllElseIsReplaced) {
  for (const char* text : {"ä", "€", "😀", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    EXPECT_EQ(quoted(text), "\"" + std::string(text) + "\"");
  }
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(quoted("a\xFFz"), "\"a" + mark + "z\"");
  EXPECT_EQ(quoted("\xC3"), "\"" + mark + "\"");                        // Cut short.
  EXPECT_EQ(quoted("\xC0\x80"), "\"" + mark + mark + "\"");             // Too long a form.
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"");  // A surrogate.
  EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");
}

}  // namespace
}  // namespace berth
