// SPDX-License-Identifier: Apache-2.0
#include "server/boot_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "os/errors.h"

namespace berth::server {

using boost::asio::posix::stream_descriptor;

Result<os::UniqueFd> BootTimer::open_descriptor() {
  os::UniqueFd descriptor(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!descriptor) return os::system_error("cannot make a timer", errno);
  return descriptor;
}

BootTimer::BootTimer(boost::asio::io_context& io, os::UniqueFd descriptor,
                     std::function<void()> due)
    : descriptor_(io, descriptor.release()), due_(std::move(due)) {
  wait();
}

void BootTimer::set(Instant at) {
  if (at == at_) return;
  at_ = at;
  itimerspec when{};
  if (at != Instant::never()) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t ns = std::max<std::int64_t>(at.ns, 1);  // 0 would disarm it.
    when.it_value.tv_sec = ns / kSecond;
    when.it_value.tv_nsec = ns % kSecond;
  }
  CHECK(::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr) == 0);
}

void BootTimer::wait() {
  descriptor_.async_wait(
      stream_descriptor::wait_read, [this](const boost::system::error_code& code) {
        if (code) return;
        std::uint64_t times = 0;
        const bool rang = ::read(descriptor_.native_handle(), &times, sizeof times) == sizeof times;
        wait();
        if (!rang) return;  // Set again in the meantime.
        at_ = Instant::never();
        due_();
      });
}

}  // namespace berth::server
