// SPDX-License-Identifier: Apache-2.0
// Tasks of the past, or of a public trace, to be played again: when each was asked for, what it
// asked for, and how long it ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/request.h"

namespace berth::replay {

struct Task {
  Instant arrives;
  Duration runs;
  Request request;
  UserId user;
};

inline constexpr std::size_t kTasksMax = 100'000;

constexpr double seconds_of(Duration time) {
  return static_cast<double>(time.ns) * 1e-9;
}

/// By arrival; each task as many times shorter as `divisor` says, its expectation too.
void shorten(std::vector<Task>& tasks, std::uint32_t divisor);
/// Each says how long it runs, as `--eta` does.
void tell_times(std::vector<Task>& tasks);

}  // namespace berth::replay
