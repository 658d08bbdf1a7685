// SPDX-License-Identifier: Apache-2.0
// The probe in the event loop: its child's descriptor and its deadlines. When nobody has asked for
// a while the child is ended, so that the driver can let the GPUs sleep. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "gpu/probe.h"
#include "os/clock.h"

namespace berth::server {

class ProbeRunner {
 public:
  static constexpr Duration kRestAfter = seconds(60);  // Longer than any regular question is away.

  /// `answered` is called from the event loop, once for each ask().
  ProbeRunner(boost::asio::io_context& io, const os::Clock& clock, gpu::Probe::Options options,
              std::function<void(gpu::Probe::Outcome)> answered);

  void ask();
  const gpu::Probe& probe() const { return probe_; }
  Instant asked_at() const { return asked_at_; }

 private:
  void follow();
  void wait_readable();
  void wait_time();
  void finish(std::optional<gpu::Probe::Outcome> outcome);

  boost::asio::io_context& io_;
  const os::Clock& clock_;
  gpu::Probe probe_;
  std::function<void(gpu::Probe::Outcome)> answered_;
  // A duplicate: the probe may close its own at any call, and a number that is used again must not
  // be taken for it.
  std::unique_ptr<boost::asio::posix::stream_descriptor> readable_;
  boost::asio::steady_timer time_;
  Instant asked_at_;
};

}  // namespace berth::server
