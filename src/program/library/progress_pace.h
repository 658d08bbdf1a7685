// SPDX-License-Identifier: Apache-2.0
// Pace at which reports of progress are passed on: a step of a program may take a millisecond, and
// the daemon need not hear of each. One thread at a time, but is_due() in any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace berth::library {

class ProgressPace {
 public:
  /// `all_done`: that is worth telling at once, if it was not told already.
  bool is_due(Instant now, bool all_done) const {
    if (now.ns >= next_ns_.load(std::memory_order_relaxed)) return true;
    return all_done && !finished_.load(std::memory_order_relaxed);
  }
  void sent(Instant now, bool all_done) {
    finished_ = all_done;
    next_ns_ = (now + kEvery).ns;
  }
  /// Nobody answers: a program is not to wait for that again and again.
  void unheard(Instant now) {
    finished_ = true;
    next_ns_ = (now + kAfterSilence).ns;
  }

  static constexpr Duration kEvery = seconds(1);
  static constexpr Duration kAfterSilence = seconds(10);

 private:
  std::atomic<std::int64_t> next_ns_{0};
  std::atomic<bool> finished_{false};
};

}  // namespace berth::library
