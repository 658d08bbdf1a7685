// SPDX-License-Identifier: Apache-2.0
#include "mcp/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mcp/connection_for_test.h"

namespace berth::mcp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Headers = std::map<std::string, std::string>;

struct Sent {
  std::string body;
  Headers headers = {};
  std::string method = "POST";
  std::string path = "/mcp";
  bool takes_events = true;
};

// As clients of the modern era send it.
Sent modern_post(std::string_view id, const std::string& method, const Said& said = {},
                 const std::string& name = "") {
  Sent sent{.body = modern(id, method, said),
            .headers = {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", method}}};
  if (!name.empty()) sent.headers["Mcp-Name"] = name;
  return sent;
}

std::string text_of(const HttpReply& reply) {
  return std::to_string(reply.exchange.value) + ": " + std::to_string(reply.status) + " " +
         reply.body + (reply.session.empty() ? "" : " session " + reply.session);
}
std::string text_of(const HttpEvent& event) {
  return std::to_string(event.exchange.value) + ": event " + event.line +
         (event.is_last ? " (last)" : "");
}

class EndpointTest : public testing::Test {
 protected:
  std::vector<std::string> texts(const EndpointEffects& effects) {
    std::vector<std::string> all;
    for (const EndpointEffect& effect : effects) {
      all.push_back(std::visit([](const auto& one) { return text_of(one); }, effect));
    }
    return all;
  }
  EndpointEffects post(const Sent& sent) {
    return endpoint_.receive(
        ExchangeId{++last_},
        {.method = sent.method,
         .path = sent.path,
         .body = sent.body,
         .header = [&](std::string_view name) -> std::optional<std::string_view> {
           const auto found = sent.headers.find(std::string(name));
           if (found == sent.headers.end()) return std::nullopt;
           return found->second;
         },
         .takes_events = sent.takes_events});
  }
  HttpReply reply(const Sent& sent) {
    const EndpointEffects effects = post(sent);
    const auto* one = effects.size() == 1 ? std::get_if<HttpReply>(&effects.front()) : nullptr;
    EXPECT_NE(one, nullptr) << testing::PrintToString(texts(effects));
    return one == nullptr ? HttpReply{} : *one;
  }
  CallId begun(const Sent& sent) {
    const EndpointEffects effects = post(sent);
    const auto* one = effects.size() == 1 ? std::get_if<BeginCall>(&effects.front()) : nullptr;
    EXPECT_NE(one, nullptr) << testing::PrintToString(texts(effects));
    return one == nullptr ? CallId{} : one->call;
  }
  std::string new_session() { return reply({.body = initialize(R"({"elicitation":{}})")}).session; }
  Sent in_session(const std::string& session, std::string body) {
    return {.body = std::move(body), .headers = {{"Mcp-Session-Id", session}}};
  }
  ExchangeId last() const { return ExchangeId{last_}; }

  const Catalog catalog_ = small_catalog();
  std::uint64_t sessions_ = 0;
  Endpoint endpoint_{catalog_, [this] { return "s" + std::to_string(++sessions_); }};
  std::uint64_t last_ = 0;
};

const ToolResult kDone = {.content = {Text{"done"}}};

TEST_F(EndpointTest, AModernRequestIsServedByItselfAndLeavesNothing) {
  const HttpReply discovered = reply(modern_post("1", "server/discover"));
  EXPECT_EQ(discovered.status, 200);
  EXPECT_THAT(discovered.body, HasSubstr(R"("supportedVersions":["2026-07-28"])"));
  EXPECT_EQ(discovered.session, "");
  EXPECT_EQ(endpoint_.sessions(), 0U);
  EXPECT_EQ(reply(modern_post("1", "tools/list")).status, 200) << "the id is free again";
}

TEST_F(EndpointTest, HeadersMustSayWhatTheBodySays) {
  const auto refused = [&](const std::string& header, const std::string& value) {
    Sent sent = modern_post("7", "tools/call", {R"("name":"work")"}, "work");
    if (value.empty()) {
      sent.headers.erase(header);
    } else {
      sent.headers[header] = value;
    }
    const HttpReply answer = reply(sent);
    EXPECT_EQ(answer.status, 400) << header;
    EXPECT_THAT(answer.body, HasSubstr(R"("id":7)"));
    EXPECT_THAT(answer.body, HasSubstr("-32020")) << header;
    EXPECT_THAT(answer.body, HasSubstr(header));
  };
  refused("MCP-Protocol-Version", "2025-11-25");
  refused("MCP-Protocol-Version", "");
  refused("Mcp-Method", "tools/list");
  refused("Mcp-Method", "TOOLS/CALL");
  refused("Mcp-Method", "");
  refused("Mcp-Name", "look");
  refused("Mcp-Name", "");
  const Sent read = modern_post("8", "resources/read", {R"("uri":"x://all")"}, "x://one/1");
  EXPECT_EQ(reply(read).status, 400);
}

TEST_F(EndpointTest, StatusesAreThoseOfTheTransport) {
  Sent nothing{
      .body = R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}})",
      .headers = {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "server/discover"}}};
  HttpReply answer = reply(nothing);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("-32602"));
  answer = reply(modern_post("2", "unknown/method"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("-32601"));
  EXPECT_EQ(reply(modern_post("3", "initialize")).status, 404);
  EXPECT_EQ(reply(modern_post("4", "ping")).status, 404);
  EXPECT_EQ(reply({.body = "{"}).status, 400);
  EXPECT_EQ(reply({.body = "[]"}).status, 400);
  EXPECT_EQ(reply({.body = "", .method = "GET"}).status, 405);
  EXPECT_EQ(reply({.body = "", .path = "/"}).status, 404);
  EXPECT_EQ(reply(modern_post("5", "tools/call", {R"("name":"nothing")"}, "nothing")).status, 200);
  const CallId call = begun(modern_post("6", "tools/call", {R"("name":"work")"}, "work"));
  const EndpointEffects effects = endpoint_.finish(
      call, InputRequired{.questions = {{"who", form("Who?", R"({"type":"object"})")}}});
  ASSERT_THAT(texts(effects), ElementsAre(HasSubstr("-32021")));
  EXPECT_EQ(std::get<HttpReply>(effects.front()).status, 400);
}

