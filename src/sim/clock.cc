// SPDX-License-Identifier: Apache-2.0
#include "sim/clock.h"

#include <algorithm>
#include <utility>

namespace berth::sim {

bool Clock::later(const Planned& a, const Planned& b) {
  return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.number > b.number;
}

core::Now Clock::now() const {
  return {.instant = {elapsed_ns_ - boot_ns_}, .wall = {wall_ms_ + elapsed_ns_ / 1'000'000}};
}

void Clock::after(Duration delay, Action action) {
  const std::int64_t due =
      (Instant{elapsed_ns_} + Duration{std::max<std::int64_t>(0, delay.ns)}).ns;
  planned_.push_back({due, planned_count_++, std::move(action)});
  std::ranges::push_heap(planned_, later);
}

void Clock::at(Instant instant, Action action) {
  after(instant - now().instant, std::move(action));
}

bool Clock::step() {
  if (planned_.empty()) return false;
  std::ranges::pop_heap(planned_, later);
  const Planned next = std::move(planned_.back());
  planned_.pop_back();
  elapsed_ns_ = next.due_ns;
  next.action();
  return true;
}

}  // namespace berth::sim
