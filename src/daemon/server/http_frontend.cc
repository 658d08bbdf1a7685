// SPDX-License-Identifier: Apache-2.0
#include "server/http_frontend.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/ids.h"
#include "os/processes.h"
#include "os/users.h"
#include "wire/door.h"

namespace berth::server {
namespace {

constexpr std::size_t kPortConnectionsMax = 512;
constexpr std::uint64_t kDescriptorsInHand = 512;  // For processes, files and refusals.
constexpr ConnectionId kFirstAtPort{std::uint64_t{1} << 63U};

Result<os::Peer> owner_of_token(int /*socket*/) {
  return os::Peer{.user = os::own_user()};
}

}  // namespace

Result<Entrances> open_entrances(const config::Daemon& config, const os::Paths& paths,
                                 os::Mode mode) {
  TRY(inherited, http::ListeningSocket::inherit());
  if (!inherited) {
    using Access = http::ListeningSocket::Access;
    const Access access = mode == os::Mode::kUser ? Access::kOwner : Access::kGroup;
    TRY(made, http::ListeningSocket::open(paths.socket, access,
                                          {"daemon", "stop it first (berth daemon stop)"}));
    inherited.emplace(std::move(made));
  }
  Entrances entrances{.socket = *std::move(inherited), .port = {}};
  if (!config.http) return entrances;
  TRY(token, http::secret_in(paths.state_dir + "/token"));
  TRY(bound, http::listen_on_loopback(static_cast<std::uint16_t>(config.http_port)));
  entrances.port.emplace(TokenPort{.bound = std::move(bound), .token = std::move(token)});
  return entrances;
}

HttpFrontend::Limits HttpFrontend::limits(const config::Config& config, std::uint64_t descriptors,
                                          bool has_port) {
  const std::uint64_t in_hand = std::min(kDescriptorsInHand, descriptors / 2);
  Limits limits{.socket = {.connections = static_cast<std::size_t>(descriptors - in_hand),
                           .connections_per_user = config.limits.connections,
                           .descriptors = descriptors},
                .port = {}};
  if (!has_port) return limits;
  http::Limits at_port = limits.socket;
  at_port.connections = std::min(limits.socket.connections / 4, kPortConnectionsMax);
  at_port.connections_per_user = at_port.connections;  // All are one user's.
  at_port.idle_within = http::kPortIdleFor;
  limits.socket.connections -= at_port.connections;
  limits.port = at_port;
  return limits;
}

HttpFrontend::HttpFrontend(boost::asio::io_context& io, Entrances& entrances, http::Handler& behind,
                           const os::Clock& clock, const Settings& settings)
    : descriptors_(settings.descriptors),
      socket_(io, entrances.socket.take(), behind, clock,
              limits(settings.config, descriptors_, entrances.port.has_value()).socket,
              settings.hello) {
  std::optional<TokenPort>& port = entrances.port;
  if (!port) return;
  const Limits both = limits(settings.config, descriptors_, true);
  address_ = "http://127.0.0.1:" + std::to_string(port->bound.port);
  port_ = std::make_unique<AtPort>(
      behind, wire::Door{.port = port->bound.port, .token = std::move(port->token)});
  http::Server& server =
      port_->server.emplace(io, std::move(port->bound.socket), port_->keeper, clock,
                            checked(both.port), settings.hello, owner_of_token, kFirstAtPort);
  port_->keeper.connect(server);
  port_->both.emplace(socket_, server, kFirstAtPort);
}

http::Transport& HttpFrontend::transport() {
  if (port_) return checked(port_->both);
  return socket_;
}

void HttpFrontend::configure(const config::Config& config) {
  const Limits now = limits(config, descriptors_, port_ != nullptr);
  socket_.set_limits(now.socket);
  if (port_) checked(port_->server).set_limits(checked(now.port));
}

void HttpFrontend::flush() {
  socket_.flush();
  if (port_) checked(port_->server).flush();
}

std::size_t HttpFrontend::connections() const {
  return socket_.connections() + (port_ ? checked(port_->server).connections() : 0);
}

}  // namespace berth::server
