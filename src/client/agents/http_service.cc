// SPDX-License-Identifier: Apache-2.0
#include "agents/http_service.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>
#include <variant>

#include "http/door_keeper.h"
#include "http/loopback.h"
#include "os/users.h"
#include "wire/error.h"

namespace berth::agents {
namespace {

constexpr http::Limits kLimits = {
    .connections = 256, .connections_per_user = 256, .idle_within = http::kPortIdleFor};

// Of TCP the kernel does not know who is at the other end: who brings the token acts for its owner.
Result<os::Peer> owner_of_token(int /*socket*/) {
  return os::Peer{.user = os::own_user()};
}

}  // namespace

HttpService::HttpService(Ports ports)
    : tools_(ports.tools),
      door_(std::move(ports.door)),
      endpoint_(ports.catalog, http::new_secret),
      server_(io_, std::move(ports.listening), *this, clock_, kLimits, "",
              door_ ? http::Server::PeerOf(owner_of_token) : os::peer_of),
      timer_(io_) {}

void HttpService::run() {
  boost::asio::signal_set signals(io_, SIGINT, SIGTERM);
  signals.async_wait([this](const auto& code, int /*signal*/) {
    if (!code) io_.stop();
  });
  while (!io_.stopped()) {
    // (That a wait was given up is an event of the loop's, too, and no reason to look again.)
    if (std::exchange(is_due_, false)) turn();
    server_.flush();
    io_.run_one();
  }
  perform(endpoint_.close());
  server_.flush();
}

void HttpService::opened(ConnectionId /*connection*/, const os::Peer& /*peer*/) {}

void HttpService::requested(ConnectionId connection, http::Request request) {
  if (door_) {
    if (const auto refused = wire::refused_at(*door_, http::at_the_door(request))) {
      return server_.answer(
          connection, {.status = refused->status, .body = wire::encode_error(refused->error)});
    }
  }
  is_due_ = true;
  const mcp::ExchangeId exchange{++last_exchange_};
  exchanges_.emplace(exchange, connection);
  under_way_.insert_or_assign(connection, exchange);
  perform(endpoint_.receive(exchange,
                            {.method = request.method,
                             .path = http::path_of(request.target),
                             .body = request.body,
                             .header = [&](std::string_view name) { return request.header(name); },
                             .takes_events = request.wants_stream && request.chunks}));
}

void HttpService::closed(ConnectionId connection) {
  const auto found = under_way_.find(connection);
  if (found == under_way_.end()) return;
  const mcp::ExchangeId exchange = found->second;
  under_way_.erase(found);
  is_due_ = true;
  if (exchanges_.erase(exchange) > 0) perform(endpoint_.on_disconnect(exchange));
}

void HttpService::perform(const mcp::HttpReply& reply) {
  const auto found = exchanges_.find(reply.exchange);
  if (found == exchanges_.end()) return;
  http::Answer answer{.status = reply.status, .body = reply.body};
  if (!reply.session.empty()) {
    answer.headers.emplace_back(std::string(mcp::kSessionHeader), reply.session);
  }
  if (reply.status == 405) answer.headers.emplace_back("Allow", "POST, DELETE");
  server_.answer(found->second, answer);
  exchanges_.erase(found);
}

void HttpService::perform(const mcp::HttpEvent& event) {
  const auto found = exchanges_.find(event.exchange);
  if (found == exchanges_.end()) return;
  const ConnectionId connection = found->second;
  if (!event.line.empty())
    server_.stream(connection, "event: message\ndata: " + event.line + "\n\n");
  if (!event.is_last) return;
  server_.end_stream(connection);
  exchanges_.erase(found);
}

void HttpService::perform(const mcp::EndpointEffects& effects) {
  const Instant now = clock_.now();
  for (const mcp::EndpointEffect& effect : effects) {
    if (const auto* reply = std::get_if<mcp::HttpReply>(&effect)) perform(*reply);
    if (const auto* event = std::get_if<mcp::HttpEvent>(&effect)) perform(*event);
    if (const auto* call = std::get_if<mcp::BeginCall>(&effect)) tools_.begin(*call, now);
    if (const auto* call = std::get_if<mcp::CancelCall>(&effect)) tools_.cancel(call->call);
    if (const auto* answer = std::get_if<mcp::Answered>(&effect)) tools_.answered(*answer, now);
  }
}

void HttpService::turn() {
  tools_.look(clock_.now());
  for (std::vector<News> all = tools_.take_news(); !all.empty(); all = tools_.take_news()) {
    for (const News& news : all) {
      if (const auto* done = std::get_if<Finished>(&news)) {
        perform(endpoint_.finish(done->call, done->outcome));
      } else if (const auto* far = std::get_if<Advanced>(&news)) {
        perform(endpoint_.progress(far->call, far->progress));
      } else if (const auto* asks = std::get_if<Asks>(&news)) {
        perform(endpoint_.ask(asks->call, asks->question));
      } else if (const auto* tells = std::get_if<Tells>(&news)) {
        perform(endpoint_.tell(tells->call, tells->method, tells->params));
      } else if (const auto* changed = std::get_if<Changed>(&news)) {
        perform(endpoint_.resource_changed(changed->uri));
      }
    }
  }
  watch();
}

// Copies, as the tools close theirs when they like. What is seen is looked at in the next turn.
void HttpService::watch() {
  watched_.clear();
  for (const int descriptor : tools_.descriptors()) {
    const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    watched_.push_back(std::make_unique<Watched>(io_, copy));
    watched_.back()->async_wait(Watched::wait_read, [this](const auto& code) {
      if (!code) is_due_ = true;
    });
  }
  const Instant at = tools_.wake_at();
  if (at == Instant::never()) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::nanoseconds((at - clock_.now()).ns));
  timer_.async_wait([this](const auto& code) {
    if (!code) is_due_ = true;
  });
}

}  // namespace berth::agents
