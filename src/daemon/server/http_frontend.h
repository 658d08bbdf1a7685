// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP servers: the one at its socket and, where it is configured, the one at a port
// of 127.0.0.1. One handler is behind both. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "config/config.h"
#include "http/door_keeper.h"
#include "http/listening.h"
#include "http/loopback.h"
#include "http/server.h"
#include "http/transport.h"
#include "model/bodies.h"
#include "os/clock.h"
#include "os/paths.h"
#include "server/berth_runner.h"
#include "server/page_door.h"
#include "wire/browser_sessions.h"
#include "wire/daemon.h"
#include "wire/door.h"

namespace berth::server {

/// A port, and the token that its clients send.
struct TokenPort {
  http::LoopbackSocket bound;
  std::string token;
};

/// Where the daemon accepts connections.
struct Entrances {
  http::ListeningSocket socket;
  std::optional<TokenPort> port;  // Absent where none is configured.
};
/// The socket that a service manager hands over, else the one of `paths`. The token lies in the
/// state directory. At start only. Errors of http::ListeningSocket, http::secret_in() and
/// http::listen_on_loopback().
Result<Entrances> open_entrances(const config::Daemon& config, const os::Paths& paths,
                                 os::Mode mode);

class HttpFrontend {
 public:
  struct Limits {
    http::Limits socket;
    std::optional<http::Limits> port;
  };
  /// `descriptors`: as many as the daemon may have. Those of the port are kept from the socket.
  static Limits limits(const config::Config& config, std::uint64_t descriptors, bool has_port);

  struct Settings {
    const config::Config& config;
    std::uint64_t descriptors = 0;
    std::string hello;
    std::string state_dir;  // Of the token and of what is kept of sessions.
    std::function<void(const std::string&)> warn;
    Duration look_every = seconds(60);  // Whether a port that was opened for a page is still used.
  };
  /// Takes the sockets of `entrances`; `behind` and `clock` must outlive it. Who brings the token
  /// acts for whom it belongs to: the user that the daemon runs as.
  HttpFrontend(boost::asio::io_context& io, Entrances& entrances, http::Handler& behind,
               const os::Clock& clock, Settings settings);

  http::Transport& transport();
  /// Runs `berth`; not longer than this lives.
  BerthRunner::Run berth();
  void configure(const config::Config& config);
  void flush();
  std::size_t connections() const;

  /// A code that opens a session of that user at the port; or the end of their sessions. Where no
  /// port is configured, it listens at one until nobody has a session or a connection there.
  Result<wire::DashboardCode> dashboard(UserId user, const DashboardBody& asked);
  /// "http://127.0.0.1:7421"; empty: it has no port.
  const std::string& address() const { return address_; }

 private:
  struct AtPort {
    AtPort(const wire::Door& door, PageDoor::Ports ports)
        : programs(ports.behind, door), browsers(programs, std::move(ports), door) {}
    http::DoorKeeper programs;
    PageDoor browsers;
    std::optional<http::Server> server;
  };
  void listen_at(TokenPort port);
  /// At a port that is free, if it does not listen yet.
  Status open_port();
  void look_later();
  void close_port_if_unused();
  /// On the disk, for a daemon after this one.
  void keep_sessions();

  boost::asio::io_context& io_;
  http::Handler& behind_;
  const os::Clock& clock_;
  const Settings settings_;
  std::string address_;
  BerthRunner berth_;
  http::Server socket_;
  http::TwoTransports both_;
  wire::BrowserSessions sessions_;
  std::unique_ptr<AtPort> port_;
  ConnectionId first_at_port_;  // Of the next port: numbers are never given twice.
  boost::asio::steady_timer look_;
};

}  // namespace berth::server
