// SPDX-License-Identifier: Apache-2.0
// The HTTP server over a real socket, with a handler that does what the test says. Client and
// server take turns in one thread; the only time that passes is that of short deadlines.
#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "http/raw_client_for_test.h"

namespace berth::http {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kGet = "GET /healthz HTTP/1.1\r\n\r\n";

class Recorder final : public http::Handler {
 public:
  void opened(ConnectionId connection, const os::Peer& peer) override {
    open.push_back(connection);
    last_peer = peer.user;
  }
  void requested(ConnectionId connection, Request request) override {
    requests.push_back(request.target);
    last = connection;
    if (reply) transport->answer(connection, {.body = answer});
  }
  void closed(ConnectionId connection) override { gone.push_back(connection); }

  Transport* transport = nullptr;
  bool reply = true;
  std::string answer = "{}";
  std::vector<ConnectionId> open;
  std::vector<ConnectionId> gone;
  std::vector<std::string> requests;
  ConnectionId last;
  UserId last_peer;
};

class HttpServerTest : public ::testing::Test {
 protected:
  static Limits quick() {
    return {.connections = 8,
            .connections_per_user = 8,
            .descriptors = 32,
            .header_within = milliseconds(40),
            .body_within = milliseconds(40)};
  }
  void start(Limits limits = quick()) {
    path_ = folder_.path() + "/s";
    server_ =
        std::make_unique<Server>(io_, listen_at(path_), handler_, clock_, limits, "api=1.0; pid=1");
    handler_.transport = server_.get();
  }
  /// Lets the server work until this holds; false: it did not for a minute.
  bool until(const std::function<bool()>& holds) {
    const Instant end = clock_.now() + minutes(1);
    while (!holds()) {
      if (clock_.now() > end) return false;
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(10));
      server_->flush();
    }
    return true;
  }
  /// Lets the server do all that it has to do now.
  void settle() {
    io_.restart();
    for (int i = 0; i < 64; ++i) {
      io_.poll_one();
      server_->flush();
    }
  }
  bool until_received(RawClient& client, const std::string& text) {
    return until([&] {
      (void)client.receive();
      return client.received.find(text) != std::string::npos;
    });
  }
  bool until_closed(RawClient& client) {
    return until([&] { return !client.receive(); });
  }

  TestFolder folder_;
  std::string path_;
  os::PosixClock clock_;
  boost::asio::io_context io_;
  Recorder handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOtherOverOneConnection) {
  start();
  RawClient client(path_);
  for (std::size_t n = 1; n <= 3; ++n) {
    client.received.clear();
    ASSERT_TRUE(client.send(kGet));
    ASSERT_TRUE(until_received(client, "\r\n\r\n{}"));
    EXPECT_THAT(client.received,
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Length: 2\r\n"),
                      HasSubstr("Berth-Hello: api=1.0; pid=1\r\n"), Not(HasSubstr("close"))));
    EXPECT_EQ(handler_.requests.size(), n);
  }
  EXPECT_EQ(handler_.open.size(), 1U);
  EXPECT_EQ(handler_.last_peer, UserId{::getuid()});
}

TEST_F(HttpServerTest, PipelinedRequestsAreTakenOneAtATime) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  ASSERT_TRUE(client.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(until([&] { return !handler_.requests.empty(); }));
  settle();
  EXPECT_EQ(handler_.requests.size(), 1U) << "the first is not answered yet";
  server_->answer(handler_.last, {.body = "{}"});
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 2; }));
}

TEST_F(HttpServerTest, RequestsInAPileAreAnsweredAsTheAnswersAreTaken) {
  start();
  handler_.answer = std::string(std::size_t{1} << 20U, ' ');
  RawClient client(path_);
  std::string pile;
  for (int i = 0; i < 100; ++i) pile += kGet;
  ASSERT_TRUE(client.send(pile));
  settle();
  EXPECT_EQ(handler_.requests.size(), 1U) << "its answer does not fit the socket, nobody reads it";
  ASSERT_TRUE(until([&] {
    (void)client.receive();
    client.received.clear();
    return handler_.requests.size() == 100;
  }));
}

