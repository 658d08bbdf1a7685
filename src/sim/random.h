// SPDX-License-Identifier: Apache-2.0
// The only chance in a simulated world: a stream of numbers that its seed decides, the same with
// every compiler and library (the distributions of <random> are not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace berth::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// SplitMix64 (Steele, Lea, Flood 2014).
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// 0 to bound - 1. The small bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) {
    CHECK(bound > 0);
    return next() % bound;
  }
  bool chance(std::uint32_t per_mille) { return below(1000) < per_mille; }
  Duration between(Duration from, Duration to) {
    CHECK(from <= to);
    return {from.ns +
            static_cast<std::int64_t>(below(1 + static_cast<std::uint64_t>(to.ns - from.ns)))};
  }
  Bytes between(Bytes from, Bytes to) {
    CHECK(from <= to);
    return {from.value + below(1 + to.value - from.value)};
  }
  /// As likely within each doubling: many short ones, a few long ones.
  Duration spread(Duration from, Duration to) {
    CHECK(from.ns > 0 && from <= to);
    Duration top = from;
    std::uint64_t doublings = 1;
    while (top.ns <= to.ns / 2) {
      top.ns *= 2;
      ++doublings;
    }
    const Duration low{from.ns << below(doublings)};
    return between(low, Duration{low.ns > to.ns / 2 ? to.ns : low.ns * 2});
  }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    CHECK(!choices.empty());
    return choices[static_cast<std::size_t>(below(choices.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace berth::sim
