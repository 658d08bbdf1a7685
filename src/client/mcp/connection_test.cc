// SPDX-License-Identifier: Apache-2.0
// Eras, methods and what is answered at once. Calls are in calls_test.cc.
#include "mcp/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mcp/connection_for_test.h"
#include "mcp/listing.h"

namespace berth::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConnectionEras : public ConnectionTest {};
class ConnectionLists : public ConnectionTest {};

struct Spoken {
  std::string_view method;
  std::string params;
  bool modern;
  bool legacy;
};
const std::vector<Spoken>& methods() {
  static const std::vector<Spoken> kMethods = {
      {"server/discover", "", true, false},
      {"ping", "", false, true},
      {"tools/list", "", true, true},
      {"tools/call", R"("name":"work")", true, true},
      {"resources/list", "", true, true},
      {"resources/templates/list", "", true, true},
      {"resources/read", R"("uri":"x://all")", true, true},
      {"resources/subscribe", R"("uri":"x://all")", false, true},
      {"resources/unsubscribe", R"("uri":"x://all")", false, true},
      {"subscriptions/listen", R"("notifications":{})", true, false},
      {"prompts/list", "", true, true},
      {"prompts/get", R"("name":"greet","arguments":{"whom":"you"})", true, true},
      {"completion/complete", "", true, true},
      {"logging/setLevel", "", false, true},
  };
  return kMethods;
}

TEST_F(ConnectionEras, EachMethodIsAnsweredInItsEras) {
  for (const Spoken& one : methods()) {
    Connection connection(catalog_);
    const Effects effects = connection.receive(modern("1", one.method, {one.params}));
    ASSERT_EQ(effects.size(), 1u);
    const auto* send = std::get_if<Send>(&effects.front());
    const bool refused = send != nullptr && send->error == Code::kMethodNotFound;
    EXPECT_EQ(!refused, one.modern) << one.method;
    EXPECT_TRUE(refused || send == nullptr || !send->error) << one.method;
  }
}

// A method of the modern era alone lacks what each request has there.
TEST_F(ConnectionEras, AfterInitializeTheLegacyEraNeedsNoMore) {
  receive(initialize());
  for (const Spoken& one : methods()) {
    const std::string line = legacy(R"("a")", one.method, {one.params});
    EXPECT_EQ(error(line), one.legacy ? 0 : kInvalidParams) << one.method;
    receive(cancelled(R"("a")"));
  }
}

TEST_F(ConnectionEras, BeforeInitializeTheLegacyEraHasPingAlone) {
  EXPECT_EQ(answer(legacy("1", "ping")), R"({"jsonrpc":"2.0","id":1,"result":{}})");
  for (const Spoken& one : methods()) {
    if (one.method == "ping") continue;
    EXPECT_EQ(error(legacy("1", one.method, {one.params})), kInvalidParams) << one.method;
  }
  EXPECT_THAT(answer(legacy("1", "tools/list")), HasSubstr("protocolVersion"));
}

TEST_F(ConnectionEras, InitializeOfTheModernEraIsNoMethod) {
  EXPECT_EQ(error(modern("1", "initialize", {R"("protocolVersion":"2025-11-25")"})),
            kMethodNotFound);
  EXPECT_EQ(error(legacy("2", "tools/list")), kInvalidParams);
}

TEST_F(ConnectionEras, OneConnectionServesBoth) {
  EXPECT_THAT(answer(modern("1", "tools/list")), HasSubstr("resultType"));
  receive(initialize());
  EXPECT_THAT(answer(legacy("2", "tools/list")), Not(HasSubstr("resultType")));
  EXPECT_THAT(answer(modern("3", "tools/list")), HasSubstr("resultType"));
  EXPECT_EQ(error(modern("4", "ping")), kMethodNotFound);
}

TEST_F(ConnectionEras, AnUnknownMethodIsNotFoundInBoth) {
  receive(initialize());
  for (const std::string_view method : {"tools/lists", "Tools/list", "notifications/cancelled"}) {
    EXPECT_EQ(error(modern("1", method)), kMethodNotFound) << method;
    EXPECT_EQ(error(legacy("1", method)), kMethodNotFound) << method;
  }
}

TEST_F(ConnectionEras, AnotherVersionIsRefusedBeforeAllElse) {
  const std::string line = line_of(
      "1", "no/method", R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"})");
  EXPECT_EQ(error(line), kUnsupportedVersion);
  EXPECT_THAT(answer(line),
              HasSubstr(R"("data":{"supported":["2026-07-28"],"requested":"2025-11-25"})"));
}

TEST_F(ConnectionEras, InitializeIsAnsweredWithTheVersionAndTheServer) {
  EXPECT_EQ(answer(initialize("{}", "2025-06-18")),
            R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18",)"
            R"("capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},)"
            R"("logging":{},"completions":{}},"serverInfo":{"name":"small","version":"1.2"}}})");
  EXPECT_THAT(answer(initialize("{}", "2024-11-05")),
              HasSubstr(R"("protocolVersion":"2025-11-25")"));
  EXPECT_THAT(receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), IsEmpty());
}

