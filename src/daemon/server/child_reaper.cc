// SPDX-License-Identifier: Apache-2.0
#include "server/child_reaper.h"

#include <sys/wait.h>

#include <algorithm>

namespace berth::server {
namespace {

constexpr std::chrono::milliseconds kFirstPause{10};
// A child that hangs in the driver dies when it comes out of it.
constexpr std::chrono::milliseconds kLongestPause{10'000};

}  // namespace

void ChildReaper::add(pid_t child) {
  children_.push_back(child);
  pause_ = kFirstPause;
  reap();
}

void ChildReaper::reap() {
  std::erase_if(children_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (children_.empty()) return;
  timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  timer_.async_wait([this](const boost::system::error_code& code) {
    if (!code) reap();
  });
}

}  // namespace berth::server
