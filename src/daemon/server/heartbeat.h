// SPDX-License-Identifier: Apache-2.0
// Signs of life for a service manager that wants them (WatchdogSec= of systemd): twice in the time
// after which it takes a daemon for hung and starts another one. They come from the event loop, and
// stop with it. Its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/units.h"
#include "server/notify_socket.h"

namespace berth::server {

class Heartbeat {
 public:
  /// Absent: nobody wants any. `notify` is to outlive it.
  Heartbeat(boost::asio::io_context& io, const NotifySocket& notify,
            std::optional<Duration> within);

  /// The time that WATCHDOG_USEC names, where WATCHDOG_PID, if it is there, is this process.
  static std::optional<Duration> wanted();

 private:
  void await();

  boost::asio::steady_timer timer_;
  const NotifySocket& notify_;
  Duration every_{};
};

}  // namespace berth::server
