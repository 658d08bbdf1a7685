// SPDX-License-Identifier: Apache-2.0
#include "server/deliver_runner.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "os/programs.h"

namespace berth::server {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr auto kAnswersWithin = std::chrono::seconds(30);  // It gives up by itself before.
constexpr std::size_t kAnswerMax = 4'096;

wire::DeliveryOutcome failed(std::string reason) {
  return {.kind = wire::DeliveryOutcome::Kind::kRetry, .reason = std::move(reason)};
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

DeliverRunner::DeliverRunner(boost::asio::io_context& io) : io_(io) {}
DeliverRunner::~DeliverRunner() = default;

Result<os::Child> DeliverRunner::start(const wire::Delivery& delivery) {
  TRY(program, os::sibling_program("berth-deliver"));
  TRY(child, os::start_child({.program = program, .arguments = {}, .library_path = {}}));
  const std::string line = wire::encode_delivery(delivery);
  const ssize_t sent = ::send(child.socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(line.size())) return child;
  (void)::kill(child.pid, SIGKILL);
  children_.push_back(child.pid);
  return Error{Errc::kIo, "berth-deliver does not take the message"};
}

void DeliverRunner::deliver(const wire::Delivery& delivery, Then then) {
  Result<os::Child> child = start(delivery);
  if (!child.ok()) {
    boost::asio::post(
        io_, [then = std::move(then), outcome = failed(child.error().message)] { then(outcome); });
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

void DeliverRunner::finish(std::uint64_t number, const wire::DeliveryOutcome& outcome) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const Then then = std::move(found->second->then);
  const pid_t child = found->second->child.pid;
  running_.erase(found);
  (void)::kill(child, SIGKILL);  // It has said all that it had to say; reaped below, never before.
  children_.push_back(child);
  std::erase_if(children_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  then(outcome);
}

}  // namespace berth::server
