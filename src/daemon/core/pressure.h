// SPDX-License-Identifier: Apache-2.0
// Memory pressure: how near a lease is to its budget, and a device to a point where an allocation
// inside a budget fails. Pure values that the coordinator keeps beside its account.
//
// Note [Danger to others, not use]: a lease that uses what it was granted harms nobody, so its own
// pressure is only announced. A device is under pressure when its leases could no longer have what
// they were granted, however much or little of it is used.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/units.h"
#include "model/lease.h"

namespace berth::core {

/// How fast a figure grows: the least growth of three spans of five seconds that follow one
/// another, so that a jump is none.
class Trend {
 public:
  static constexpr Duration kSpan = seconds(5);

  void add(Instant at, Bytes value);
  /// Bytes a second; 0 where it does not grow, or is not known for long enough.
  double per_second() const;
  /// It was less one or two spans ago.
  bool is_below(Bytes value) const {
    return count_ > 0 && points_[count_ > 1 ? count_ - 2 : 0].value < value;
  }

 private:
  struct Point {
    Instant at;
    Bytes value;
  };
  std::array<Point, 4> points_{};  // Oldest first.
  std::size_t count_ = 0;
};

/// What is said of a level that is measured again and again: it rises at once, and falls to the
/// highest that was measured since when it has been lower for kCalmFor.
class PressureState {
 public:
  static constexpr Duration kCalmFor = seconds(10);

  void measure(Instant at, Pressure measured);
  Pressure level() const { return level_; }

 private:
  Pressure level_ = Pressure::kNormal;
  Pressure lower_ = Pressure::kNormal;  // The highest since `since_`.
  std::optional<Instant> since_;        // When it was first measured lower.
};

/// How one device stands.
struct Room {
  Bytes free;        // As the driver tells.
  Bytes owed;        // What its leases may still take, all together,
  Bytes owed_most;   // and that of them which may take most.
  double intruding;  // Growth of unmanaged processes, in bytes a second.
};

/// `warn`: not all leases could have their budgets. `critical`: one alone could not, now or within
/// `ahead` if unmanaged processes go on like this.
Pressure pressure_of(const Room& room, Duration ahead);

}  // namespace berth::core
