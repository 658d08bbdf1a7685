// SPDX-License-Identifier: Apache-2.0
// Calls of one connection: how they begin, what is told and asked meanwhile, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mcp/connection.h"
#include "mcp/connection_for_test.h"

namespace berth::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Calls : public ConnectionTest {};
class CallProgress : public ConnectionTest {};
class CallQuestions : public ConnectionTest {};

const Said kWork = {R"("name":"work")"};

TEST_F(Calls, OfAToolBeginWithItsArguments) {
  EXPECT_THAT(receive(modern("1", "tools/call", {R"("name":"work","arguments":{"a": [1.50]})"})),
              ElementsAre(R"(begin 1 tool work {"a":[1.50]})"));
  EXPECT_THAT(receive(modern("2", "tools/call", {R"("name":"look","arguments":null)"})),
              ElementsAre("begin 2 tool look {}"));
  EXPECT_THAT(receive(modern("3", "tools/call", kWork)), ElementsAre("begin 3 tool work {}"));
}

TEST_F(Calls, OfResourcesAndPromptsBeginWithWhatIsWanted) {
  EXPECT_THAT(receive(modern("1", "resources/read", {R"("uri":"x://one/7")"})),
              ElementsAre("begin 1 resource x://one/7 {}"));
  EXPECT_THAT(receive(modern("2", "prompts/get", {R"("name":"greet","arguments":{"whom":"you"})"})),
              ElementsAre(R"(begin 2 prompt greet {"whom":"you"})"));
  receive(initialize());
  EXPECT_THAT(receive(legacy("3", "logging/setLevel", {R"("level":"info")"})),
              ElementsAre(R"(begin 3 other logging/setLevel {"level":"info"})"));
}

TEST_F(Calls, ThatMakeNoSenseAreRefused) {
  struct Wrong {
    std::string_view method;
    std::string params;
    std::string why;
  };
  const std::vector<Wrong> all = {
      {"tools/call", "", "'name'"},
      {"tools/call", R"("name":7)", "'name'"},
      {"tools/call", R"("name":"walk")", "no tool 'walk'"},
      {"tools/call", R"("name":"work","arguments":[])", "'arguments'"},
      {"tools/call", R"("name":"work","arguments":"{}")", "'arguments'"},
      {"resources/read", "", "'uri'"},
      {"resources/read", R"("uri":["x://all"])", "'uri'"},
      {"prompts/get", "", "'name'"},
      {"prompts/get", R"("name":"work")", "no prompt 'work'"},
      {"prompts/get", R"("name":"greet")", "'whom' is missing"},
      {"prompts/get", R"("name":"greet","arguments":{"how":"loudly"})", "'whom' is missing"},
      {"prompts/get", R"("name":"greet","arguments":{"whom":null})", "'whom'"},
      {"prompts/get", R"("name":"greet","arguments":{"whom":"you","how":1})", "'how' must be text"},
  };
  receive(initialize());
  for (const Wrong& one : all) {
    for (const std::string& line :
         {modern("1", one.method, {one.params}), legacy("1", one.method, {one.params})}) {
      EXPECT_EQ(error(line), kInvalidParams) << line;
      EXPECT_THAT(answer(line), HasSubstr(one.why)) << line;
    }
  }
}

TEST_F(Calls, OfAResourceThatIsNotThereHaveTheErrorOfTheirEra) {
  receive(initialize());
  const Said other = {R"("uri":"x://other")"};
  EXPECT_EQ(error(modern("1", "resources/read", other)), kInvalidParams);
  EXPECT_EQ(error(legacy("1", "resources/read", other)), kResourceNotFound);
  const std::string data = R"("data":{"uri":"x://other"})";
  EXPECT_THAT(answer(modern("1", "resources/read", other)), HasSubstr(data));

  const Said gone = {R"("uri":"x://one/7")"};
  const BeginCall of_modern = begun(modern("1", "resources/read", gone));
  EXPECT_THAT(finish(of_modern.call, NotFound()),
              ElementsAre(HasSubstr(R"("code":-32602,"message":"there is no resource)")));
  const BeginCall of_legacy = begun(legacy("1", "resources/read", gone));
  EXPECT_THAT(finish(of_legacy.call, NotFound()), ElementsAre(HasSubstr(R"("code":-32002)")));
}

TEST_F(Calls, KnowWhoCalls) {
  receive(initialize(R"({"elicitation":{},"sampling":{}})"));
  const BeginCall call = begun(legacy("1", "tools/call", kWork));
  EXPECT_EQ(call.era, Era::kLegacy);
  EXPECT_EQ(call.client.name, "client");
  EXPECT_EQ(call.client.version, "9");
  EXPECT_TRUE(call.client.can(Ability::kForm));
  EXPECT_FALSE(call.client.can(Ability::kUrl));
  EXPECT_TRUE(call.client.can(Ability::kSampling));
}

// What a client said before, or by initialize, does not count.
TEST_F(Calls, OfTheModernEraCountWhatThatRequestSays) {
  receive(initialize(R"({"elicitation":{}})"));
  begun(modern("1", "tools/call", {.params = kWork.params, .capabilities = R"({"roots":{}})"}));
  const BeginCall call = begun(modern("2", "tools/call", kWork));
  EXPECT_EQ(call.era, Era::kModern);
  EXPECT_EQ(call.client.name, "");
  EXPECT_FALSE(call.client.can(Ability::kForm));
  EXPECT_FALSE(call.client.can(Ability::kRoots));
}

TEST_F(Calls, AreAnsweredUnderTheIdOfTheirRequest) {
  receive(initialize());
  const BeginCall first = begun(modern(R"("\u0061")", "tools/call", kWork));
  const BeginCall second = begun(legacy("-7", "tools/call", kWork));
  EXPECT_THAT(finish(second.call, ToolResult{.content = {Text{"b"}}}),
              ElementsAre(R"({"jsonrpc":"2.0","id":-7,"result":)"
                          R"({"content":[{"type":"text","text":"b"}]}})"));
  const auto lines = finish(first.call, ToolResult{.content = {Text{"a"}}, .is_error = true});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(modern_members(lines[0], R"("\u0061")"),
            R"("content":[{"type":"text","text":"a"}],"isError":true)");
}

TEST_F(Calls, EachTargetHasItsResult) {
  const auto members = [&](const BeginCall& call, const Outcome& outcome) {
    const auto lines = finish(call.call, outcome);
    return lines.size() == 1 ? modern_members(lines[0], "1") : "not one line";
  };
  EXPECT_EQ(members(begun(modern("1", "resources/read", {R"("uri":"x://all")"})),
                    ResourceResult{{{.uri = "x://all", .contents = Text{"a"}}}}),
            R"("contents":[{"uri":"x://all","text":"a"}],"ttlMs":0,"cacheScope":"private")");
  EXPECT_EQ(
      members(begun(modern("1", "prompts/get", {R"("name":"greet","arguments":{"whom":"you"})"})),
              PromptResult{.messages = {}}),
      R"("messages":[])");
  EXPECT_EQ(members(begun(modern("1", "completion/complete")), OtherResult{R"({"a":1})"}),
            R"("a":1)");
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  EXPECT_DEATH(finish(call.call, PromptResult()), "kPrompt");
}

TEST_F(Calls, MayEndWithAnErrorOfTheProtocol) {
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  EXPECT_THAT(finish(call.call, Fault{Code::kInternal, "no daemon"}),
              ElementsAre(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,)"
                          R"("message":"no daemon"}})"));
}

TEST_F(Calls, EndOnce) {
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  EXPECT_THAT(finish(call.call, ToolResult()), SizeIs(1));
  EXPECT_THAT(finish(call.call, ToolResult()), IsEmpty());
  EXPECT_THAT(finish(CallId{99}, ToolResult()), IsEmpty());
}

TEST_F(Calls, ThatAreCancelledAreNeverAnswered) {
  const BeginCall call = begun(modern("1", "tools/call", {kWork.params, R"("progressToken":1)"}));
  EXPECT_THAT(receive(cancelled("2")), IsEmpty());
  EXPECT_THAT(receive(cancelled(R"("1")")), IsEmpty());
  EXPECT_THAT(receive(cancelled("1")), ElementsAre("cancel 1"));
  EXPECT_THAT(receive(cancelled("1")), IsEmpty());
  EXPECT_THAT(texts_of(connection_.progress(call.call, {.done = 1})), IsEmpty());
  EXPECT_THAT(texts_of(connection_.tell(call.call, "notifications/message", "{}")), IsEmpty());
  EXPECT_THAT(finish(call.call, ToolResult()), IsEmpty());
}

TEST_F(Calls, AnIdIsFreeAgainOnceItsCallIsOver) {
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  EXPECT_EQ(error(modern("1", "tools/call", kWork)), kInvalidRequest);
  EXPECT_EQ(error(modern("1", "tools/list")), kInvalidRequest);
  EXPECT_EQ(error(modern(R"("1")", "tools/list")), 0);
  EXPECT_THAT(finish(call.call, ToolResult()), SizeIs(1));
  const BeginCall again = begun(modern("1", "tools/call", kWork));
  EXPECT_NE(again.call, call.call);
  receive(cancelled("1"));
  begun(modern("1", "tools/call", kWork));
}

TEST_F(Calls, AtOnceHaveABound) {
  for (std::size_t i = 0; i < kCallsMax; ++i) begun(modern(std::to_string(i), "tools/call", kWork));
  EXPECT_EQ(error(modern("100", "tools/call", kWork)), kInternal);
  EXPECT_EQ(error(modern("100", "tools/list")), 0);
  receive(cancelled("3"));
  begun(modern("100", "tools/call", kWork));
}

// For who writes each call's lines to a stream of its own.
TEST_F(Calls, WhatIsSentSaysToWhichRequestItBelongs) {
  const BeginCall call =
      begun(modern(R"("a")", "tools/call", {kWork.params, R"("progressToken":1)"}));
  for (const Effects& effects : {connection_.progress(call.call, {.done = 1}),
                                 connection_.tell(call.call, "notifications/message", "{}"),
                                 connection_.finish(call.call, ToolResult())}) {
    ASSERT_THAT(effects, SizeIs(1));
    EXPECT_EQ(std::get<Send>(effects[0]).request, R"("a")");
    EXPECT_EQ(std::get<Send>(effects[0]).error, std::nullopt);
  }
  const Effects effects = connection_.receive(modern("7", "no/method"));
  EXPECT_EQ(std::get<Send>(effects[0]).request, "7");
  EXPECT_EQ(std::get<Send>(effects[0]).error, Code::kMethodNotFound);
}

TEST_F(Calls, AreCancelledAtTheEnd) {
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  begun(modern("2", "tools/call", kWork));
  EXPECT_THAT(texts_of(connection_.close()), ElementsAre("cancel 1", "cancel 2"));
  EXPECT_THAT(finish(call.call, ToolResult()), IsEmpty());
}

// ---- Progress.

TEST_F(CallProgress, IsToldUnderItsToken) {
  receive(initialize());
  for (const std::string token : {"7", R"("t\u0061")"}) {
    for (const bool is_modern_era : {true, false}) {
      const Said said = {kWork.params, R"("progressToken":)" + token};
      const BeginCall call =
          begun(is_modern_era ? modern("1", "tools/call", said) : legacy("1", "tools/call", said));
      EXPECT_TRUE(call.wants_progress);
      EXPECT_THAT(texts_of(connection_.progress(call.call,
                                                {.done = 0.5, .total = 2, .message = "a \"b\""})),
                  ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                              R"({"progressToken":)" +
                              token + R"(,"progress":0.5,"total":2,"message":"a \"b\""}})"));
      EXPECT_THAT(texts_of(connection_.progress(call.call, {.done = 100})),
                  ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                              R"({"progressToken":)" +
                              token + R"(,"progress":100}})"));
      finish(call.call, ToolResult());
    }
  }
}

TEST_F(CallProgress, IsToldOnlyToWhoAsksForIt) {
  const BeginCall call = begun(modern("1", "tools/call", kWork));
  EXPECT_FALSE(call.wants_progress);
  EXPECT_THAT(texts_of(connection_.progress(call.call, {.done = 1})), IsEmpty());
}

TEST_F(CallProgress, OnlyEverGrows) {
  const BeginCall call = begun(modern("1", "tools/call", {kWork.params, R"("progressToken":1)"}));
  const auto is_told = [&](double done) {
    return !connection_.progress(call.call, {.done = done}).empty();
  };
  EXPECT_TRUE(is_told(0));
  EXPECT_FALSE(is_told(0));
  EXPECT_TRUE(is_told(2));
  EXPECT_FALSE(is_told(1));
  EXPECT_FALSE(is_told(2));
  EXPECT_TRUE(is_told(2.5));
}

TEST_F(CallProgress, EndsWithItsCall) {
  const BeginCall call = begun(modern("1", "tools/call", {kWork.params, R"("progressToken":1)"}));
  finish(call.call, ToolResult());
  EXPECT_THAT(texts_of(connection_.progress(call.call, {.done = 1})), IsEmpty());
}

TEST_F(CallProgress, HasATokenThatIsTextOrAWholeNumber) {
  for (const std::string token : {"1.5", "true", "{}", "[1]"}) {
    EXPECT_EQ(error(modern("1", "tools/call", {kWork.params, R"("progressToken":)" + token})),
              kInvalidParams);
  }
}

// ---- Questions.

const std::string kForms = R"({"elicitation":{}})";

std::string response(std::string_view id, std::string_view rest) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + "," + std::string(rest) + "}";
}

TEST_F(CallQuestions, OfTheLegacyEraAreRequests) {
  receive(initialize(kForms));
  const BeginCall call = begun(legacy("1", "tools/call", kWork));
  EXPECT_THAT(texts_of(connection_.ask(call.call, form("Who?", R"({"type":"object"})"))),
              ElementsAre(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":)"
                          R"({"message":"Who?","requestedSchema":{"type":"object"}}})"));
  EXPECT_THAT(receive(response("2", R"("result":{"action":"accept"})")), IsEmpty());
  EXPECT_THAT(receive(response(R"("1")", R"("result":{"action":"accept"})")), IsEmpty());
  EXPECT_THAT(receive(response("1", R"("result":{"action": "decline"})")),
              ElementsAre(R"(answered 1 {"action":"decline"})"));
  EXPECT_THAT(receive(response("1", R"("result":{"action":"accept"})")), IsEmpty());
  EXPECT_THAT(finish(call.call, ToolResult()), SizeIs(1));
}

TEST_F(CallQuestions, AClientThatRefusesHasNoAnswer) {
  receive(initialize(kForms));
  const BeginCall call = begun(legacy("1", "tools/call", kWork));
  const auto ask = [&] { connection_.ask(call.call, form("Who?", "{}")); };
  ask();
  EXPECT_THAT(receive(response("1", R"("error":{"code":-32601,"message":"no"})")),
              ElementsAre("answered 1 "));
  ask();
  EXPECT_THAT(receive(response("2", R"("result":7)")), ElementsAre("answered 1 "));
}

TEST_F(CallQuestions, EachIsOfItsOwnCall) {
  receive(initialize(R"({"elicitation":{},"roots":{}})"));
  const BeginCall first = begun(legacy("1", "tools/call", kWork));
  const BeginCall second = begun(legacy("2", "tools/call", kWork));
  connection_.ask(first.call, form("Who?", "{}"));
  EXPECT_THAT(texts_of(connection_.ask(second.call, {Ability::kRoots, "{}"})),
              ElementsAre(R"({"jsonrpc":"2.0","id":2,"method":"roots/list","params":{}})"));
  EXPECT_THAT(receive(response("2", R"("result":{"roots":[]})")),
              ElementsAre(R"(answered 2 {"roots":[]})"));
  EXPECT_THAT(receive(response("1", R"("result":{})")), ElementsAre("answered 1 {}"));
}

TEST_F(CallQuestions, AreTakenBackWhenTheCallEnds) {
  receive(initialize(kForms));
  const BeginCall call = begun(legacy("7", "tools/call", kWork));
  connection_.ask(call.call, form("Who?", "{}"));
  EXPECT_THAT(finish(call.call, ToolResult()),
              ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                          R"("params":{"requestId":1}})",
                          R"({"jsonrpc":"2.0","id":7,"result":{"content":[]}})"));
  EXPECT_THAT(receive(response("1", R"("result":{})")), IsEmpty());
  EXPECT_THAT(texts_of(connection_.ask(call.call, form("Who?", "{}"))), IsEmpty());
}

TEST_F(CallQuestions, OfTheLegacyEraAreOnlyWhatTheClientCanAndOneAtATime) {
  receive(initialize(kForms));
  const BeginCall of_modern = begun(modern("1", "tools/call", {kWork.params, "", kForms}));
  EXPECT_DEATH(connection_.ask(of_modern.call, form("Who?", "{}")), "kLegacy");
  const BeginCall call = begun(legacy("2", "tools/call", kWork));
  EXPECT_DEATH(connection_.ask(call.call, {Ability::kRoots, "{}"}), "can");
  connection_.ask(call.call, form("Who?", "{}"));
  EXPECT_DEATH(connection_.ask(call.call, form("Who?", "{}")), "question");
}

TEST_F(CallQuestions, OfTheModernEraEndTheCallAndComeBackWithTheNext) {
  const BeginCall call = begun(modern("1", "tools/call", {kWork.params, "", kForms}));
  EXPECT_EQ(call.answers, "");
  EXPECT_EQ(call.state, "");
  EXPECT_THAT(finish(call.call, InputRequired{{{"who", form("Who?", "{}")}}, "s"}),
              ElementsAre(R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required",)"
                          R"("inputRequests":{"who":{"method":"elicitation/create","params":)"
                          R"({"message":"Who?","requestedSchema":{}}}},"requestState":"s",)"
                          R"("_meta":{"io.modelcontextprotocol/serverInfo":)"
                          R"({"name":"small","version":"1.2"}}}})"));
  const BeginCall next = begun(modern(
      "2", "tools/call",
      {kWork.params + R"(,"inputResponses":{"who":{"action": "accept"}},"requestState":"s\n")", "",
       kForms}));
  EXPECT_EQ(next.answers, R"({"who":{"action":"accept"}})");
  EXPECT_EQ(next.state, "s\n");
}

TEST_F(CallQuestions, ThatTheClientCannotAnswerAreRefusedByWhatItLacks) {
  struct Lacking {
    std::string capabilities;
    Ability ability;
    std::string required;
  };
  const std::vector<Lacking> all = {
      {"{}", Ability::kForm, R"({"elicitation":{}})"},
      {R"({"elicitation":{"url":{}}})", Ability::kForm, R"({"elicitation":{}})"},
      {kForms, Ability::kUrl, R"({"elicitation":{"url":{}}})"},
      {kForms, Ability::kSampling, R"({"sampling":{}})"},
      {kForms, Ability::kRoots, R"({"roots":{}})"},
  };
  for (const Lacking& one : all) {
    const BeginCall call = begun(modern("1", "tools/call", {kWork.params, "", one.capabilities}));
    EXPECT_THAT(finish(call.call, InputRequired{{{"a", {one.ability, "{}"}}}}),
                ElementsAre(testing::AllOf(
                    HasSubstr(R"("id":1,"error":{"code":-32021)"),
                    HasSubstr(R"("data":{"requiredCapabilities":)" + one.required + "}"))));
  }
}

TEST_F(CallQuestions, WhatComesBackMustHaveItsForm) {
  for (const std::string wrong : {R"("inputResponses":[])", R"("inputResponses":"a")",
                                  R"("requestState":7)", R"("requestState":{})"}) {
    EXPECT_EQ(error(modern("1", "tools/call", {kWork.params + "," + wrong})), kInvalidParams);
  }
}

// The legacy era does not know these, and ignores what it does not know.
TEST_F(CallQuestions, OfTheLegacyEraDoNotComeBack) {
  receive(initialize());
  const BeginCall call = begun(
      legacy("1", "tools/call", {kWork.params + R"(,"inputResponses":{"a":{}},"requestState":7)"}));
  EXPECT_EQ(call.answers, "");
  EXPECT_EQ(call.state, "");
  EXPECT_DEATH(finish(call.call, InputRequired{.state = "s"}), "kModern");
}

}  // namespace
}  // namespace berth::mcp
