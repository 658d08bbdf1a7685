// SPDX-License-Identifier: Apache-2.0
// Tells when processes end, by pidfds in the event loop. Where none can be had (no descriptor is
// left), the process is looked at each second instead, so that no end is missed. The event loop's
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/ids.h"
#include "base/result.h"

namespace berth::server {

class ProcessWatcher {
 public:
  /// `ended` is called from the event loop, once for each process.
  ProcessWatcher(boost::asio::io_context& io, std::function<void(Process)> ended);
  ~ProcessWatcher();

  /// False: it has ended already.
  bool watch(Process process);
  void unwatch(Process process);
  /// What os::is_alive() says, for less where it is watched.
  bool is_alive(Process process) const;
  /// kPermission: this user could not have sent it.
  Status signal(UserId user, Process process, int signal);

  std::size_t descriptors() const { return watched_.size(); }

 private:
  struct Watched;

  void await_end(Process process, Watched& watched);
  void report(Process process);
  void look_again();

  boost::asio::io_context& io_;
  std::function<void(Process)> ended_;
  std::map<Process, std::unique_ptr<Watched>> watched_;
  std::set<Process> looked_at_;  // Without a pidfd.
  boost::asio::steady_timer look_timer_;
};

}  // namespace berth::server
