// SPDX-License-Identifier: Apache-2.0
// Reaps children that have ended or are about to: at once, or as soon as they can be. The event
// loop's thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

namespace berth::server {

class ChildReaper {
 public:
  explicit ChildReaper(boost::asio::io_context& io) : timer_(io) {}
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;
  ~ChildReaper() = default;

  void add(pid_t child);

 private:
  void reap();

  boost::asio::steady_timer timer_;
  std::chrono::milliseconds pause_{};  // Until it looks again.
  std::vector<pid_t> children_;
};

}  // namespace berth::server
