// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP servers: the one at its socket and, where it is configured, the one at a port
// of 127.0.0.1. One handler is behind both. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "http/door_keeper.h"
#include "http/listening.h"
#include "http/loopback.h"
#include "http/server.h"
#include "http/transport.h"
#include "os/clock.h"
#include "os/paths.h"

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
  };
  /// Takes the sockets of `entrances`; `behind` and `clock` must outlive it. Who brings the token
  /// acts for whom it belongs to: the user that the daemon runs as.
  HttpFrontend(boost::asio::io_context& io, Entrances& entrances, http::Handler& behind,
               const os::Clock& clock, const Settings& settings);

  http::Transport& transport();
  void configure(const config::Config& config);
  void flush();
  std::size_t connections() const;
  /// "http://127.0.0.1:7421"; empty: it has no port.
  const std::string& address() const { return address_; }

 private:
  struct AtPort {
    AtPort(http::Handler& behind, wire::Door door) : keeper(behind, std::move(door)) {}
    http::DoorKeeper keeper;
    std::optional<http::Server> server;
    std::optional<http::TwoTransports> both;
  };

  const std::uint64_t descriptors_;
  std::string address_;
  http::Server socket_;
  std::unique_ptr<AtPort> port_;
};

}  // namespace berth::server
