// SPDX-License-Identifier: Apache-2.0
#include "server/berth_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "os/child.h"
#include "os/errors.h"
#include "os/programs.h"
#include "os/unique_fd.h"

namespace berth::server {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr auto kEndsWithin = std::chrono::seconds(20);

}  // namespace

struct BerthRunner::Running {
  Running(boost::asio::io_context& io, pid_t pid, os::UniqueFd from)
      : child(pid), end(std::move(from)), output(io, end.get()), deadline(io) {}
  ~Running() { output.release(); }  // It closes itself.
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t child;
  os::UniqueFd end;
  Descriptor output;
  boost::asio::steady_timer deadline;
  Then then;
  std::string printed;
};

BerthRunner::BerthRunner(boost::asio::io_context& io, std::string socket)
    : io_(io), socket_(std::move(socket)), reaper_(io) {}

BerthRunner::~BerthRunner() {
  for (const auto& [number, running] : running_) (void)::kill(-running->child, SIGKILL);
}

Result<std::unique_ptr<BerthRunner::Running>> BerthRunner::start(
    std::vector<std::string> arguments) const {
  if (running_.size() >= kAtOnce) {
    return Error{Errc::kConflict, "the daemon runs " + std::to_string(kAtOnce) +
                                      " programs for pages already: try again"};
  }
  TRY(program, os::sibling_program("berth"));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_error("cannot make a pipe", errno);
  os::UniqueFd ours(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  (void)::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  const os::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return os::system_error("cannot open /dev/null", errno);
  os::SpawnPlan plan{.words = {program},
                     .variables = {{"BERTH_SOCKET", socket_}, {"BERTH_NO_AUTOSTART", "1"}},
                     .standard = {nothing.get(), theirs.get(), nothing.get()},
                     .apart = os::Apart::kSession};
  plan.words.insert(plan.words.end(), arguments.begin(), arguments.end());
  TRY(pid, os::spawn(plan));
  return std::make_unique<Running>(io_, pid, std::move(ours));
}

void BerthRunner::run(std::vector<std::string> arguments, Then then) {
  const std::string verb = arguments.empty() ? "berth" : "berth " + arguments.front();
  Result<std::unique_ptr<Running>> started = start(std::move(arguments));
  if (!started.ok()) {
    boost::asio::post(io_, [then = std::move(then), error = started.error()] { then(error); });
    return;
  }
  const std::uint64_t number = ++last_number_;
  Running& running = **started;
  running.then = std::move(then);
  running.deadline.expires_after(kEndsWithin);
  running.deadline.async_wait([this, number, verb](const boost::system::error_code& code) {
    if (!code) finish(number, Error{Errc::kTimedOut, verb + " has not ended within 20 s"});
  });
  running_.emplace(number, *std::move(started));
  wait_readable(number);
}

void BerthRunner::wait_readable(std::uint64_t number) {
  running_.at(number)->output.async_wait(Descriptor::wait_read,
                                         [this, number](const boost::system::error_code& code) {
                                           if (!code && running_.contains(number)) readable(number);
                                         });
}

void BerthRunner::readable(std::uint64_t number) {
  Running& running = *running_.at(number);
  std::array<char, 65'536> chunk;
  const ssize_t length = ::read(running.end.get(), chunk.data(), chunk.size());
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return wait_readable(number);
  if (length > 0) {
    running.printed.append(chunk.data(), static_cast<std::size_t>(length));
    if (running.printed.size() <= kPrintedMax) return wait_readable(number);
    return finish(number, Error{Errc::kFull, "berth prints more than 2 MiB"});
  }
  if (running.printed.ends_with('\n')) running.printed.pop_back();
  const std::string printed = std::move(running.printed);
  finish(number, printed);
}

void BerthRunner::finish(std::uint64_t number, const Result<std::string>& printed) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const Then then = std::move(found->second->then);
  // It has said all that it had to say, and is not reaped yet: the number is still its own.
  (void)::kill(-found->second->child, SIGKILL);
  reaper_.add(found->second->child);
  running_.erase(found);
  then(printed);
}

}  // namespace berth::server
