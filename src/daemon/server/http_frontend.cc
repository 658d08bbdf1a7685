// SPDX-License-Identifier: Apache-2.0
#include "server/http_frontend.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "os/files.h"
#include "os/processes.h"
#include "os/random.h"
#include "os/users.h"
#include "wire/door.h"

namespace berth::server {
namespace {

constexpr std::size_t kPortConnectionsMax = 512;
constexpr std::size_t kSessionsFileMax = std::size_t{4} << 20U;
using Sessions = std::vector<wire::BrowserSession>;
constexpr std::uint64_t kDescriptorsInHand = 512;  // For processes, files and refusals.
constexpr ConnectionId kFirstAtPort{std::uint64_t{1} << 63U};
constexpr std::uint64_t kConnectionsOfAPort = std::uint64_t{1} << 40U;  // More than it can have.

Result<os::Peer> owner_of_token(int /*socket*/) {
  return os::Peer{.user = os::own_user()};
}

/// Port 0: one that is free.
Result<TokenPort> token_port(std::uint16_t port, const std::string& state_dir) {
  TRY(token, http::secret_in(state_dir + "/token"));
  TRY(bound, http::listen_on_loopback(port));
  return TokenPort{.bound = std::move(bound), .token = std::move(token)};
}

std::string sessions_path(const std::string& state_dir) {
  return state_dir + "/sessions";
}

/// Those that a daemon before this one kept; none where that cannot be read.
std::vector<wire::BrowserSession> kept_sessions(
    const std::string& path, const std::function<void(const std::string&)>& warn) {
  if (!os::exists(path)) return {};
  auto text = os::read_private_file(path, kSessionsFileMax);
  auto read = text.ok() ? wire::decode_kept_sessions(*text) : Result<Sessions>(text.error());
  if (read.ok()) return *std::move(read);
  warn("the sessions of browsers are forgotten: " + read.error().message);
  return {};
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
  TRY(port, token_port(static_cast<std::uint16_t>(config.http_port), paths.state_dir));
  entrances.port.emplace(std::move(port));
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
                           const os::Clock& clock, Settings settings)
    : io_(io),
      behind_(behind),
      clock_(clock),
      settings_(std::move(settings)),
      berth_(io, entrances.socket.path()),
      socket_(io, entrances.socket.take(), behind, clock,
              limits(settings_.config, settings_.descriptors, entrances.port.has_value()).socket,
              settings_.hello),
      both_(socket_, kFirstAtPort),
      first_at_port_(kFirstAtPort),
      look_(io) {
  const std::string path = sessions_path(settings_.state_dir);
  sessions_.restore(kept_sessions(path, settings_.warn), clock.wall());
  if (entrances.port) listen_at(*std::move(entrances.port));
}

void HttpFrontend::listen_at(TokenPort port) {
  address_ = "http://127.0.0.1:" + std::to_string(port.bound.port);
  const wire::Door door{.port = port.bound.port,
                        .token = std::move(port.token),
                        .open_metrics = settings_.config.daemon.open_metrics};
  port_ = std::make_unique<AtPort>(door,
                                   PageDoor::Ports{.behind = behind_,
                                                   .sessions = sessions_,
                                                   .sessions_changed = [this] { keep_sessions(); },
                                                   .clock = clock_});
  const Limits bounds = limits(settings_.config, settings_.descriptors, true);
  http::Server& server =
      port_->server.emplace(io_, std::move(port.bound.socket), port_->browsers, clock_,
                            checked(bounds.port), settings_.hello, owner_of_token, first_at_port_);
  first_at_port_.value += kConnectionsOfAPort;
  port_->programs.connect(server);
  port_->browsers.connect(server);
  both_.add_second(server);
}

Status HttpFrontend::open_port() {
  if (port_) return Unit{};
  TRY(port, token_port(0, settings_.state_dir));
  listen_at(std::move(port));
  configure(settings_.config);
  look_later();
  return Unit{};
}

void HttpFrontend::look_later() {
  look_.expires_after(std::chrono::nanoseconds(settings_.look_every.ns));
  look_.async_wait([this](const boost::system::error_code& code) {
    if (!code) close_port_if_unused();
  });
}

void HttpFrontend::close_port_if_unused() {
  sessions_.forget_old(clock_.wall());
  if (!sessions_.is_empty() || checked(port_->server).connections() > 0) return look_later();
  both_.remove_second();
  port_.reset();
  address_.clear();
  configure(settings_.config);
}

void HttpFrontend::keep_sessions() {
  const Status kept = os::write_file_atomically(sessions_path(settings_.state_dir),
                                                wire::encode_kept_sessions(sessions_.sessions()),
                                                0600, os::Sync::kNone);
  if (!kept.ok())
    settings_.warn("sessions of browsers end with this daemon: " + kept.error().message);
}

Result<wire::DashboardCode> HttpFrontend::dashboard(UserId user, const DashboardBody& asked) {
  if (asked.revoke) {
    const std::size_t ended = sessions_.revoke(user);
    keep_sessions();
    return wire::DashboardCode{.address = address_, .revoked = ended};
  }
  TRY_STATUS(open_port());
  const std::string code = wire::code_of(os::random_number());
  const UnixMs now = clock_.wall();
  sessions_.add_code(code, {.user = user, .may_act = !asked.read_only}, now);
  const std::int64_t valid_ms = wire::BrowserSessions::kCodeFor.ns / milliseconds(1).ns;
  return wire::DashboardCode{
      .address = address_, .code = code, .expires = UnixMs{now.value + valid_ms}};
}

http::Transport& HttpFrontend::transport() {
  return both_;
}

BerthRunner::Run HttpFrontend::berth() {
  return [this](std::vector<std::string> words, BerthRunner::Then then) {
    berth_.run(std::move(words), std::move(then));
  };
}

void HttpFrontend::configure(const config::Config& config) {
  const Limits now = limits(config, settings_.descriptors, port_ != nullptr);
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
