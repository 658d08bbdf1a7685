// SPDX-License-Identifier: Apache-2.0
#include "vram/leak.h"

#include <algorithm>

namespace berth::vram {
namespace {

constexpr double kTauToFind = 0.8;
constexpr double kTauToKeep = 0.4;
constexpr double kGrowthMin = 0.02;                   // Of what was used at first, in a window,
constexpr std::uint64_t kGrowthBytesMin = 4U << 20U;  // and that: less is no harm.

std::int64_t sign(std::uint64_t before, std::uint64_t after) {
  return after > before ? 1 : (after < before ? -1 : 0);
}

}  // namespace

void LeakFinder::Scale::add(Point point) {
  if (points.size() == kWindow) {
    for (std::size_t i = 1; i < points.size(); ++i) {
      rises -= sign(points.front().bytes, points[i].bytes);
    }
    points.pop_front();
  }
  for (const Point& earlier : points) rises += sign(earlier.bytes, point.bytes);
  points.push_back(point);
}

bool LeakFinder::Scale::rises_all_the_time() const {
  const auto pairs = static_cast<double>(points.size() * (points.size() - 1)) / 2;
  return points.size() >= kPointsMin && static_cast<double>(rises) >= kTauToFind * pairs;
}

bool LeakFinder::Scale::still_rises() const {
  const auto pairs = static_cast<double>(points.size() * (points.size() - 1)) / 2;
  return static_cast<double>(rises) >= kTauToKeep * pairs;
}

// The median of how fast pairs rise that lie half a window apart: no single point moves it far.
double LeakFinder::Scale::slope() const {
  const std::size_t half = points.size() / 2;
  std::vector<double> slopes;
  slopes.reserve(half);
  for (std::size_t i = 0; i + half < points.size(); ++i) {
    const Point& from = points[i];
    const Point& to = points[i + half];
    const double bytes = static_cast<double>(to.bytes) - static_cast<double>(from.bytes);
    slopes.push_back(bytes / static_cast<double>(to.step - from.step));
  }
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::ranges::nth_element(slopes, middle);
  return *middle;
}

bool LeakFinder::judge(const Scale& scale) const {
  const double growth =
      scale.slope() * static_cast<double>(scale.points.back().step - scale.points.front().step);
  const auto at_first = static_cast<double>(scale.points.front().bytes);
  return growth >= static_cast<double>(kGrowthBytesMin) && growth >= kGrowthMin * at_first;
}

bool LeakFinder::add(std::uint64_t step, Bytes used) {
  Point point{step, used.value};
  const bool before = verdict_.leaks;
  for (std::size_t i = 0; i < kScales; ++i) {
    Scale& scale = scales_[i];
    scale.add(point);
    if (!verdict_.leaks && scale.rises_all_the_time() && judge(scale)) {
      verdict_.leaks = true;
      found_by_ = i;
    }
    if (verdict_.leaks && found_by_ == i) {
      if (scale.still_rises()) {
        verdict_.growth_per_step = scale.slope();
      } else {
        verdict_ = {};
      }
    }
    if (scale.thinned == 0 || point.bytes < scale.least.bytes) scale.least = point;
    if (++scale.thinned < kThinned) break;
    scale.thinned = 0;
    point = {step, scale.least.bytes};
  }
  return verdict_.leaks != before;
}

}  // namespace berth::vram
