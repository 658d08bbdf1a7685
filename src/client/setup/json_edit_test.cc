// SPDX-License-Identifier: Apache-2.0
#include "setup/json_edit.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace berth::setup {
namespace {

using Path = std::vector<std::string_view>;
const Path kBerth = {"mcpServers", "berth"};

std::string set(std::string_view text, const Path& path = kBerth,
                std::string_view value = R"({"command": "berth"})") {
  const auto changed = with_member(text, path, value);
  return changed.ok() ? *changed : "refused: " + changed.error().message;
}
std::string unset(std::string_view text, const Path& path = kBerth) {
  const auto changed = without_member(text, path);
  return changed.ok() ? *changed : "refused: " + changed.error().message;
}
TEST(WithMember, MakesWhatIsMissingOnTheWay) {
  EXPECT_EQ(set(""), "{\n  \"mcpServers\": {\n    \"berth\": {\"command\": \"berth\"}\n  }\n}\n");
  EXPECT_EQ(set("{}"), "{\n  \"mcpServers\": {\n    \"berth\": {\"command\": \"berth\"}\n  }\n}");
  EXPECT_EQ(set("{\n  \"mcpServers\": {}\n}\n"),
            "{\n  \"mcpServers\": {\n    \"berth\": {\"command\": \"berth\"}\n  }\n}\n");
}

TEST(WithMember, GoesBehindWhatIsThereAndIndentsAsThatDoes) {
  EXPECT_EQ(set("{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"x\": {}\n    }\n}\n"),
            "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"x\": {},\n"
            "        \"berth\": {\"command\": \"berth\"}\n    }\n}\n");
  EXPECT_EQ(
      set("{\n\t\"a\": 1\n}\n"),
      "{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"berth\": {\"command\": \"berth\"}\n\t}\n}\n");
}

TEST(WithMember, AnObjectOfOneLineStaysOne) {
  EXPECT_EQ(set("{\"mcpServers\": { \"x\": 1 }}"),
            "{\"mcpServers\": { \"x\": 1, \"berth\": {\"command\": \"berth\"} }}");
  EXPECT_EQ(set("{\"a\": 1,}", {"c"}, "3"), "{\"a\": 1, \"c\": 3}");
}

TEST(WithMember, ReplacesWhatIsThereInItsPlace) {
  EXPECT_EQ(set("{\"mcpServers\": {\"berth\": [1, 2], \"b\": 2}}"),
            "{\"mcpServers\": {\"berth\": {\"command\": \"berth\"}, \"b\": 2}}");
}

TEST(WithMember, CommentsAndOrderStay) {
  const std::string text =
      "// Mine.\n{\n  \"b\": 1, // second\n  /* one */ \"a\": [1, 2,], // last\n}\n";
  EXPECT_EQ(
      set(text, {"c"}, "3"),
      "// Mine.\n{\n  \"b\": 1, // second\n  /* one */ \"a\": [1, 2,], // last\n  \"c\": 3\n}\n");
  EXPECT_EQ(set("{\n  \"a\": 1 // last\n}\n", {"c"}, "3"),
            "{\n  \"a\": 1, // last\n  \"c\": 3\n}\n");
  EXPECT_EQ(set("{\n  // nothing yet\n}\n", {"c"}, "3"), "{\n  \"c\": 3\n  // nothing yet\n}\n");
}

TEST(WithMember, AValueOfSeveralLinesIsIndented) {
  EXPECT_EQ(set("{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", {"a", "c"}, "{\n  \"d\": 1\n}"),
            "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": {\n      \"d\": 1\n    }\n  }\n}\n");
}

TEST(WithoutMember, UndoesWhatWasAdded) {
  const std::array<std::string, 6> texts = {"{\n  \"a\": 1\n}\n",
                                            "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n",
                                            "{\n    \"a\": 1, // one\n    \"b\": [2] // two\n}\n",
                                            "{\"a\": 1}",
                                            "{\n  \"mcpServers\": {\n    \"x\": {}, // theirs\n    "
                                            "\"y\": {} // last\n  },\n  \"z\": 1\n}\n",
                                            "// top\n{\n  \"mcpServers\": { \"x\": 1 }\n}\n"};
  for (const std::string& text : texts) {
    const std::string changed = set(text);
    EXPECT_NE(changed, text);
    const std::string back = unset(changed);
    const std::string without_empty = unset(back, {"mcpServers"});
    EXPECT_TRUE(back == text || without_empty == text) << changed << "\n" << back;
  }
}

TEST(WithoutMember, TakesTheFirstTheMiddleAndTheLast) {
  const std::string text = "{\n  \"a\": 1, // one\n  \"b\": 2, // two\n  \"c\": 3 // three\n}\n";
  EXPECT_EQ(unset(text, {"a"}), "{\n   // one\n  \"b\": 2, // two\n  \"c\": 3 // three\n}\n");
  EXPECT_EQ(unset(text, {"b"}), "{\n  \"a\": 1, // one\n   // two\n  \"c\": 3 // three\n}\n");
  EXPECT_EQ(unset(text, {"c"}), "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n   // three\n}\n");
  EXPECT_EQ(unset("{\"a\": 1, \"b\": 2}", {"a"}), "{ \"b\": 2}");
  EXPECT_EQ(unset("{\"a\": 1, \"b\": 2}", {"b"}), "{\"a\": 1}");
  EXPECT_EQ(unset("{\n  \"a\": 1,\n  \"b\": 2\n}", {"a"}), "{\n  \"b\": 2\n}");
  EXPECT_EQ(unset(text, {"d"}), text);
  EXPECT_EQ(unset("", {"d"}), "");
}

TEST(WithElement, GoesToTheEndOfTheListAndComesOutAgain) {
  const Path path = {"hooks", "Stop"};
  const std::array<std::string, 5> texts = {
      "{\n  \"a\": 1\n}\n",
      "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"x\": 1} // theirs\n    ]\n  }\n}\n",
      "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n", "{\"hooks\": {\"Stop\": [1, 2]}}",
      "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t1,\n\t\t\t2,\n\t\t]\n\t}\n}\n"};
  for (const std::string& text : texts) {
    const auto changed = with_element(text, path, "{\n  \"command\": \"berth hook\"\n}");
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_NE(changed->find("berth hook"), std::string::npos);
    const auto back = without_elements(*changed, path, "berth hook");
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->find("berth hook"), std::string::npos);
    for (const char* theirs : {"theirs", "1, 2", "\t1,\n\t\t\t2"}) {
      EXPECT_EQ(back->find(theirs) != std::string::npos, text.find(theirs) != std::string::npos);
    }
  }
  EXPECT_EQ(*with_element("{\n  \"l\": [\n    1\n  ]\n}\n", Path{"l"}, "{\n  \"a\": 2\n}"),
            "{\n  \"l\": [\n    1,\n    {\n      \"a\": 2\n    }\n  ]\n}\n");
  EXPECT_EQ(*without_elements("{\"l\": [\"x\", 1, \"x\"]}", Path{"l"}, "x"), "{\"l\": [ 1]}");
  EXPECT_EQ(*without_elements("{\"l\": [\"x\"]}", Path{"m"}, "x"), "{\"l\": [\"x\"]}");
  EXPECT_EQ(with_element("{\"l\": 3}", Path{"l"}, "1").error().message,
            "line 1: something else than a list");
}

TEST(JsonEdit, WhatIsNoJsonIsRefusedWithItsLine) {
  EXPECT_EQ(set("{\n  \"a\": 1\n  \"b\": 2\n}"), "refused: line 3: neither a comma nor }");
  EXPECT_EQ(set("[1]"), "refused: line 1: no object");
  EXPECT_EQ(set("{\"a"), "refused: line 1: a text that does not end");
  EXPECT_EQ(set("{\"mcpServers\": 3}"), "refused: line 1: something else than an object");
  EXPECT_EQ(set("{} x"), "refused: line 1: something behind the object");
  EXPECT_EQ(unset("{\n\n\"a\" 1}"), "refused: line 3: no colon behind a name");
  EXPECT_TRUE(set(std::string(1000, '{')).starts_with("refused"));
  EXPECT_TRUE(set("{\"a\": " + std::string(1000, '[')).starts_with("refused"));
}

TEST(JsonEdit, NamesInTextsAndCommentsAreNone) {
  const std::string text = "{\n  // \"mcpServers\": {},\n  \"a\": \"\\\"mcpServers\\\": {}\"\n}\n";
  const std::string changed = set(text);
  EXPECT_TRUE(changed.ends_with("\"berth\": {\"command\": \"berth\"}\n  }\n}\n")) << changed;
  EXPECT_EQ(*member_of(changed, kBerth), R"({"command": "berth"})");
  EXPECT_EQ(*member_of(text, kBerth), "");
}

}  // namespace
}  // namespace berth::setup
