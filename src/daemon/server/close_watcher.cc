// SPDX-License-Identifier: Apache-2.0
#include "server/close_watcher.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

namespace berth::server {

using boost::system::error_code;

CloseWatcher::CloseWatcher(boost::asio::io_context& io,
                           std::function<void(const std::set<Handle>&)> closed)
    : events_(io), timer_(io), closed_(std::move(closed)) {
  const int events = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events < 0) return;
  events_.assign(events);
  await();
}

void CloseWatcher::watch(Handle lease, const std::string& path) {
  if (!events_.is_open()) return;
  const int number = ::inotify_add_watch(events_.native_handle(), path.c_str(), IN_CLOSE_WRITE);
  if (number >= 0) watched_[number] = lease;
}

void CloseWatcher::await() {
  events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const error_code& code) {
                       if (code) return;
                       timer_.expires_after(std::chrono::nanoseconds(kLater.ns));
                       timer_.async_wait([this](const error_code& ended) {
                         if (!ended) notify();
                       });
                     });
}

// The kernel drops what it has no room for; then it may have been any of them.
void CloseWatcher::notify() {
  std::set<Handle> closed;
  std::array<char, 16384> bytes{};
  for (;;) {
    const ssize_t count = ::read(events_.native_handle(), bytes.data(), bytes.size());
    if (count <= 0) break;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [number, lease] : watched_) closed.insert(lease);
      }
      const auto watched = watched_.find(event.wd);
      if (watched == watched_.end()) continue;
      closed.insert(watched->second);
      if ((event.mask & IN_IGNORED) != 0) watched_.erase(watched);
    }
  }
  if (!closed.empty()) closed_(closed);
  await();
}

std::unique_ptr<CloseWatcher> watch_ledgers(boost::asio::io_context& io, BudgetFiles& files,
                                            const std::function<void()>& died) {
  auto watcher = std::make_unique<CloseWatcher>(io, [&files, died](const std::set<Handle>& leases) {
    files.expect_dead(leases);
    died();
  });
  CloseWatcher* const watching = watcher.get();
  files.on_made(
      [watching](Handle lease, const std::string& path) { watching->watch(lease, path); });
  return watcher;
}

}  // namespace berth::server
