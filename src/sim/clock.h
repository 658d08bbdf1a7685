// SPDX-License-Identifier: Apache-2.0
// Time in a simulated world: it stands still while something happens and jumps to what happens
// next. Things due at the same instant happen in the order in which they were planned.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"
#include "core/event.h"

namespace berth::sim {

class Clock {
 public:
  using Action = std::function<void()>;

  /// What a daemon would read from its clocks now.
  core::Now now() const;
  Instant instant() const { return now().instant; }
  /// Since the world began; no reboot sets it back.
  Duration elapsed() const { return {elapsed_ns_}; }

  void after(Duration delay, Action action);
  /// At this instant of the present boot; at once if it has passed.
  void at(Instant instant, Action action);
  /// Lets the next thing happen. False: there is none.
  bool step();

  /// Wall time is set forward or back; instants know nothing of it.
  void jump_wall(std::int64_t milliseconds) { wall_ms_ += milliseconds; }
  /// Instants begin anew.
  void reboot() { boot_ns_ = elapsed_ns_ - seconds(20).ns; }

 private:
  struct Planned {
    std::int64_t due_ns = 0;
    std::uint64_t number = 0;
    Action action;
  };
  static bool later(const Planned& a, const Planned& b);

  std::vector<Planned> planned_;  // A heap, the next first.
  std::uint64_t planned_count_ = 0;
  std::int64_t elapsed_ns_ = 0;
  std::int64_t boot_ns_ = -seconds(3'000).ns;  // The machine was up a while before.
  std::int64_t wall_ms_ = 1'770'000'000'000;
};

}  // namespace berth::sim
