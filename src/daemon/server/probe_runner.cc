// SPDX-License-Identifier: Apache-2.0
#include "server/probe_runner.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace berth::server {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

ProbeRunner::ProbeRunner(boost::asio::io_context& io, const os::Clock& clock,
                         gpu::Probe::Options options,
                         std::function<void(gpu::Probe::Outcome)> answered)
    : io_(io),
      clock_(clock),
      probe_(std::move(options)),
      answered_(std::move(answered)),
      time_(io) {}

void ProbeRunner::ask() {
  asked_at_ = clock_.now();
  probe_.ask(asked_at_);
  follow();
}

/// After each call to the probe: which descriptor and which instant count now.
void ProbeRunner::follow() {
  readable_.reset();
  if (probe_.busy() && probe_.descriptor() >= 0) {
    const int duplicate = ::fcntl(probe_.descriptor(), F_DUPFD_CLOEXEC, 0);
    // Without a descriptor to spare, the deadline is looked at, and the answer with it.
    if (duplicate >= 0) {
      readable_ = std::make_unique<stream_descriptor>(io_, duplicate);
      wait_readable();
    }
  }
  wait_time();
}

void ProbeRunner::wait_readable() {
  readable_->async_wait(stream_descriptor::wait_read, [this](const error_code& code) {
    if (!code) finish(probe_.on_readable(clock_.now()));
  });
}

void ProbeRunner::wait_time() {
  const Instant at = probe_.busy() ? probe_.wake_at() : asked_at_ + kRestAfter;
  if (at == Instant::never()) return;
  const Duration left = at - clock_.now();
  time_.expires_after(std::chrono::nanoseconds(std::max<std::int64_t>(left.ns, 0)));
  time_.async_wait([this](const error_code& code) {
    if (code) return;
    if (probe_.busy()) return finish(probe_.on_time(clock_.now()));
    if (clock_.now() >= asked_at_ + kRestAfter) probe_.rest();
  });
}

void ProbeRunner::finish(std::optional<gpu::Probe::Outcome> outcome) {
  follow();
  if (outcome) answered_(*std::move(outcome));
}

}  // namespace berth::server