TEST_F(EndpointTest, WhatIsSaidAtOnceIsAnAnswerAndWhatComesBeforeItAStream) {
  const CallId first = begun(modern_post("1", "tools/call", {R"("name":"work")"}, "work"));
  EXPECT_THAT(texts(endpoint_.finish(first, kDone)), ElementsAre(StartsWith("1: 200 ")));
  const CallId second =
      begun(modern_post("1", "tools/call", {R"("name":"work")", R"("progressToken":5)"}, "work"));
  EXPECT_THAT(texts(endpoint_.progress(second, {.done = 1})),
              ElementsAre(AllOf(StartsWith("2: event "), HasSubstr("notifications/progress"))));
  EXPECT_THAT(texts(endpoint_.finish(second, kDone)),
              ElementsAre(AllOf(StartsWith("2: event "), HasSubstr("(last)"))));
  EXPECT_THAT(texts(endpoint_.finish(second, kDone)), IsEmpty());
}

TEST_F(EndpointTest, AClientThatTakesNoEventsIsToldTheAnswerAlone) {
  Sent sent = modern_post("1", "tools/call", {R"("name":"work")", R"("progressToken":5)"}, "work");
  sent.takes_events = false;
  const CallId call = begun(sent);
  EXPECT_THAT(texts(endpoint_.progress(call, {.done = 1})), IsEmpty());
  EXPECT_THAT(texts(endpoint_.finish(call, kDone)), ElementsAre(StartsWith("1: 200 ")));
}

TEST_F(EndpointTest, ToDisconnectCancelsWhatIsModern) {
  const CallId call = begun(modern_post("1", "tools/call", {R"("name":"work")"}, "work"));
  EXPECT_THAT(texts(endpoint_.on_disconnect(last())),
              ElementsAre("cancel " + std::to_string(call.value)));
  EXPECT_THAT(texts(endpoint_.finish(call, kDone)), IsEmpty());
  EXPECT_THAT(texts(endpoint_.on_disconnect(last())), IsEmpty());
}

