// SPDX-License-Identifier: Apache-2.0
// A replay of tasks by the coordinator itself, under settings of the caller's choice: only time is
// simulated. Every task that is granted memory takes it up at once, uses none of it that anybody
// would see, and ends when it has run as long as it did. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/settings.h"
#include "model/device.h"
#include "replay/task.h"

namespace berth::replay {

/// GPUs of one size.
struct Machine {
  std::uint32_t devices = 8;
  Bytes capacity = gib(16);
};

struct Played {
  std::vector<std::optional<Duration>> waited;  // Of each task; absent: it was not granted.
  Duration span;                                // From the first request to the last end.
  double byte_seconds = 0;                      // Granted, all together.
  std::uint64_t events = 0;
};

/// Settings with this order whose bounds no list of tasks meets.
core::Settings settings_for(Order order);

/// `tasks` are sorted by arrival.
Played play(const std::vector<Task>& tasks, const Machine& machine, const core::Settings& settings);

/// What the driver says of such a machine where nobody uses it.
Sample sample_of(const Machine& machine);

}  // namespace berth::replay
