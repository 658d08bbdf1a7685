// SPDX-License-Identifier: Apache-2.0
#include "mcp/outcome.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace berth::mcp {
namespace {

std::string written(const std::function<void(JsonWriter&)>& members) {
  JsonWriter out;
  out.begin_object();
  members(out);
  return out.end_object().take();
}

std::string of_tool(const ToolResult& result) {
  return written([&](JsonWriter& out) { write_tool_result(out, result); });
}

TEST(Outcome, EachKindOfContentHasItsForm) {
  const ResourceContents text = {"x://a", "text/plain", Text{"b"}};
  const ResourceContents blob = {.uri = "x://a", .contents = Blob{"AAA="}};
  const std::vector<std::pair<Content, std::string>> all = {
      {Text{"a \"b\"\n"}, R"({"type":"text","text":"a \"b\"\n"})"},
      {Image{"AAA=", "image/png"}, R"({"type":"image","data":"AAA=","mimeType":"image/png"})"},
      {Audio{"AAA=", "audio/wav"}, R"({"type":"audio","data":"AAA=","mimeType":"audio/wav"})"},
      {text,
       R"({"type":"resource","resource":{"uri":"x://a","mimeType":"text/plain","text":"b"}})"},
      {blob, R"({"type":"resource","resource":{"uri":"x://a","blob":"AAA="}})"},
  };
  for (const auto& [content, json] : all) {
    EXPECT_EQ(of_tool({.content = {content}}), R"({"content":[)" + json + "]}");
  }
}

TEST(Outcome, OfAToolSaysWhatIsStructuredAndWhatWentWrong) {
  EXPECT_EQ(of_tool({}), R"({"content":[]})");
  EXPECT_EQ(of_tool({.content = {Text{"a"}, Text{"b"}}, .structured = R"({"c":1})"}),
            R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],)"
            R"("structuredContent":{"c":1}})");
  EXPECT_EQ(of_tool(failed({Errc::kInvalid, "no"})),
            R"({"content":[{"type":"text","text":"no"}],"isError":true})");
}

TEST(Outcome, OfAResourceMayBeKeptInTheModernEra) {
  const ResourceResult result = {.contents = {{.uri = "x://a", .contents = Text{"b"}}},
                                 .caching = {.ttl = seconds(2)}};
  const std::string contents = R"("contents":[{"uri":"x://a","text":"b"}])";
  EXPECT_EQ(written([&](auto& out) { write_resource_result(out, result, Era::kModern); }),
            "{" + contents + R"(,"ttlMs":2000,"cacheScope":"private"})");
  EXPECT_EQ(written([&](auto& out) { write_resource_result(out, result, Era::kLegacy); }),
            "{" + contents + "}");
}

TEST(Outcome, OfAPromptIsMessages) {
  const PromptResult result = {
      .description = "d",
      .messages = {{Role::kUser, Text{"a"}}, {Role::kAssistant, Image{"AA==", "image/png"}}}};
  EXPECT_EQ(written([&](auto& out) { write_prompt_result(out, result); }),
            R"({"description":"d","messages":[)"
            R"({"role":"user","content":{"type":"text","text":"a"}},)"
            R"({"role":"assistant","content":{"type":"image","data":"AA==",)"
            R"("mimeType":"image/png"}}]})");
}

TEST(Outcome, OfAnotherMethodIsWhatItsOwnerSays) {
  const OtherResult result = {R"({"a":{"b":[1.50]},"c":null})"};
  EXPECT_EQ(written([&](auto& out) { write_other_result(out, result); }), result.members);
  EXPECT_EQ(written([&](auto& out) { write_other_result(out, {}); }), "{}");
  EXPECT_DEATH(written([&](auto& out) { write_other_result(out, {"7"}); }), "tree");
}

TEST(Outcome, ThatAsksHasQuestionsOrAState) {
  const InputRequired both = {
      .questions = {{"who", form("Who?", R"({"type":"object","properties":{}})")},
                    {"where", {Ability::kRoots, "{}"}}},
      .state = "s"};
  EXPECT_EQ(written([&](auto& out) { write_input_required(out, both); }),
            R"({"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?",)"
            R"("requestedSchema":{"type":"object","properties":{}}}},)"
            R"("where":{"method":"roots/list","params":{}}},"requestState":"s"})");
  EXPECT_EQ(written([&](auto& out) { write_input_required(out, {{}, "s"}); }),
            R"({"requestState":"s"})");
  EXPECT_DEATH(written([&](auto& out) { write_input_required(out, {}); }), "state");
}

struct Read {
  std::string json;
  Action action;
  std::string content;
};

TEST(Outcome, AReplyThatMakesNoSenseIsNone) {
  const std::vector<Read> all = {
      {R"({"action":"accept","content":{"a": 1},"_meta":{}})", Action::kAccept, R"({"a":1})"},
      {R"({"action":"accept"})", Action::kAccept, ""},
      {R"({"action":"accept","content":7})", Action::kAccept, ""},
      {R"({"action":"decline","content":{"a":1}})", Action::kDecline, ""},
      {R"({"action":"cancel"})", Action::kCancel, ""},
      {R"({"action":"agree","content":{"a":1}})", Action::kCancel, ""},
      {R"({"content":{"a":1}})", Action::kCancel, ""},
      {R"(["accept"])", Action::kCancel, ""},
      {"", Action::kCancel, ""},
  };
  for (const Read& one : all) {
    const Reply reply = read_reply(one.json);
    EXPECT_EQ(reply.action, one.action) << one.json;
    EXPECT_EQ(reply.content, one.content) << one.json;
  }
}

TEST(Outcome, AnAnswerIsFoundByTheNameOfItsQuestion) {
  const std::string answers = R"({"a":{"action":"accept"},"b":{"roots":[]}})";
  EXPECT_EQ(answer_named("b", answers), R"({"roots":[]})");
  EXPECT_EQ(answer_named("c", answers), "");
  EXPECT_EQ(answer_named("a", ""), "");
}

}  // namespace
}  // namespace berth::mcp
