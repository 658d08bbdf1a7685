// SPDX-License-Identifier: Apache-2.0
// Detection of a memory leak, from what is in use at the end of each step. Pure.
//
// Note [A leak rises all the time]: what a healthy program uses jumps up and down, and takes a few
// steps up at its beginning. A leak is higher in nearly each step than in nearly each earlier one.
// So pairs of steps are counted (Kendall's tau), not bytes: a jump, however large, is not one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/units.h"

namespace berth::vram {

struct LeakVerdict {
  bool leaks = false;
  double growth_per_step = 0;  // Bytes.
};

class LeakFinder {
 public:
  static constexpr std::size_t kWindow = 40;     // Points of one scale.
  static constexpr std::size_t kPointsMin = 30;  // Before that nothing is said.
  static constexpr std::size_t kThinned = 8;     // Points that make one of the next scale.
  static constexpr std::size_t kScales = 3;      // Up to 40 * 8 * 8 steps are looked at.

  /// To be called with rising steps. Returns true if the verdict has changed.
  bool add(std::uint64_t step, Bytes used);
  const LeakVerdict& verdict() const { return verdict_; }

 private:
  struct Point {
    std::uint64_t step = 0;
    std::uint64_t bytes = 0;
  };
  // A window over points, each the least of kThinned of the scale before.
  struct Scale {
    std::deque<Point> points;
    std::int64_t rises = 0;  // Pairs that rise, less pairs that fall.
    Point least;             // Of those that make the next point of the scale above.
    std::size_t thinned = 0;

    void add(Point point);
    bool rises_all_the_time() const;
    bool still_rises() const;
    double slope() const;
  };

  bool judge(const Scale& scale) const;

  Scale scales_[kScales];
  LeakVerdict verdict_;
  std::size_t found_by_ = 0;  // The scale that did.
};

}  // namespace berth::vram