TEST_F(HttpServerTest, AClientThatSendsOnAndOnWithoutReadingIsNotReadAnyMore) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  const std::string more(32'768, 'x');
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  std::size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    if (client.send(more)) sent += more.size();
    settle();
  }
  EXPECT_LT(sent, std::size_t{2} << 20U) << "all but what the socket and one read hold";
  client.hang_up();
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 1; })) << "that is seen all the same";
}

TEST_F(HttpServerTest, NextRequestWaitsUntilTheAnswerBeforeItIsTaken) {
  start();
  handler_.answer = std::string(std::size_t{1} << 20U, ' ');
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  ASSERT_TRUE(client.send(kGet));
  settle();
  EXPECT_EQ(handler_.requests.size(), 1U);
}

TEST_F(HttpServerTest, RequestIsPerformedThoughItsClientLeftBeforeItsTurn) {
  start();
  handler_.answer = std::string(std::size_t{10} << 20U, ' ');
  RawClient first(path_);
  ASSERT_TRUE(first.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  RawClient second(path_);
  ASSERT_TRUE(second.send(kGet));
  second.hang_up();
  settle();
  EXPECT_EQ(handler_.requests.size(), 1U) << "the same user has too much to take";
  first.hang_up();
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 2; }));
  EXPECT_EQ(handler_.requests.size(), 2U);
}

TEST_F(HttpServerTest, AllRequestsOfAPileAreAnsweredThoughNoMoreWillCome) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet + kGet + kGet));
  client.end_sending();
  ASSERT_TRUE(until_closed(client));
  EXPECT_EQ(handler_.requests.size(), 3U);
}

TEST_F(HttpServerTest, UserWhoseAnswersPileUpIsAnsweredWhenTheyHaveTakenSome) {
  start();
  handler_.answer = std::string(std::size_t{5} << 20U, ' ');
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(path_));
    ASSERT_TRUE(clients.back()->send(kGet));
  }
  ASSERT_TRUE(until([&] { return handler_.open.size() == 4; }));
  settle();
  EXPECT_EQ(handler_.requests.size(), 2U) << "10 MiB are more than 8";
  clients[0]->hang_up();
  clients[1]->hang_up();
  clients[2]->hang_up();
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 4; }));
}

TEST_F(HttpServerTest, MalformedRequestIsAnsweredWithAnErrorAndTheEnd) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("what do you hold?\r\n\r\n"));
  ASSERT_TRUE(until_closed(client));
  EXPECT_THAT(client.received,
              AllOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"), HasSubstr("Connection: close\r\n"),
                    HasSubstr(R"("code":"bad_request")")));
}

TEST_F(HttpServerTest, OversizedHeaderAndBodyAreAnsweredWithTheBound) {
  start();
  RawClient header(path_);
  ASSERT_TRUE(header.send("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'a')));
  ASSERT_TRUE(until_closed(header));
  EXPECT_THAT(header.received, AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("16 KiB")));
  RawClient body(path_);
  ASSERT_TRUE(
      body.send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + std::string(60'000, 'a')));
  ASSERT_TRUE(until_closed(body));
  EXPECT_THAT(body.received, AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("64 KiB")));
}

TEST_F(HttpServerTest, SlowHeaderAndSlowBodyAreTimedOut) {
  start();
  RawClient header(path_);
  RawClient body(path_);
  ASSERT_TRUE(header.send("GET / HTTP/1.1\r\nHos"));
  ASSERT_TRUE(body.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"));
  ASSERT_TRUE(until_closed(header));
  ASSERT_TRUE(until_closed(body));
  EXPECT_THAT(header.received, AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("header")));
  EXPECT_THAT(body.received, AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("body")));
}

TEST_F(HttpServerTest, DrippingBytesDoesNotPutTheDeadlineOff) {
  start();
  RawClient client(path_);
  int sent = 0;
  ASSERT_TRUE(until([&] {
    if (sent < 5'000) sent += client.send("G") ? 1 : 0;
    return !client.receive();
  }));
  EXPECT_GT(sent, 10);
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpServerTest, IdleConnectionHasNoDeadline) {
  start();
  RawClient idle(path_);
  RawClient slow(path_);
  ASSERT_TRUE(slow.send("GET "));
  ASSERT_TRUE(until_closed(slow));
  ASSERT_TRUE(idle.send(kGet));
  EXPECT_TRUE(until_received(idle, "200 OK"));
}

TEST_F(HttpServerTest, HalfSentRequestIsForgottenWithItsConnection) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"));
  client.hang_up();
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 1; }));
  EXPECT_TRUE(handler_.requests.empty());
}

