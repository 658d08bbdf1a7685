// SPDX-License-Identifier: Apache-2.0
// One alarm on CLOCK_BOOTTIME, the clock of every Instant: it runs on while the machine sleeps, so
// that a limit that passed meanwhile is seen at once. Asio's own timers stand still then; they are
// good for what concerns connections only. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"

namespace berth::server {

class BootTimer {
 public:
  static Result<os::UniqueFd> open_descriptor();
  BootTimer(boost::asio::io_context& io, os::UniqueFd descriptor, std::function<void()> due);

  /// Replaces the earlier one; never: none.
  void set(Instant at);

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> due_;
  Instant at_ = Instant::never();
};

}  // namespace berth::server
