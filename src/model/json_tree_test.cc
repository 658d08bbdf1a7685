// SPDX-License-Identifier: Apache-2.0
#include "model/json_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/json_string.h"

namespace berth {
namespace {

using Kind = JsonTree::Kind;

std::optional<std::string> text_in(const std::string& json) {
  const std::optional<JsonTree> tree = JsonTree::parse(json);
  return tree ? text_of((*tree)[0]) : std::nullopt;
}

TEST(JsonTree, NodesStandInTheOrderOfTheText) {
  const std::string text = R"( {"a":[1,-2.5e3,true],"b":{} ,"c":null} )";
  const std::optional<JsonTree> tree = JsonTree::parse(text);
  ASSERT_TRUE(tree);
  EXPECT_EQ((*tree)[0].kind, Kind::kObject);
  EXPECT_EQ((*tree)[0].end, 10u);
  EXPECT_EQ((*tree)[1].text, "a");
  EXPECT_EQ((*tree)[2].kind, Kind::kArray);
  EXPECT_EQ((*tree)[2].end, 6u);
  EXPECT_EQ((*tree)[4].text, "-2.5e3");
  EXPECT_EQ((*tree)[5].kind, Kind::kTrue);
  EXPECT_EQ((*tree)[6].text, "b");
  EXPECT_EQ((*tree)[7].end, 8u);
  EXPECT_EQ((*tree)[9].kind, Kind::kNull);
}

TEST(JsonTree, WhatIsNoJsonIsRefused) {
  for (const char* text :
       {"",         " ",          "{",         "}",         "[",  "[1,]", "[1 2]",     "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{a:1}",     "{\"a\" 1}", "\"", "\"\\", "\"\\\"",    "\"\n\"",
        "nul",      "nulls",      "truefalse", "1 2",       "x",  "[1}",  "{\"a\":1]", "\x01"}) {
    EXPECT_FALSE(JsonTree::parse(text)) << text;
  }
  EXPECT_TRUE(JsonTree::parse(std::string(16, '[') + std::string(16, ']')));
  EXPECT_FALSE(JsonTree::parse(std::string(18, '[') + std::string(18, ']')));
}

TEST(JsonTree, EscapesAreResolved) {
  EXPECT_EQ(text_in(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(text_in(R"("\u0041\u00e4\u20AC\ud83d\ude00")"), "Aä€😀");
  EXPECT_EQ(text_in(R"("x\u0000y")"), std::string("x\0y", 3));
  for (const char* wrong : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud83d")", R"("\ude00")",
                            R"("\ud83dx")", R"("\ud83d\u0041")", R"("\u+123")"}) {
    EXPECT_EQ(text_in(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(text_in("7"), std::nullopt);
}

RC_GTEST_PROP(JsonTree, WhatIsQuotedReadsBack, ()) {
  std::string text;
  for (const auto c : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
    text += static_cast<char>(c & 0x7FU);
  }
  std::string json;
  append_json_string(text, json);
  RC_ASSERT(text_in(json) == text);
}

RC_GTEST_PROP(JsonTree, AnyTextEndsInATreeOrInNone, ()) {
  const auto pieces = *rc::gen::container<std::vector<const char*>>(
      rc::gen::element("{", "}", "[", "]", ",", ":", "\"", "\\", "a", "1", "null", " ", "\\u"));
  std::string json;
  for (const char* piece : pieces) json += piece;
  const std::optional<JsonTree> tree = JsonTree::parse(json);
  const bool has_a_root = !tree || (*tree)[0].end > 0;  // RC_ASSERT looks at both sides of ||.
  RC_ASSERT(has_a_root);
}

}  // namespace
}  // namespace berth