TEST_F(HttpServerTest, AClientThatClosesOnlyItsSendingSideStillGetsTheAnswer) {
  start();
  handler_.answer = std::string(std::size_t{4} << 20U, ' ');  // More than the kernel takes at once.
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  client.end_sending();
  ASSERT_TRUE(until_closed(client));
  EXPECT_GT(client.received.size(), handler_.answer.size());
}

TEST_F(HttpServerTest, AnswerLargerThanTheSocketTakesIsWrittenAsItIsRead) {
  start();
  handler_.answer = std::string(std::size_t{8} << 20U, ' ');
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  EXPECT_FALSE(server_->drained(handler_.last));
  ASSERT_TRUE(until([&] {
    (void)client.receive();
    return client.received.size() > handler_.answer.size();
  }));
  ASSERT_TRUE(until([&] { return server_->drained(handler_.last); }));
}

TEST_F(HttpServerTest, AClientThatNeverReadsItsAnswerIsDropped) {
  Limits limits = quick();
  limits.taken_within = milliseconds(40);
  start(limits);
  handler_.answer = std::string(std::size_t{8} << 20U, ' ');
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return !handler_.gone.empty(); }));
}

TEST_F(HttpServerTest, WhoAsksNothingIsDroppedWhereTheTimeForItIsBounded) {
  Limits limits = quick();
  limits.idle_within = milliseconds(40);
  start(limits);
  RawClient silent(path_);
  RawClient asked_once(path_);
  ASSERT_TRUE(asked_once.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 2; }));
  EXPECT_EQ(handler_.requests.size(), 1U);
}

TEST_F(HttpServerTest, WhoseRequestIsBeingAnsweredIsNotIdle) {
  Limits limits = quick();
  limits.idle_within = milliseconds(40);
  start(limits);
  handler_.reply = false;
  RawClient waits(path_);
  ASSERT_TRUE(waits.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  RawClient silent(path_);
  ASSERT_TRUE(until([&] { return !handler_.gone.empty(); }));
  EXPECT_EQ(handler_.gone, std::vector{handler_.open.back()});
}

TEST_F(HttpServerTest, NeitherReadingABitNorAskingOnPutsTheEndOffForAnAnswer) {
  Limits limits = quick();
  limits.taken_within = milliseconds(40);
  start(limits);
  handler_.answer = std::string(std::size_t{8} << 20U, ' ');
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] {
    (void)client.send(kGet);
    client.receive_some();
    return !handler_.gone.empty();
  }));
  EXPECT_LT(client.received.size(), handler_.answer.size());
  EXPECT_EQ(handler_.requests.size(), 1U);
}

TEST_F(HttpServerTest, EndlessExtensionOfAChunkIsAnsweredWithTheBound) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;"));
  const std::string more(16'384, 'a');
  ASSERT_TRUE(until([&] {
    (void)client.send(more);
    return !client.receive();
  }));
  EXPECT_THAT(client.received, AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("16 KiB")));
}

TEST_F(HttpServerTest, UnknownTransferEncodingIsRefusedWithWhatFollowsIt) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n" + kGet));
  ASSERT_TRUE(until_closed(client));
  EXPECT_THAT(client.received,
              AllOf(StartsWith("HTTP/1.1 501 "), HasSubstr(R"("code":"not_supported")")));
  EXPECT_TRUE(handler_.requests.empty());
}

TEST_F(HttpServerTest, StreamLeavesTheConnectionUsable) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  server_->stream(handler_.last, "event: a\n\n");
  server_->stream(handler_.last, "event: b\n\n");
  ASSERT_TRUE(until_received(client, "event: b"));
  server_->end_stream(handler_.last);
  ASSERT_TRUE(until_received(client, "\r\n0\r\n\r\n"));
  EXPECT_THAT(client.received, AllOf(HasSubstr("Content-Type: text/event-stream\r\n"),
                                     HasSubstr("\r\na\r\nevent: a\n\n\r\n")));
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 2; }));
}

