// SPDX-License-Identifier: Apache-2.0
#include "server/http_frontend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/checked.h"
#include "config/config.h"
#include "http/loopback.h"
#include "os/clock.h"
#include "os/unique_fd.h"

namespace berth::server {
namespace {

TEST(FrontendLimits, LeaveDescriptorsInHand) {
  const config::Config config = config::built_in(config::Mode::kUser);
  for (const std::uint64_t descriptors : {64U, 1'024U, 524'288U}) {
    const HttpFrontend::Limits both = HttpFrontend::limits(config, descriptors, true);
    const HttpFrontend::Limits alone = HttpFrontend::limits(config, descriptors, false);
    const http::Limits port = checked(both.port);
    EXPECT_FALSE(alone.port.has_value());
    EXPECT_LT(alone.socket.connections, descriptors);
    EXPECT_EQ(both.socket.connections + port.connections, alone.socket.connections);
    EXPECT_GT(port.connections, 0U);
    EXPECT_LT(port.connections, both.socket.connections);
  }
}

TEST(FrontendLimits, BoundHowLongAPortIsHeldByWhoAsksNothing) {
  const HttpFrontend::Limits both =
      HttpFrontend::limits(config::built_in(config::Mode::kUser), 1'024, true);
  EXPECT_TRUE(checked(both.port).idle_within.has_value());
  EXPECT_FALSE(both.socket.idle_within.has_value());
}

constexpr UserId kUser{1000};

template <typename T>
T value_of(const Result<T>& result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : T{};
}

class DayClock final : public os::Clock {
 public:
  Instant now() const override { return {hours_ * 3'600'000'000'000}; }
  UnixMs wall() const override { return {1'790'000'000'000 + hours_ * 3'600'000}; }
  void pass(std::int64_t hours) { hours_ += hours; }

 private:
  std::int64_t hours_ = 0;
};

class NoHandler final : public http::Handler {
 public:
  void opened(ConnectionId /*connection*/, const os::Peer& /*peer*/) override {}
  void requested(ConnectionId /*connection*/, http::Request /*request*/) override {}
  void closed(ConnectionId connection) override { last = connection; }

  ConnectionId last;
};

/// Looks each 10 ms whether its port is used.
class FrontendPort : public testing::Test {
 protected:
  using Client = boost::asio::ip::tcp::socket;

  ~FrontendPort() override { std::filesystem::remove_all(folder_); }

  static std::string made_folder() {
    std::string name = testing::TempDir() + "berth-frontend.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }
  Entrances entrances(bool has_port) {
    Entrances made{.socket = *http::ListeningSocket::open(folder_ + "/socket",
                                                          http::ListeningSocket::Access::kOwner,
                                                          {"daemon", "stop it first"}),
                   .port = {}};
    if (has_port) made.port.emplace(*http::listen_on_loopback(0), "token");
    return made;
  }
  HttpFrontend frontend(bool has_port) {
    Entrances made = entrances(has_port);
    return {io_,
            made,
            handler_,
            clock_,
            {.config = config_,
             .descriptors = 1'024,
             .hello = "",
             .state_dir = folder_,
             .warn = [](const std::string& /*text*/) {},
             .look_every = milliseconds(10)}};
  }
  void go_on() { (void)io_.run_for(std::chrono::milliseconds(60)); }
  /// At the port of such an address; not open: nobody listens there.
  Client client_of(const std::string& address) {
    const std::string port = address.substr(address.rfind(':') + 1);
    Client client(io_);
    try {
      client.connect({boost::asio::ip::make_address("127.0.0.1"),
                      static_cast<std::uint16_t>(std::stoi(port))});
    } catch (const boost::system::system_error& /*refused*/) {
      client.close();
    }
    go_on();
    return client;
  }

  const std::string folder_ = made_folder();
  const config::Config config_ = config::built_in(config::Mode::kUser);
  boost::asio::io_context io_;
  DayClock clock_;
  NoHandler handler_;
};

TEST_F(FrontendPort, OfAPageIsClosedWhenNobodyHasASession) {
  HttpFrontend http = frontend(false);
  const std::string address = value_of(http.dashboard(kUser, {})).address;
  go_on();
  EXPECT_TRUE(client_of(address).is_open()) << "the code can still be entered";
  clock_.pass(1);
  go_on();
  EXPECT_EQ(http.address(), "");
  EXPECT_FALSE(client_of(address).is_open());
  EXPECT_EQ(http.connections(), 0U);
  const std::string next = value_of(http.dashboard(kUser, {})).address;
  EXPECT_EQ(http.address(), next);
  EXPECT_TRUE(client_of(next).is_open());
}

TEST_F(FrontendPort, OfAPageStaysWhileSomebodyIsConnected) {
  HttpFrontend http = frontend(false);
  const std::string address = value_of(http.dashboard(kUser, {})).address;
  Client client = client_of(address);
  EXPECT_EQ(http.connections(), 1U);
  (void)http.dashboard(kUser, {.revoke = true});
  go_on();
  EXPECT_EQ(http.address(), address);
  client.close();
  go_on();
  EXPECT_EQ(http.address(), "");
}

// What comes late for a connection of the port before must not reach one of this.
TEST_F(FrontendPort, OfThePageAfterItGivesNoNumberTwice) {
  HttpFrontend http = frontend(false);
  ConnectionId before;
  for (int i = 0; i < 2; ++i) {
    client_of(value_of(http.dashboard(kUser, {})).address).close();
    go_on();
    EXPECT_NE(handler_.last, before);
    before = handler_.last;
    clock_.pass(1);
    go_on();
    EXPECT_EQ(http.address(), "");
  }
}

TEST_F(FrontendPort, ThatIsConfiguredStays) {
  HttpFrontend http = frontend(true);
  const std::string address = value_of(http.dashboard(kUser, {})).address;
  clock_.pass(1);
  go_on();
  EXPECT_EQ(http.address(), address);
  EXPECT_TRUE(client_of(address).is_open());
}

}  // namespace
}  // namespace berth::server