TEST_F(EndpointTest, ListenersHearOfChangesUntilTheyDisconnect) {
  const Sent listens = modern_post("1", "subscriptions/listen",
                                   {R"("notifications":{"resourceSubscriptions":["x://all"]})"});
  EXPECT_THAT(texts(post(listens)), ElementsAre(HasSubstr("subscriptions/acknowledged")));
  EXPECT_THAT(texts(endpoint_.resource_changed("x://all")),
              ElementsAre(AllOf(StartsWith("1: event "), HasSubstr("resources/updated"))));
  EXPECT_THAT(texts(endpoint_.on_disconnect(last())), IsEmpty());
  EXPECT_THAT(texts(endpoint_.resource_changed("x://all")), IsEmpty());
}

TEST_F(EndpointTest, ASessionIsNamedByInitializeAndKeptUntilItIsDeleted) {
  const std::string session = new_session();
  EXPECT_EQ(session, "s1");
  EXPECT_EQ(reply(in_session(session, legacy("1", "tools/list"))).status, 200);
  EXPECT_EQ(reply(in_session(session, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"))
                .status,
            202);
  EXPECT_EQ(reply(in_session("s2", legacy("1", "tools/list"))).status, 404);
  EXPECT_EQ(reply({.body = legacy("1", "tools/list")}).status, 400);
  const CallId call = begun(in_session(session, legacy("2", "tools/call", {R"("name":"work")"})));
  Sent end = in_session(session, "");
  end.method = "DELETE";
  EXPECT_THAT(texts(post(end)),
              ElementsAre("cancel " + std::to_string(call.value), "6: 404 ", "7: 200 "));
  EXPECT_EQ(reply(end).status, 404);
  EXPECT_EQ(endpoint_.sessions(), 0U);
}

TEST_F(EndpointTest, AQuestionOfASessionIsAnsweredByAnotherRequest) {
  const std::string session = new_session();
  const CallId call = begun(in_session(session, legacy("1", "tools/call", {R"("name":"work")"})));
  EXPECT_THAT(texts(endpoint_.ask(call, form("Who?", R"({"type":"object"})"))),
              ElementsAre(AllOf(StartsWith("2: event "), HasSubstr("elicitation/create"))));
  EXPECT_THAT(
      texts(post(in_session(session, R"({"jsonrpc":"2.0","id":1,"result":{"action":"accept"}})"))),
      ElementsAre("answered " + std::to_string(call.value) + R"( {"action":"accept"})", "3: 202 "));
  EXPECT_THAT(texts(endpoint_.finish(call, kDone)), ElementsAre(HasSubstr("(last)")));
}

TEST_F(EndpointTest, OneSessionsIdsAreNoOthers) {
  const std::string one = new_session();
  const std::string other = new_session();
  const CallId first = begun(in_session(one, legacy("1", "tools/call", {R"("name":"work")"})));
  const CallId second = begun(in_session(other, legacy("1", "tools/call", {R"("name":"work")"})));
  EXPECT_NE(first, second);
  EXPECT_THAT(texts(endpoint_.finish(second, kDone)), ElementsAre(StartsWith("4: 200 ")));
  EXPECT_EQ(reply(in_session(one, legacy("1", "tools/list"))).status, 400) << "it is under way";
  EXPECT_THAT(texts(endpoint_.finish(first, kDone)), ElementsAre(StartsWith("3: 200 ")));
}

TEST_F(EndpointTest, ToDisconnectCancelsNothingOfASession) {
  const std::string session = new_session();
  const CallId call = begun(in_session(session, legacy("1", "tools/call", {R"("name":"work")"})));
  EXPECT_THAT(texts(endpoint_.on_disconnect(last())), IsEmpty());
  EXPECT_THAT(texts(endpoint_.finish(call, kDone)), IsEmpty());
  EXPECT_EQ(reply(in_session(session, legacy("1", "tools/list"))).status, 200);
}

TEST_F(EndpointTest, TheSessionThatWasUsedLongestAgoMakesRoom) {
  std::vector<std::string> sessions;
  sessions.reserve(kSessionsMax);
  for (std::size_t i = 0; i < kSessionsMax; ++i) sessions.push_back(new_session());
  const CallId busy =
      begun(in_session(sessions[0], legacy("1", "tools/call", {R"("name":"work")"})));
  EXPECT_EQ(reply(in_session(sessions[1], legacy("1", "ping"))).status, 200);
  new_session();
  EXPECT_EQ(endpoint_.sessions(), kSessionsMax);
  EXPECT_EQ(reply(in_session(sessions[2], legacy("1", "ping"))).status, 404) << "the oldest";
  EXPECT_EQ(reply(in_session(sessions[1], legacy("1", "ping"))).status, 200);
  EXPECT_THAT(texts(endpoint_.finish(busy, kDone)), ElementsAre(HasSubstr(": 200 ")));
}

TEST_F(EndpointTest, WhereAllAreBusyNoMoreCome) {
  for (std::size_t i = 0; i < kSessionsMax; ++i) {
    begun(in_session(new_session(), legacy("1", "tools/call", {R"("name":"work")"})));
  }
  EXPECT_EQ(reply({.body = initialize()}).status, 503);
}

TEST_F(EndpointTest, AnInitializeThatMakesNoSenseNamesNoSession) {
  const HttpReply answer = reply({.body = legacy("1", "initialize")});
  EXPECT_THAT(answer.body, HasSubstr("-32602"));
  EXPECT_EQ(answer.session, "");
}

}  // namespace
}  // namespace berth::mcp
