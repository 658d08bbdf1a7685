// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "os/clock.h"
#include "os/errors.h"
#include "wire/limits.h"

namespace berth::client {
namespace {

Error disconnected() {
  return {Errc::kUnavailable, "the daemon closed the connection; berth daemon status says more"};
}

std::string body_of(const HttpRequest& question) {
  const RouteRow& row = row_of(question.route);
  if (row.method == Method::kGet) return {};
  // What says nothing fits everywhere: all fields are at their defaults.
  CHECK(question.body.index() == row.body || std::holds_alternative<NoBody>(question.body));
  return wire::encode(question.body);
}

}  // namespace

Connection::Connection(os::UniqueFd socket, wire::ClientHello hello)
    : socket_(std::move(socket)), hello_(std::move(hello)) {}

Result<Answer> Connection::ask(const HttpRequest& question, Duration within) {
  TRY_STATUS(begin(question));
  return finish(within);
}

Status Connection::begin(const HttpRequest& question) {
  return send_text(row_of(question.route).method, wire::target_of(question.route, question.lease),
                   body_of(question), false);
}

Status Connection::begin(const std::string& target) {
  return send_text(wire::Method::kGet, target, "", false);
}

Result<Answer> Connection::get(const std::string& target, Duration within) {
  TRY_STATUS(begin(target));
  return finish(within);
}

Result<Answer> Connection::finish(Duration within) {
  TRY(arrival, wait(within));
  if (Answer* answer = std::get_if<Answer>(&arrival)) return std::move(*answer);
  return Error{Errc::kCorrupt, "the daemon answered with a stream of events where none was asked"};
}

Status Connection::send(const HttpRequest& question) {
  return send_text(row_of(question.route).method, wire::target_of(question.route, question.lease),
                   body_of(question), true);
}

Status Connection::send_text(wire::Method method, const std::string& target,
                             const std::string& body, bool stream) {
  // An answer that never came: the caller was told so, and nothing can follow in this
  // connection.
  if (response_.has_value()) {
    return Error{Errc::kUnavailable, "the connection to the daemon is lost"};
  }
  std::string text(to_text(method));
  text += " " + target + " HTTP/1.1\r\nHost: berth\r\n";
  text += std::string(wire::kHelloHeader) + ": " + encode_hello(hello_) + "\r\n";
  if (stream) text += "Accept: text/event-stream\r\n";
  if (method == wire::Method::kPost) {
    text += "Content-Type: application/json\r\n";
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  text += "\r\n" + body;
  TRY_STATUS(write_all(text));
  response_.emplace(wire::limits::kAnswerMax);
  heard_ = false;
  met_ = false;
  is_stream_ = false;
  events_reader_ = {};
  return Unit{};
}

// The socket has a time limit on sending: a daemon that reads nothing stops nobody for ever.
Status Connection::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return Error{Errc::kTimedOut, "the daemon does not read what it is sent"};
    } else if (errno == EPIPE || errno == ECONNRESET) {
      // It may have said why before it closed: that is read instead.
      return Unit{};
    } else if (errno != EINTR) {
      return os::system_error("cannot write to the daemon", errno);
    }
  }
  return Unit{};
}

Result<std::optional<Arrival>> Connection::receive() {
  CHECK(response_.has_value());
  while (true) {
    if (std::optional<Arrival> arrival = take()) return arrival;
    std::array<char, 65'536> bytes;
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      heard_ = true;
      TRY_STATUS(digest({bytes.data(), static_cast<std::size_t>(count)}));
    } else if (count == 0 || errno == ECONNRESET) {
      return disconnected();
    } else if (errno == EAGAIN) {
      return std::optional<Arrival>();
    } else if (errno != EINTR) {
      return os::system_error("cannot read from the daemon", errno);
    }
  }
}

// What is whole among the bytes that were read.
std::optional<Arrival> Connection::take() {
  if (!events_.empty()) {
    wire::SseEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  auto& response = checked(response_);
  if (!response.complete()) return std::nullopt;
  Answer answer{.status = response.head().status, .body = response.take_body()};
  response_.reset();
  if (is_stream_) return StreamEnded{};
  return answer;
}

Status Connection::digest(std::string_view bytes) {
  auto& response = checked(response_);
  TRY(used, response.feed(bytes));
  if (used < bytes.size()) {
    return Error{Errc::kCorrupt, "the daemon said more than it was asked"};
  }
  if (!response.has_head()) return Unit{};
  if (!std::exchange(met_, true)) TRY_STATUS(meet_daemon(response.head()));
  if (!is_stream_) return Unit{};
  TRY(events, events_reader_.feed(response.take_body()));
  std::ranges::move(events, std::back_inserter(events_));
  return Unit{};
}

// Before anything it says is believed: is it ours, of our world, and of a version we understand?
Status Connection::meet_daemon(const ResponseHead& head) {
  is_stream_ = head.content_type == "text/event-stream";
  if (head.hello.empty()) {
    return Error{Errc::kVersion, "what listens there is no berthd: its answer lacks the header " +
                                     std::string(wire::kHelloHeader)};
  }
  TRY(hello, wire::decode_server_hello(head.hello));
  TRY_STATUS(wire::check_worlds(hello_.world, hello.world));
  TRY_STATUS(wire::check_versions({hello_.api, hello_.version}, {hello.api, hello.version}));
  daemon_ = std::move(hello);
  return Unit{};
}

Result<Arrival> Connection::wait(Duration within) {
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  while (true) {
    TRY(arrival, receive());
    if (arrival) return *std::move(arrival);
    const Duration left = until - clock.now();
    if (left.ns <= 0) {
      return Error{Errc::kTimedOut, "the daemon does not answer; berth daemon status says more"};
    }
    pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const std::int64_t left_ms = std::min(left, hours(1)).ns / milliseconds(1).ns + 1;
    ::poll(&wanted, 1, static_cast<int>(left_ms));
  }
}

}  // namespace berth::client
