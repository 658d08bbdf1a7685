// SPDX-License-Identifier: Apache-2.0
#include "mcp/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace berth::mcp {
namespace {

using testing::HasSubstr;
using Kind = Message::Kind;

struct Good {
  std::string line;
  Kind kind;
  std::string id;
  std::string method;
};

TEST(Message, IsARequestANotificationOrAResponse) {
  const std::vector<Good> good = {
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"})", Kind::kRequest, "1", "ping"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a","params":{}})", Kind::kRequest, "1", "a"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a","params":null})", Kind::kRequest, "1", "a"},
      {R"( { "method" : "a" , "id" : "x" , "jsonrpc" : "2.0" } )"
       "\r\n",
       Kind::kRequest, R"("x")", "a"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a","trace":[1],"x":{}})", Kind::kRequest, "1", "a"},
      {R"({"jsonrpc":"2.0","method":"notifications/a"})", Kind::kNotification, "",
       "notifications/a"},
      {R"({"jsonrpc":"2.0","id":1,"result":{}})", Kind::kResponse, "1", ""},
      {R"({"jsonrpc":"2.0","id":1,"result":null})", Kind::kResponse, "1", ""},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})", Kind::kResponse, "1", ""},
  };
  for (const Good& one : good) {
    const auto read = read_message(one.line);
    const auto* message = std::get_if<Message>(&read);
    ASSERT_NE(message, nullptr) << one.line;
    EXPECT_EQ(message->kind, one.kind) << one.line;
    EXPECT_EQ(message->id.value_or(Id()).json, one.id) << one.line;
    EXPECT_EQ(message->method, one.method) << one.line;
  }
}

// A client that gets back another spelling of its id may not know it.
TEST(Message, AnIdIsAnsweredAsItStood) {
  for (const std::string id :
       {"0", "-7", "12345678901234567890123", R"("")", R"("a b")", R"("\u00e9\n\"")", R"("é")"}) {
    const auto read = read_message(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"a"})");
    const auto* message = std::get_if<Message>(&read);
    ASSERT_NE(message, nullptr) << id;
    EXPECT_EQ(result_line(message->id.value_or(Id()), [](JsonWriter&) {}),
              R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})");
  }
}

struct Bad {
  std::string line;
  Code code;
  std::string id;  // That the answer has.
  std::string why;
};

TEST(Message, ThatMakesNoSenseIsRefusedByWhatIsWrong) {
  const std::string deep(JsonTree::kDepthMax, '[');
  const std::vector<Bad> bad = {
      {"", Code::kParse, "", "byte 1"},
      {"ping", Code::kParse, "", "not valid JSON"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a")", Code::kParse, "", "not valid JSON"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a"}{})", Code::kParse, "", "not valid JSON"},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xFF\"}", Code::kParse, "", "not valid JSON"},
      {R"({"a":)" + deep + "]", Code::kInvalidRequest, "", "nested deeper than 16"},
      {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"a"})", Code::kInvalidRequest, "", "'id' twice"},
      {"7", Code::kInvalidRequest, "", "must be an object"},
      {"null", Code::kInvalidRequest, "", "must be an object"},
      {R"([])", Code::kInvalidRequest, "", "batches"},
      {R"([{"jsonrpc":"2.0","id":1,"method":"a"}])", Code::kInvalidRequest, "", "batches"},
      {"{}", Code::kInvalidRequest, "", "'jsonrpc'"},
      {R"({"id":1,"method":"a"})", Code::kInvalidRequest, "1", "'jsonrpc'"},
      {R"({"jsonrpc":"1.0","id":"x","method":"a"})", Code::kInvalidRequest, R"("x")", "'jsonrpc'"},
      {R"({"jsonrpc":2.0,"id":1,"method":"a"})", Code::kInvalidRequest, "1", "'jsonrpc'"},
      {R"({"jsonrpc":"2.0","id":null,"method":"a"})", Code::kInvalidRequest, "", "'id'"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"a"})", Code::kInvalidRequest, "", "'id'"},
      {R"({"jsonrpc":"2.0","id":1e3,"method":"a"})", Code::kInvalidRequest, "", "'id'"},
      {R"({"jsonrpc":"2.0","id":true,"method":"a"})", Code::kInvalidRequest, "", "'id'"},
      {R"({"jsonrpc":"2.0","id":[1],"method":"a"})", Code::kInvalidRequest, "", "'id'"},
      {R"({"jsonrpc":"2.0","id":1})", Code::kInvalidRequest, "1", "'method'"},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", Code::kInvalidRequest, "1", "'method'"},
      {R"({"jsonrpc":"2.0","id":1,"method":""})", Code::kInvalidRequest, "1", "'method'"},
      {R"({"jsonrpc":"2.0","id":1,"method":"a","params":[1]})", Code::kInvalidRequest, "1",
       "'params'"},
  };
  for (const Bad& one : bad) {
    const auto read = read_message(one.line);
    const auto* wrong = std::get_if<Unreadable>(&read);
    ASSERT_NE(wrong, nullptr) << one.line;
    EXPECT_EQ(wrong->fault.code, one.code) << one.line;
    EXPECT_EQ(wrong->id.value_or(Id()).json, one.id) << one.line;
    EXPECT_THAT(wrong->fault.message, HasSubstr(one.why)) << one.line;
  }
}

