// SPDX-License-Identifier: Apache-2.0
#include "server/process_watcher.h"

#include <poll.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "os/processes.h"
#include "os/unique_fd.h"

namespace berth::server {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

struct ProcessWatcher::Watched {
  Watched(boost::asio::io_context& io, os::UniqueFd fd)
      : pidfd(std::move(fd)), wait(io, pidfd.get()) {}
  ~Watched() { wait.release(); }  // The pidfd closes itself.
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool has_ended() const {
    pollfd polled{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }

  os::UniqueFd pidfd;
  stream_descriptor wait;
};

ProcessWatcher::ProcessWatcher(boost::asio::io_context& io, std::function<void(Process)> ended)
    : io_(io), ended_(std::move(ended)), look_timer_(io) {}

ProcessWatcher::~ProcessWatcher() = default;

bool ProcessWatcher::watch(Process process) {
  if (watched_.contains(process) || looked_at_.contains(process)) return true;
  Result<os::UniqueFd> pidfd = os::open_pidfd(process);
  if (!pidfd.ok()) {
    if (pidfd.error().code == Errc::kNotFound || !os::is_alive(process)) return false;
    if (looked_at_.empty()) look_again();
    looked_at_.insert(process);
    return true;
  }
  auto watched = std::make_unique<Watched>(io_, *std::move(pidfd));
  await_end(process, *watched);
  watched_.emplace(process, std::move(watched));
  return true;
}

// Asio may complete a wait without cause: what it keeps of a descriptor is used again for the next
// one, and readiness that was fetched for the old one is then told to the new. A lease must not end
// for that, so the pidfd itself is asked.
void ProcessWatcher::await_end(Process process, Watched& watched) {
  watched.wait.async_wait(stream_descriptor::wait_read, [this, process](const error_code& code) {
    if (code) return;
    const auto found = watched_.find(process);
    if (found == watched_.end()) return;
    if (found->second->has_ended()) {
      report(process);
    } else {
      await_end(process, *found->second);
    }
  });
}

void ProcessWatcher::unwatch(Process process) {
  watched_.erase(process);
  looked_at_.erase(process);
}

bool ProcessWatcher::is_alive(Process process) const {
  const auto found = watched_.find(process);
  return found == watched_.end() ? os::is_alive(process) : !found->second->has_ended();
}

Status ProcessWatcher::signal(UserId user, Process process, int signal) {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return os::send_signal_for(user, process, signal);
  return os::send_signal_for(user, found->second->pidfd, process, signal);
}

void ProcessWatcher::report(Process process) {
  if (watched_.erase(process) > 0) ended_(process);
}

void ProcessWatcher::look_again() {
  look_timer_.expires_after(std::chrono::seconds(1));
  look_timer_.async_wait([this](const error_code& code) {
    if (code) return;
    std::vector<Process> ended;
    for (const Process process : looked_at_) {
      if (!os::is_alive(process)) ended.push_back(process);
    }
    for (const Process process : ended) {
      if (looked_at_.erase(process) > 0) ended_(process);
    }
    if (!looked_at_.empty()) look_again();
  });
}

}  // namespace berth::server
