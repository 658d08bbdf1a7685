// SPDX-License-Identifier: Apache-2.0
// A world that goes on for long: busy spells with quiet hours between them, and whether what the
// coordinator keeps grows with the leases that have come and gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.h"
#include "core/coordinator.h"

namespace berth::sim {

class Span {
 public:
  static constexpr std::size_t kParts = 7;  // As a week has days.
  using Kept = std::array<std::uint64_t, kParts>;

  /// 0: there is none, and a world ends when enough has happened.
  explicit Span(Duration length) : length_(length) { least_.fill(~std::uint64_t{0}); }

  bool is_long() const { return length_ > Duration{}; }
  /// With a daemon that ends what it keeps begins anew, and growth would never be seen.
  bool daemon_may_end(Duration elapsed) const { return !is_long() || part_at(elapsed) == 0; }
  bool is_over(Duration elapsed) const { return elapsed >= length_; }

  /// Bytes that the coordinator keeps now, but for leases and runs that are over and what sessions
  /// have had: of each of these it remembers so many.
  static std::uint64_t kept_by(const core::Coordinator& coordinator, core::Now now);
  Duration measured_every() const { return {length_.ns / (10 * std::int64_t{kParts})}; }
  void measured(Duration elapsed, std::uint64_t bytes);
  /// Bytes, the least in each part: what is kept when next to nobody is there.
  const Kept& least() const { return least_; }
  /// Empty, or that it keeps more in the last part than in the first.
  std::string check_growth() const;

 private:
  std::size_t part_at(Duration elapsed) const;

  Duration length_;
  Kept least_{};
};

}  // namespace berth::sim
