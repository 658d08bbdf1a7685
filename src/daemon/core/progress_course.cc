// SPDX-License-Identifier: Apache-2.0
#include "core/progress_course.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/limits.h"

namespace berth::core {

void CourseOfProgress::add(const Progress& told) {
  // Only what is far enough from the one before it is kept for good.
  const std::size_t count = points_.size();
  if (count >= 2) {
    const std::int64_t ms = points_[count - 1].at.value - points_[count - 2].at.value;
    if (milliseconds(ms) < apart_) points_.pop_back();
  }
  points_.push_back({.at = told.at, .done = told.done, .loss = told.loss, .phase = told.phase});
  if (points_.size() <= limits::kProgressPoints) return;
  // An odd number of them: first and last stay.
  static_assert(limits::kProgressPoints % 2 == 0);
  std::size_t kept = 1;
  for (std::size_t i = 2; i < points_.size(); i += 2) points_[kept++] = std::move(points_[i]);
  points_.resize(kept);
  apart_ = {apart_.ns * 2};
}

}  // namespace berth::core
