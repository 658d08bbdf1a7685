// SPDX-License-Identifier: Apache-2.0
#include "server/deliver_runner.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "os/errors.h"
#include "os/files.h"
#include "os/programs.h"
#include "os/secret.h"

namespace berth::server {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr auto kAnswersWithin = std::chrono::seconds(30);  // It gives up by itself before.
constexpr std::size_t kAnswerMax = 4'096;

wire::DeliveryOutcome failed(std::string reason) {
  return {.kind = wire::DeliveryOutcome::Kind::kRetry, .reason = std::move(reason)};
}

/// kInvalid: what the configuration names cannot be used, and could not be used later.
wire::DeliveryOutcome not_started(const Error& error) {
  wire::DeliveryOutcome outcome = failed(error.message);
  if (error.code == Errc::kInvalid) outcome.kind = wire::DeliveryOutcome::Kind::kRefused;
  return outcome;
}

/// What is in the daemon's files, and nobody else can read.
Result<wire::Delivery> with_secrets(wire::Delivery delivery) {
  auto* webhook = std::get_if<wire::Webhook>(&delivery.to);
  if (webhook == nullptr) return delivery;
  if (!webhook->url_file.empty()) {
    TRY(url, os::read_secret(os::webhook_file(webhook->url_file)));
    webhook->url = std::move(url);
    webhook->url_file.clear();
  }
  if (!webhook->secret_file.empty()) {
    TRY(secret, os::read_secret(os::secret_file(webhook->secret_file)));
    webhook->secret = std::move(secret);
    webhook->secret_file.clear();
  }
  return delivery;
}

Result<os::UniqueFd> connect_to(const std::string& path) {
  TRY_STATUS(os::check_socket_path(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return os::system_error("cannot make a socket", errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  if (errno != ECONNREFUSED) return os::system_error("cannot connect to " + path, errno);
  const bool command = path.ends_with("/command.sock");
  return Error{Errc::kUnavailable, "nobody listens at " + path + ": systemctl start berth-" +
                                       (command ? "command" : "deliver") + ".socket"};
}

}  // namespace

struct DeliverRunner::Running {
  Running(boost::asio::io_context& io, os::Child started, Then told)
      : child(std::move(started)),
        then(std::move(told)),
        readable(io, child.socket.get()),
        deadline(io) {}
  ~Running() { readable.release(); }  // The socket closes itself.
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  os::Child child;
  Then then;
  Descriptor readable;
  boost::asio::steady_timer deadline;
  std::string received;
};

DeliverRunner::DeliverRunner(boost::asio::io_context& io, os::Mode mode, std::string directory)
    : io_(io), mode_(mode), directory_(std::move(directory)), reaper_(io) {}
DeliverRunner::~DeliverRunner() = default;

/// Empty: there is none.
std::string DeliverRunner::socket_for(const wire::Delivery& delivery) const {
  if (mode_ == os::Mode::kUser) return {};
  const bool command = std::holds_alternative<wire::AlertCommand>(delivery.to);
  std::string path = directory_ + (command ? "/command.sock" : "/deliver.sock");
  return os::exists(path) ? path : "";
}

Result<os::Child> DeliverRunner::start(const wire::Delivery& delivery) {
  const std::string socket = socket_for(delivery);
  std::string line = wire::encode_delivery(delivery);
  os::Child child;
  if (socket.empty()) {
    TRY(program, os::sibling_program("berth-deliver"));
    TRY(started, os::start_child({.program = program, .arguments = {}, .library_path = {}}));
    child = std::move(started);
  } else {
    const Result<wire::Delivery> whole = with_secrets(delivery);
    if (!whole.ok()) return Error{Errc::kInvalid, whole.error().message};
    line = wire::encode_delivery(*whole);
    TRY(connected, connect_to(socket));
    child.socket = std::move(connected);
  }
  const ssize_t sent = ::send(child.socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(line.size())) return child;
  end(child.pid);
  return Error{Errc::kIo, "berth-deliver does not take the message"};
}

void DeliverRunner::deliver(const wire::Delivery& delivery, Then then) {
  Result<os::Child> child = start(delivery);
  if (!child.ok()) {
    boost::asio::post(
        io_, [then = std::move(then), outcome = not_started(child.error())] { then(outcome); });
    return;
  }
  auto running = std::make_unique<Running>(io_, *std::move(child), std::move(then));
  const std::uint64_t number = ++last_number_;
  running->deadline.expires_after(kAnswersWithin);
  running->deadline.async_wait([this, number](const boost::system::error_code& code) {
    if (!code) finish(number, failed("berth-deliver has not ended within 30 s"));
  });
  running_.emplace(number, std::move(running));
  wait_readable(number);
}

void DeliverRunner::wait_readable(std::uint64_t number) {
  running_.at(number)->readable.async_wait(Descriptor::wait_read,
                                           [this, number](const boost::system::error_code& code) {
                                             if (!code && running_.contains(number))
                                               readable(number);
                                           });
}

void DeliverRunner::readable(std::uint64_t number) {
  Running& running = *running_.at(number);
  std::array<char, 4'096> chunk;
  const ssize_t length =
      ::recv(running.child.socket.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return wait_readable(number);
  }
  if (length > 0) running.received.append(chunk.data(), static_cast<std::size_t>(length));
  const bool whole = running.received.ends_with('\n');
  if (length > 0 && !whole && running.received.size() < kAnswerMax) return wait_readable(number);
  const Result<wire::DeliveryOutcome> outcome = wire::decode_outcome(running.received);
  finish(number,
         whole && outcome.ok() ? *outcome : failed("berth-deliver ended without an answer"));
}

// It has said all that it had to say. What systemd has started sees its socket go.
void DeliverRunner::end(pid_t child) {
  if (child == 0) return;
  (void)::kill(child, SIGKILL);
  reaper_.add(child);
}

void DeliverRunner::finish(std::uint64_t number, const wire::DeliveryOutcome& outcome) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const Then then = std::move(found->second->then);
  const pid_t child = found->second->child.pid;
  running_.erase(found);
  end(child);
  then(outcome);
}

}  // namespace berth::server
