// SPDX-License-Identifier: Apache-2.0
// The other end of a socket pair plays the daemon: what it says is written before it is asked.
#include "client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <variant>

namespace berth::client {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHello =
    "Berth-Hello: api=1.0; version=0.1.0; world=real; simulated=0; pid=1\r\n";

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : connection_(open(), {.version = "0.1.0", .world = "real", .process = {}}) {}

  os::UniqueFd open() {
    std::array<int, 2> ends{};
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    daemon_ = os::UniqueFd(ends[1]);
    return os::UniqueFd(ends[0]);
  }
  void say(std::string_view text) {
    ASSERT_EQ(::write(daemon_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void answer(const std::string& status, const std::string& body) {
    say("HTTP/1.1 " + status + "\r\n" + kHello + "Content-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body);
  }
  void begin_stream() {
    say(std::string("HTTP/1.1 200 OK\r\n") + kHello +
        "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  void chunk(const std::string& text) {
    std::array<char, 16> size{};
    std::snprintf(size.data(), size.size(), "%zx", text.size());
    say(std::string(size.data()) + "\r\n" + text + "\r\n");
  }
  std::string heard() {
    std::array<char, 4'096> text{};
    const ssize_t count = ::recv(daemon_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  os::UniqueFd daemon_;
  Connection connection_;
};

TEST_F(ConnectionTest, QuestionCarriesHelloLengthAndBody) {
  answer("200 OK", "{}");
  ASSERT_TRUE(
      connection_
          .ask({.route = wire::Route::kSubmit, .body = RequestBody{.request = {.name = "a"}}})
          .ok());
  const std::string request = heard();
  EXPECT_THAT(request, StartsWith("POST /v1/leases HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nBerth-Hello: api=1.0; version=0.1.0; world=real\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nContent-Length: 12\r\n"));
  EXPECT_THAT(request, EndsWith("\r\n\r\n{\"name\":\"a\"}"));
}

TEST_F(ConnectionTest, BodyIsThatOfTheRoute) {
  answer("200 OK", "{}");
  ASSERT_TRUE(connection_.ask({.route = wire::Route::kResume, .lease = "7"}).ok());
  EXPECT_THAT(heard(), EndsWith("\r\nContent-Length: 2\r\n\r\n{}"));
  answer("200 OK", "{}");
  ASSERT_TRUE(connection_.ask({.route = wire::Route::kStatus}).ok());
  EXPECT_THAT(heard(), EndsWith("world=real\r\n\r\n"));
  EXPECT_DEATH(
      (void)connection_.ask(
          {.route = wire::Route::kResume, .lease = "7", .body = ParkBody{.parked = false}}),
      "check failed");
}

TEST_F(ConnectionTest, ConnectionIsAskedAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    answer("200 OK", std::to_string(i));
    const Result<Answer> answered = connection_.ask({.route = wire::Route::kStatus});
    ASSERT_TRUE(answered.ok());
    EXPECT_EQ(answered->body, std::to_string(i));
  }
}

TEST_F(ConnectionTest, RefusalIsAnAnswerNotAnError) {
  answer("409 Conflict", R"({"error":{"code":"busy","message":"no"}})");
  const Result<Answer> answered = connection_.ask({.route = wire::Route::kSubmit});
  ASSERT_TRUE(answered.ok());
  EXPECT_FALSE(answered->ok());
  EXPECT_EQ(answered->status, 409);
}

TEST_F(ConnectionTest, StreamEndsAndTheConnectionIsAskedOn) {
  begin_stream();
  chunk("event: lease\ndata: {\"id\":1}\n\nevent: gran");
  chunk("ted\ndata: {\"id\":1}\n\n");
  say("0\r\n\r\n");
  ASSERT_TRUE(connection_.send({.route = wire::Route::kSubmit}).ok());
  for (const char* name : {"lease", "granted"}) {
    const Result<Arrival> arrival = connection_.wait(seconds(1));
    ASSERT_TRUE(arrival.ok());
    ASSERT_TRUE(std::holds_alternative<wire::SseEvent>(*arrival));
    EXPECT_EQ(std::get<wire::SseEvent>(*arrival).event, name);
  }
  const Result<Arrival> end = connection_.wait(seconds(1));
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(std::holds_alternative<StreamEnded>(*end));

  answer("200 OK", "claimed");
  const Result<Answer> claimed = connection_.ask({.route = wire::Route::kClaim, .lease = "l_x"});
  ASSERT_TRUE(claimed.ok());
  EXPECT_EQ(claimed->body, "claimed");
}

TEST_F(ConnectionTest, RefusalInPlaceOfAStreamIsAnAnswer) {
  answer("422 Unprocessable", "{}");
  ASSERT_TRUE(connection_.send({.route = wire::Route::kSubmit}).ok());
  const Result<Arrival> arrival = connection_.wait(seconds(1));
  ASSERT_TRUE(arrival.ok());
  ASSERT_TRUE(std::holds_alternative<Answer>(*arrival));
  EXPECT_EQ(std::get<Answer>(*arrival).status, 422);
}

TEST_F(ConnectionTest, NothingWholeMeansNothing) {
  begin_stream();
  chunk("event: lease\ndata: {\"id\":1}\n");
  ASSERT_TRUE(connection_.send({.route = wire::Route::kSubmit}).ok());
  const Result<std::optional<Arrival>> nothing = connection_.receive();
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->has_value());
  chunk("\n");
  const Result<std::optional<Arrival>> event = connection_.receive();
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(event->has_value());
}

TEST_F(ConnectionTest, HangUpIsUnavailable) {
  ASSERT_TRUE(connection_.send({.route = wire::Route::kSubmit}).ok());
  begin_stream();
  daemon_ = {};
  const Result<Arrival> arrival = connection_.wait(seconds(1));
  ASSERT_FALSE(arrival.ok());
  EXPECT_EQ(arrival.error().code, Errc::kUnavailable);
}

TEST_F(ConnectionTest, WhatTheDaemonSaidBeforeItDisconnectedIsRead) {
  answer("503 Service Unavailable", "full");
  daemon_ = {};
  const Result<Answer> answered = connection_.ask({.route = wire::Route::kStatus});
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(answered->body, "full");
}

TEST_F(ConnectionTest, WhetherAnythingWasHeardOfTheAnswerIsKnown) {
  ASSERT_TRUE(connection_.send({.route = wire::Route::kStatus}).ok());
  EXPECT_FALSE(connection_.has_heard());
  say("HTTP/1.1 2");
  daemon_ = {};
  EXPECT_FALSE(connection_.wait(seconds(1)).ok());
  EXPECT_TRUE(connection_.has_heard());
}

TEST_F(ConnectionTest, SilenceTimesOut) {
  const Result<Answer> answered = connection_.ask({.route = wire::Route::kStatus}, milliseconds(1));
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Errc::kTimedOut);
}

struct Unmanaged {
  const char* hello;
  Errc code;
};
class UnmanagedTest : public ConnectionTest, public testing::WithParamInterface<Unmanaged> {};

TEST_P(UnmanagedTest, IsNotBelieved) {
  say(std::string("HTTP/1.1 200 OK\r\n") + GetParam().hello + "Content-Length: 2\r\n\r\n{}");
  const Result<Answer> answered = connection_.ask({.route = wire::Route::kStatus});
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, GetParam().code) << answered.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Hellos, UnmanagedTest,
    testing::Values(
        Unmanaged{"", Errc::kVersion},
        Unmanaged{"Berth-Hello: api=2.0; version=9.0.0; world=real; simulated=0; pid=1\r\n",
                  Errc::kVersion},
        Unmanaged{"Berth-Hello: api=1.0; version=0.1.0; world=w1; simulated=1; pid=1\r\n",
                  Errc::kConflict}));

}  // namespace
}  // namespace berth::client
