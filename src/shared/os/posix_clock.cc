// SPDX-License-Identifier: Apache-2.0
// The one place that reads the machine's clocks.
#include <ctime>

#include "base/check.h"
#include "os/clock.h"

namespace berth::os {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

timespec read_clock(clockid_t clock) {
  timespec time{};
  CHECK(::clock_gettime(clock, &time) == 0);
  return time;
}

}  // namespace

Instant PosixClock::now() const {
  const timespec time = read_clock(CLOCK_BOOTTIME);
  return {time.tv_sec * kNsPerSecond + time.tv_nsec};
}

UnixMs PosixClock::wall() const {
  const timespec time = read_clock(CLOCK_REALTIME);
  return {time.tv_sec * 1'000 + time.tv_nsec / kNsPerMs};
}

}  // namespace berth::os
