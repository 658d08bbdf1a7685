// SPDX-License-Identifier: Apache-2.0
#include "server/mover_runner.h"

#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "gpu/mover.h"

namespace berth::server {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::size_t kLineMax = 64U << 10U;

// The slowest that was told of is some 5 GB/s, and a driver that is slower by ten is still waited
// for; beside that for locks and for what does not depend on the size.
constexpr Duration kWithin = minutes(1);
constexpr std::uint64_t kBytesPerSecond = 500'000'000;

Duration time_for(const core::Transfer& move) {
  return kWithin + seconds(static_cast<std::int64_t>(move.bytes.value / kBytesPerSecond));
}

}  // namespace

struct MoverRunner::Running {
  Running(boost::asio::io_context& io, os::Child started, LeaseId of)
      : child(std::move(started)), lease(of), readable(io, child.socket.get()), deadline(io) {}
  ~Running() { readable.release(); }  // The socket closes itself.
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  os::Child child;
  LeaseId lease;
  stream_descriptor readable;
  boost::asio::steady_timer deadline;
  std::string received;
};

MoverRunner::MoverRunner(boost::asio::io_context& io, os::ChildPlan plan,
                         std::function<void(core::TransferDone)> done)
    : io_(io), plan_(std::move(plan)), done_(std::move(done)), reaper_(io) {}

// What is under way ends with this process: the next daemon finds the processes wherever they are.
MoverRunner::~MoverRunner() = default;

// What it is told has no place on a command line; see mover_task.h.
Result<os::Child> MoverRunner::start(const gpu::MoverTask& task) {
  TRY(child, os::start_child(plan_));
  const std::string text = gpu::encode_mover_task(task);
  const ssize_t sent = ::send(child.socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(text.size())) return child;
  (void)::kill(child.pid, SIGKILL);
  reaper_.add(child.pid);
  return Error{Errc::kIo, "berth-mover does not take what it is told"};
}

void MoverRunner::move(const core::Transfer& move, const std::string& directory) {
  Result<os::Child> child = start({.directory = directory,
                                   .lease = move.lease,
                                   .user = move.user,
                                   .direction = move.direction,
                                   .bytes = move.bytes,
                                   .supervisor = move.supervisor,
                                   .measure = move.measure,
                                   .pairs = move.pairs,
                                   .processes = move.processes});
  if (!child.ok()) {
    core::TransferDone failed{move.lease, move.number, {}};
    failed.result = {.outcome = TransferResult::Outcome::kUndone, .trouble = child.error().message};
    boost::asio::post(io_, [this, failed = std::move(failed)] { done_(failed); });
    return;
  }
  auto running = std::make_unique<Running>(io_, *std::move(child), move.lease);
  const Duration within = time_for(move);
  running->deadline.expires_after(std::chrono::nanoseconds(within.ns));
  running->deadline.async_wait([this, number = move.number, within](const error_code& code) {
    if (code) return;
    finish(number, {.outcome = TransferResult::Outcome::kStuck,
                    .trouble = "the GPU driver has not answered for " + to_text(within)});
  });
  running_.emplace(move.number, std::move(running));
  wait_readable(move.number);
}

void MoverRunner::wait_readable(std::uint64_t number) {
  running_.at(number)->readable.async_wait(stream_descriptor::wait_read,
                                           [this, number](const error_code& code) {
                                             if (!code && running_.contains(number)) {
                                               readable(number);
                                             }
                                           });
}

void MoverRunner::readable(std::uint64_t number) {
  Running& running = *running_.at(number);
  std::array<char, 4096> chunk;
  const ssize_t length =
      ::recv(running.child.socket.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return wait_readable(number);
  }
  if (length > 0) running.received.append(chunk.data(), static_cast<std::size_t>(length));
  const bool whole = running.received.ends_with('\n');
  if (length > 0 && !whole && running.received.size() < kLineMax) return wait_readable(number);
  Result<TransferResult> result = gpu::decode_move_result(running.received);
  if (result.ok()) return finish(number, *std::move(result));
  finish(number, {.outcome = TransferResult::Outcome::kStuck,
                  .trouble = whole ? result.error().message
                                   : "berth-mover ended before it said what came of it"});
}

// One that hangs in the driver is dead when it comes out of it: nobody waits for that.
void MoverRunner::finish(std::uint64_t number, TransferResult result) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const core::TransferDone done{found->second->lease, number, std::move(result)};
  const pid_t child = found->second->child.pid;
  running_.erase(found);
  if (done.result.outcome == TransferResult::Outcome::kStuck) (void)::kill(child, SIGKILL);
  reaper_.add(child);
  done_(done);
}

}  // namespace berth::server
