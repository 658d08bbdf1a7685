// SPDX-License-Identifier: Apache-2.0
// JsonWriter beside another reader of JSON.
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace berth::wire {
namespace {

std::string written(std::string_view text) {
  JsonWriter writer;
  writer.text(text);
  return writer.take();
}

TEST(JsonWriter, SeparatesAndNests) {
  JsonWriter writer;
  writer.begin_object().key("a").number(1).key("b").begin_array();
  writer.integer(-2).null().begin_object().end_object().boolean(true).end_array();
  writer.key("c").begin_array().end_array().end_object();
  EXPECT_EQ(writer.take(), R"({"a":1,"b":[-2,null,{},true],"c":[]})");
  writer.begin_array().text("again").end_array();
  EXPECT_EQ(writer.take(), R"(["again"])");
}

TEST(JsonWriter, NothingIsNull) {
  JsonWriter writer;
  writer.begin_array().text_or_null("").bytes({}).milliseconds({}).time({});
  writer.text_or_null("x").bytes(Bytes{0}).milliseconds(Duration{1'999'999}).time(UnixMs{0});
  writer.number(std::numeric_limits<std::uint64_t>::max()).end_array();
  EXPECT_EQ(writer.take(),
            R"([null,null,null,null,"x",0,1,"1970-01-01T00:00:00.000Z",18446744073709551615])");
}

TEST(JsonWriter, EscapesWhatJsonAndTerminalsWouldTakeForThemselves) {
  EXPECT_EQ(written("a\"b\\c/d\n\r\t\b\x1B\x7F"), R"("a\"b\\c/d\n\r\t\u0008\u001b\u007f")");
}

TEST(JsonWriter, WritesValidUtf8WhateverItIsGiven) {
  // The first and last byte of each range that RFC 3629 tells apart.
  constexpr std::string_view kEdges(
      "\x00\x01\x1F\x20\x22\x5C\x7E\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED"
      "\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF",
      30);
  for (const char a : kEdges) {
    for (const char b : kEdges) {
      for (const std::string_view tail : {"", "\x80", "\x80\x80", "z"}) {
        const std::string text = std::string{a, b} + std::string(tail);
        const auto json = nlohmann::json::parse(written(text), nullptr, false);
        ASSERT_TRUE(json.is_string()) << int{a} << ' ' << int{b} << ' ' << tail.size();
        // What was valid comes through unchanged.
        const auto direct = nlohmann::json(text);
        const std::string strict =
            direct.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore);
        if (nlohmann::json::parse(strict).get<std::string>() == text) {
          ASSERT_EQ(json.get<std::string>(), text);
        }
      }
    }
  }
}

TEST(JsonWriter, KeepsTextOfAllLengths) {
  for (const std::string_view text : {"é", "€", "𝄞", "\U0010FFFF", "日本語"}) {
    EXPECT_EQ(written(text), "\"" + std::string(text) + "\"");
  }
  EXPECT_EQ(written("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");  // A surrogate.
  EXPECT_EQ(written("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");
}

}  // namespace
}  // namespace berth::wire
