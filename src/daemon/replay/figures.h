// SPDX-License-Identifier: Apache-2.0
// Figures of a replay that tell whether an order is a good one: how long tasks waited, all and
// those of each priority, how much of the memory was granted, and how soon all was done.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "model/policy.h"
#include "replay/replay.h"
#include "replay/task.h"

namespace berth::replay {

/// A task of less counts as one of this in its slowdown: that of a moment says nothing.
inline constexpr Duration kSlowdownLeast = seconds(10);

/// How it went for some of the tasks, those that were granted memory.
struct Waits {
  std::size_t tasks = 0;
  Duration mean;
  Duration median;
  Duration p95;
  Duration p99;
  double slowdown_mean = 0;  // Waited and ran, as a multiple of what it ran.
  double slowdown_p95 = 0;
};

struct ClassWaits {
  Priority priority = Priority::kNormal;
  Waits waits;
};

struct Figures {
  Order order = Order::kFifo;
  Waits all;
  std::vector<ClassWaits> classes;  // The most urgent first; of those that have tasks.
  std::size_t refused = 0;          // Never granted: they fit on no such machine.
  double memory_part = 0;           // 0 to 1, of the whole span.
  double tasks_per_hour = 0;
  Duration span;
};

Figures figures_of(Order order, const std::vector<Task>& tasks, const Machine& machine,
                   const Played& played);

}  // namespace berth::replay