TEST_F(HttpServerTest, HangUpDuringAStreamIsSeenAtOnce) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  server_->stream(handler_.last, "event: a\n\n");
  client.hang_up();
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 1; }));
  server_->stream(handler_.last, "event: b\n\n");  // To nobody: no harm.
  server_->end_stream(handler_.last);
}

TEST_F(HttpServerTest, ListenerThatDoesNotReadIsCutOffBeforeItCostsMuch) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  const std::string event(65'536, 'e');
  for (int i = 0; i < 64; ++i) server_->stream(handler_.last, event);
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 1; }));
}

TEST_F(HttpServerTest, ListenerThatStopsReadingIsCutOffThoughTheKernelTakesNoMore) {
  start();
  handler_.reply = false;
  RawClient client(path_);
  ASSERT_TRUE(client.send(kGet));
  ASSERT_TRUE(until([&] { return handler_.requests.size() == 1; }));
  const std::string event(16'384, 'e');
  for (int i = 0; i < 128 && handler_.gone.empty(); ++i) {
    server_->stream(handler_.last, event);
    settle();
  }
  EXPECT_EQ(handler_.gone.size(), 1U);
}

TEST_F(HttpServerTest, ManyListenersOfOneUserThatDoNotReadCostNoMoreThanFew) {
  Limits limits = quick();
  limits.connections = limits.connections_per_user = 40;
  start(limits);
  handler_.reply = false;
  std::vector<std::unique_ptr<RawClient>> listeners;
  for (std::size_t i = 1; i <= 32; ++i) {
    listeners.push_back(std::make_unique<RawClient>(path_));
    ASSERT_TRUE(listeners.back()->send(kGet));
    ASSERT_TRUE(until([&] { return handler_.requests.size() == i; }));
    server_->stream(handler_.last, std::string(i == 1 ? 400'000 : 1'000'000, 'e'));
  }
  // What the kernel takes of each is some 200 KiB.
  ASSERT_TRUE(until([&] { return handler_.gone.size() >= 16; }));
  settle();
  EXPECT_LT(handler_.gone.size(), 31U);
  EXPECT_EQ(std::ranges::count(handler_.gone, handler_.open.front()), 0);
}

TEST_F(HttpServerTest, ConnectionBeyondTheDescriptorsIsToldTheLimitAndTheCure) {
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<RawClient>(path_));
  ASSERT_TRUE(until([&] { return handler_.open.size() == 8; }));
  RawClient beyond(path_);
  ASSERT_TRUE(beyond.send(kGet));
  ASSERT_TRUE(until_closed(beyond));
  EXPECT_THAT(beyond.received, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("too_many_connections"),
                                     HasSubstr("8 connections"), HasSubstr("32 descriptors"),
                                     HasSubstr("LimitNOFILE")));
  clients.pop_back();
  ASSERT_TRUE(until([&] { return handler_.gone.size() == 1; }));
  RawClient next(path_);
  ASSERT_TRUE(next.send(kGet));
  EXPECT_TRUE(until_received(next, "200 OK"));
}

TEST_F(HttpServerTest, UserWithTooManyConnectionsIsToldSo) {
  Limits limits = quick();
  limits.connections_per_user = 2;
  start(limits);
  RawClient first(path_);
  RawClient second(path_);
  RawClient third(path_);
  ASSERT_TRUE(until_closed(third));
  EXPECT_THAT(third.received, AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("2 connections")));
}

TEST_F(HttpServerTest, ClientThatAsksWhetherToGoOnIsToldYes) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  ASSERT_TRUE(until_received(client, "HTTP/1.1 100 Continue\r\n\r\n"));
  ASSERT_TRUE(client.send("{}"));
  ASSERT_TRUE(until_received(client, "HTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, OldClientIsAnsweredAndClosed) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("GET / HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(until_closed(client));
  EXPECT_THAT(client.received, AllOf(HasSubstr("200 OK"), HasSubstr("Connection: close")));
}

}  // namespace
}  // namespace berth::http