TEST(Message, ALineHasABound) {
  std::string line = R"({"jsonrpc":"2.0","id":1,"method":"a"})";
  line.resize(kLineMax, ' ');
  EXPECT_TRUE(std::holds_alternative<Message>(read_message(line)));
  line += ' ';
  const auto read = read_message(line);
  const auto* wrong = std::get_if<Unreadable>(&read);
  ASSERT_NE(wrong, nullptr);
  EXPECT_EQ(wrong->fault.code, Code::kInvalidRequest);
}

TEST(Message, AResponseIsNeverRefused) {
  for (const std::string line : {R"({"error":{}})", R"({"id":null,"error":{}})",
                                 R"({"jsonrpc":"1.0","id":[],"result":7})"}) {
    EXPECT_TRUE(std::holds_alternative<Message>(read_message(line))) << line;
  }
}

TEST(Message, AnObjectIsReadLeniently) {
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"text":"\u0061","number":7,"null":null,)"
      R"("object":{"b": [1, 2]},"texts":["x","y"],"mixed":["x",1]}})";
  const auto read = read_message(line);
  const Object params = std::get<Message>(read).params();
  EXPECT_EQ(params.text("text"), "a");
  EXPECT_EQ(params.text("number"), std::nullopt);
  EXPECT_EQ(params.text("missing"), std::nullopt);
  EXPECT_EQ(params.id("number"), Id{"7"});
  EXPECT_EQ(params.id("text"), Id{R"("\u0061")"});
  EXPECT_EQ(params.id("object"), std::nullopt);
  EXPECT_TRUE(params.has("number"));
  EXPECT_FALSE(params.has("null"));
  EXPECT_TRUE(params.has_object("object"));
  EXPECT_FALSE(params.has_object("text"));
  EXPECT_EQ(params.object("object").json(), R"({"b":[1,2]})");
  EXPECT_EQ(params.object("text").json(), "{}");
  EXPECT_FALSE(params.object("missing").has("b"));
  EXPECT_EQ(params.json("object", "{}"), R"({"b":[1,2]})");
  EXPECT_EQ(params.json("null", "[]"), "[]");
  EXPECT_EQ(params.texts("texts"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(params.texts("mixed"), std::nullopt);
  EXPECT_EQ(params.texts("text"), std::nullopt);
}

TEST(Message, IsWrittenInOneLine) {
  EXPECT_EQ(error_line(Id{"1"}, {Code::kInternal, "two\nlines", R"({"a":1})"}),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"two\nlines",)"
            R"("data":{"a":1}}})");
  EXPECT_EQ(error_line(std::nullopt, {Code::kParse, "no"}),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}})");
  EXPECT_EQ(notification_line("notifications/a", R"({"b":1})"),
            R"({"jsonrpc":"2.0","method":"notifications/a","params":{"b":1}})");
  EXPECT_DEATH(notification_line("notifications/a", "{\n}"), "npos");
  EXPECT_EQ(request_line(3, "a", "{}"), R"({"jsonrpc":"2.0","id":3,"method":"a","params":{}})");
}

}  // namespace
}  // namespace berth::mcp
