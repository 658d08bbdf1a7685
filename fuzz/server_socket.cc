// SPDX-License-Identifier: Apache-2.0
// The daemon's socket, with two that send it anything in any pieces and take of the answers what
// they like, and one who asks politely: she is answered each time, whatever they do, and what is
// kept for them has a bound.
#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "bytes.h"
#include "fuzz.h"
#include "http/raw_client_for_test.h"
#include "http/server.h"
#include "os/clock.h"

namespace berth {
namespace {

constexpr std::size_t kAnswerMax = std::size_t{4} << 20U;
constexpr std::size_t kKernelMax = std::size_t{1} << 20U;  // Of one connection.

class FakeClock final : public os::Clock {
 public:
  Instant now() const override { return at; }
  UnixMs wall() const override { return {}; }
  Instant at{seconds(100).ns};
};

/// Answers `/NUMBER` with so many KiB, and begins or goes on with a stream where one is wanted.
class Handler final : public http::Handler {
 public:
  void opened(ConnectionId connection, const os::Peer& /*peer*/) override {
    CHECK(said.emplace(connection, 0).second);
  }
  void requested(ConnectionId connection, http::Request request) override {
    CHECK(said.contains(connection));
    if (request.wants_stream && request.chunks) {
      streams.push_back(connection);
      return tell(connection, 64);
    }
    const std::size_t size = std::min(std::size_t{request.target.size()} << 14U, kAnswerMax);
    said[connection] += size;
    transport->answer(connection, {.body = std::string(size, 'a')});
  }
  void closed(ConnectionId connection) override {
    CHECK(said.erase(connection) == 1);
    std::erase(streams, connection);
  }
  void tell(ConnectionId connection, std::size_t size) {
    said[connection] += size;
    transport->stream(connection, std::string(size, 'e'));
  }

  http::Transport* transport = nullptr;
  std::map<ConnectionId, std::size_t> said;
  std::vector<ConnectionId> streams;
};

class World {
 public:
  World() : path_(folder_.path() + "/s") {
    server_ = std::make_unique<http::Server>(io_, http::listen_at(path_), handler_, clock_,
                                             http::Limits{}, "api=1.0");
    handler_.transport = server_.get();
    for (auto& client : clients_) client = std::make_unique<http::RawClient>(path_);
    turn();
  }

  void turn() {
    io_.restart();
    for (int i = 0; i < 32; ++i) {
      if (io_.poll_one() == 0) break;
      server_->flush();
    }
  }
  http::RawClient& client(std::size_t which) { return *clients_.at(which % clients_.size()); }
  void begin_again(std::size_t which) {
    clients_.at(which % clients_.size()) = std::make_unique<http::RawClient>(path_);
  }
  void tell(std::size_t size) {
    for (const ConnectionId stream : std::vector(handler_.streams)) handler_.tell(stream, size);
    server_->flush();
  }
  void polite_one_is_answered() {
    http::RawClient polite(path_);
    CHECK(polite.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    for (int turns = 0; turns < 200; ++turns) {
      turn();
      (void)polite.receive();
      if (polite.received.find("\r\n\r\n") != std::string::npos) break;
    }
    CHECK(polite.received.starts_with("HTTP/1.1 200 "));
    polite.hang_up();
    turn();
  }
  /// What was said to those who are there, and is not taken: with the server or the kernel.
  void check_bound() {
    std::size_t said = 0;
    for (const auto& [connection, size] : handler_.said) said += size;
    std::size_t taken = 0;
    for (const auto& client : clients_) taken += client->received.size();
    CHECK(said < taken + 2 * (kAnswerMax + kKernelMax) + http::Server::kUntakenMax);
    CHECK(handler_.said.size() <= 64);
  }
  FakeClock& clock() { return clock_; }

 private:
  http::TestFolder folder_;
  std::string path_;
  FakeClock clock_;
  boost::asio::io_context io_;
  Handler handler_;
  std::unique_ptr<http::Server> server_;
  std::array<std::unique_ptr<http::RawClient>, 2> clients_;
};

void run(fuzz::Bytes input) {
  World world;
  for (int steps = 0; steps < 40 && !input.empty(); ++steps) {
    const auto what = input.number<std::uint8_t>();
    http::RawClient& client = world.client(what >> 7U);
    switch (what % 8U) {
      case 0:
      case 1:
        (void)client.send(input.text(input.number<std::uint8_t>()));
        break;
      case 2: {  // The same, many times.
        const std::string_view text = input.text(input.number<std::uint8_t>() % 64U);
        for (int i = 0; i < 100; ++i) (void)client.send(text);
        break;
      }
      case 3:
        (void)client.receive();
        break;
      case 4:
        client.receive_some();
        break;
      case 5:
        for (int i = 0; i < 40; ++i) world.tell(std::size_t{what} << 10U);
        break;
      case 6:
        client.end_sending();
        break;
      default:
        world.begin_again(what >> 7U);
    }
    world.turn();
    world.check_bound();
    if (steps % 8 == 0) world.polite_one_is_answered();
  }
  world.polite_one_is_answered();
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::run({data, size});
  return 0;
}