TEST_F(ConnectionEras, InitializeWithoutAVersionOpensNothing) {
  EXPECT_EQ(error(legacy("1", "initialize", {R"("capabilities":{})"})), kInvalidParams);
  EXPECT_EQ(error(legacy("1", "initialize", {R"("protocolVersion":7)"})), kInvalidParams);
  EXPECT_EQ(error(legacy("2", "tools/list")), kInvalidParams);
}

TEST_F(ConnectionEras, DiscoveryMayBeKeptAndSaysWhoAnswers) {
  EXPECT_EQ(answer(modern(R"("d-1")", "server/discover")),
            R"({"jsonrpc":"2.0","id":"d-1","result":{"resultType":"complete",)"
            R"("supportedVersions":["2026-07-28"],"capabilities":{"tools":{},)"
            R"("resources":{"subscribe":true},"prompts":{},"completions":{}},)"
            R"("ttlMs":60000,"cacheScope":"public","_meta":)"
            R"({"io.modelcontextprotocol/serverInfo":{"name":"small","version":"1.2"}}}})");
}

TEST_F(ConnectionEras, FieldsThatAreNotKnownAreIgnored) {
  EXPECT_EQ(error(modern("1", "tools/list", {R"("x":{"y":[1]},"cursor":null)", R"("z":1)"})), 0);
  EXPECT_EQ(error(modern("1", "tools/list", {.capabilities = R"({"x":{"y":1}})"})), 0);
}

TEST_F(ConnectionEras, WhatCannotBeReadIsAnsweredWithTheIdThatItHas) {
  EXPECT_THAT(receive("{"), ElementsAre(HasSubstr(R"({"jsonrpc":"2.0","error":{"code":-32700,)")));
  EXPECT_THAT(receive("[]"), ElementsAre(HasSubstr(R"("code":-32600)")));
  EXPECT_THAT(receive(R"({"jsonrpc":"2.0","id":"x"})"),
              ElementsAre(HasSubstr(R"("id":"x","error":{"code":-32600)")));
}

TEST_F(ConnectionEras, BlankLinesNotificationsAndResponsesAreNotAnswered) {
  for (const std::string line :
       {"", " \t\r\n", R"({"jsonrpc":"2.0","method":"tools/list"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}})",
        R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"error":{"code":-32700}})"}) {
    EXPECT_THAT(receive(line), IsEmpty()) << line;
  }
}

// ---- Lists.

struct Listed {
  std::string_view method;
  void (*write)(JsonWriter&, const Catalog&);
};
const std::vector<Listed>& lists() {
  static const std::vector<Listed> kLists = {{"tools/list", write_tools},
                                             {"resources/list", write_resources},
                                             {"resources/templates/list", write_templates},
                                             {"prompts/list", write_prompts}};
  return kLists;
}

TEST_F(ConnectionLists, AreWholeAndTheSameEachTime) {
  receive(initialize());
  for (const Listed& one : lists()) {
    JsonWriter out;
    out.begin_object();
    one.write(out, catalog_);
    const std::string object = out.end_object().take();
    const std::string members = object.substr(1, object.size() - 2);
    EXPECT_EQ(legacy_members(answer(legacy("1", one.method)), "1"), members);
    EXPECT_EQ(modern_members(answer(modern("1", one.method)), "1"),
              members + R"(,"ttlMs":60000,"cacheScope":"public")");
    EXPECT_EQ(answer(modern("1", one.method)), answer(modern("1", one.method)));
  }
}

TEST_F(ConnectionLists, HaveNoCursorThatIsOurs) {
  receive(initialize());
  for (const Listed& one : lists()) {
    for (const std::string cursor : {R"("")", R"("2")", "7"}) {
      EXPECT_EQ(error(modern("1", one.method, {R"("cursor":)" + cursor})), kInvalidParams);
      EXPECT_EQ(error(legacy("1", one.method, {R"("cursor":)" + cursor})), kInvalidParams);
    }
  }
}

TEST_F(ConnectionLists, WhatTheServerDoesNotHaveIsNoMethod) {
  const Catalog bare = {.name = "bare", .version = "1", .tells_of_changes = true};
  Connection connection(bare);
  for (const Spoken& one : methods()) {
    if (one.method == "server/discover") continue;
    const Effects effects = connection.receive(modern("1", one.method, {one.params}));
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_EQ(std::get<Send>(effects.front()).error, Code::kMethodNotFound) << one.method;
  }
}

TEST_F(ConnectionLists, AServerThatTellsOfNoChangesHasNoSubscriptions) {
  Catalog quiet = small_catalog();
  quiet.tells_of_changes = false;
  Connection connection(quiet);
  connection.receive(initialize());
  for (const std::string& line : {modern("1", "subscriptions/listen", {R"("notifications":{})"}),
                                  legacy("1", "resources/subscribe", {R"("uri":"x://all")"}),
                                  legacy("1", "resources/unsubscribe", {R"("uri":"x://all")"})}) {
    const Effects effects = connection.receive(line);
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_EQ(std::get<Send>(effects.front()).error, Code::kMethodNotFound) << line;
  }
}

}  // namespace
}  // namespace berth::mcp
