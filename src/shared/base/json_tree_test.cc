// SPDX-License-Identifier: Apache-2.0
#include "base/json_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <variant>

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

TEST(JsonTree, AValueIsFoundByItsKey) {
  const std::optional<JsonTree> tree = JsonTree::parse(R"({"a":{"b":1,"c":2},"\u0062":3,"c":[]})");
  ASSERT_TRUE(tree);
  const std::optional<std::uint32_t> inner = tree->find(0, "a");
  ASSERT_TRUE(inner);
  EXPECT_EQ((*tree)[tree->find(*inner, "c").value_or(0)].text, "2");
  EXPECT_EQ((*tree)[tree->find(0, "b").value_or(0)].text, "3");
  EXPECT_EQ((*tree)[tree->find(0, "c").value_or(0)].kind, Kind::kArray);
  EXPECT_EQ(tree->find(0, "d"), std::nullopt);
  EXPECT_EQ(tree->find(*tree->find(0, "c"), "c"), std::nullopt);
}

TEST(JsonTree, WhatIsNoJsonIsRefused) {
  for (const char* text :
       {"",         " ",          "{",         "}",         "[",  "[1,]", "[1 2]",     "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{a:1}",     "{\"a\" 1}", "\"", "\"\\", "\"\\\"",    "\"\n\"",
        "nul",      "nulls",      "truefalse", "1 2",       "x",  "[1}",  "{\"a\":1]", "\x01"}) {
    EXPECT_FALSE(JsonTree::parse(text)) << text;
  }
  EXPECT_TRUE(JsonTree::parse(std::string(16, '[') + std::string(16, ']')));
  EXPECT_FALSE(JsonTree::parse(std::string(17, '[') + std::string(17, ']')));
}

std::string fault_of(std::string_view json) {
  const auto parsed = JsonTree::parse_strictly(json);
  const auto* fault = std::get_if<JsonTree::Fault>(&parsed);
  if (fault == nullptr) return "none";
  switch (fault->kind) {
    case JsonTree::Fault::Kind::kNoJson:
      return "no JSON at " + std::to_string(fault->byte);
    case JsonTree::Fault::Kind::kTooDeep:
      return "too deep";
    case JsonTree::Fault::Kind::kKeyTwice:
      return "twice " + fault->key;
  }
  return "";
}

TEST(JsonTree, OfOthersIsReadStrictly) {
  for (const char* text :
       {"0", "-0", "10", "1.50", "1e5", "-1.5E-07", "1e999", R"("\u0000")", "[]"})
    EXPECT_EQ(fault_of(text), "none") << text;
  for (const char* text : {"01", "-", "+1", "1.", ".5", "1e", "1e+", "1-2", "--1", "1.2.3", "NaN"})
    EXPECT_EQ(fault_of(text), "no JSON at 1") << text;
  for (const char* text : {R"("\x")", R"("\ud800")", "\"\xFF\"", "\"\xC0\xAF\"", "\"\xE2\x82\""})
    EXPECT_TRUE(fault_of(text).starts_with("no JSON")) << text;
  EXPECT_EQ(fault_of(std::string_view("{}\0", 3)), "no JSON at 3");
  EXPECT_EQ(fault_of("{\"name\":\"\xFF\xFE\"}"), "no JSON at 10");
  EXPECT_EQ(fault_of(R"({"a":1,"b":2,"a":3})"), "twice a");
  EXPECT_EQ(fault_of(R"([{"a":{"b":1,"\u0062":2}}])"), "twice b");
  EXPECT_EQ(fault_of(R"({"a":{"a":1},"b":{"a":1}})"), "none");
  EXPECT_EQ(fault_of(std::string(16, '[') + "7" + std::string(16, ']')), "none");
  EXPECT_EQ(fault_of(std::string(17, '[') + std::string(17, ']')), "too deep");
}

// Whatever the order and number of its keys.
TEST(JsonTree, OfVeryManyKeysIsReadInNoTimeToSpeakOf) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_EQ(fault_of(text + "\"x\":0}"), "none");
  EXPECT_EQ(fault_of(text + "\"0\":0}"), "twice 0");
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

TEST(IsJson, JsonIsToldFromWhatIsNone) {
  for (const char* text :
       {"0", " -1.5e+3 ", "\"a\\n\"", "null", "true", "false", "[]", "{}", "[1, [2], {\"a\": {}}]",
        "{\"a\":1,\"b\":\"\\u0061\"}\n", "10", "0.5", "1E5"}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
  for (const char* text :
       {"",      " ",  "01",      "-",   "+1",   "1.",       ".5",    "1e",      "nul",
        "truth", "\"", "\"\\x\"", "'a'", "[1,]", "[1 2]",    "{1:2}", "{\"a\"}", "{\"a\":}",
        "{,}",   "[",  "]",       "1 2", "NaN",  "\"\xFF\"", "\"\t\""}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(IsJson, DepthHasABound) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(65)));
  EXPECT_FALSE(is_json(nested(66)));
  EXPECT_FALSE(is_json(nested(1'000'000)));
}

}  // namespace
}  // namespace berth
