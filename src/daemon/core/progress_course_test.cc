// SPDX-License-Identifier: Apache-2.0
#include "core/progress_course.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::int64_t kStart = 1'770'000'000'000;

Progress told(std::int64_t ms, std::uint64_t done) {
  return {.done = done, .loss = 1.0 / static_cast<double>(done + 1), .at = {kStart + ms}};
}

TEST(CourseOfProgress, KeepsWhatWasTold) {
  CourseOfProgress course;
  Progress one = told(0, 1);
  one.phase = "warmup";
  course.add(one);
  course.add(told(1'000, 2));
  ASSERT_EQ(course.points().size(), 2U);
  EXPECT_EQ(course.points()[0],
            (ProgressPoint{.at = {kStart}, .done = 1, .loss = 0.5, .phase = "warmup"}));
  EXPECT_EQ(course.points()[1].done, 2U);
}

TEST(CourseOfProgress, OfWhatIsToldWithinASecondTheLastCounts) {
  CourseOfProgress course;
  for (std::uint64_t i = 0; i < 100; ++i) course.add(told(static_cast<std::int64_t>(i) * 10, i));
  ASSERT_EQ(course.points().size(), 2U);
  EXPECT_EQ(course.points()[0].done, 0U);
  EXPECT_EQ(course.points()[1].done, 99U);
  course.add(told(1'000, 100));
  ASSERT_EQ(course.points().size(), 2U) << "a second after the first it is kept for good";
  course.add(told(1'001, 101));
  EXPECT_EQ(course.points().size(), 3U);
}

// A run of a month, told each second.
TEST(CourseOfProgress, IsBoundedAndHasFirstAndLastAndTheSameDistances) {
  CourseOfProgress course;
  constexpr std::uint64_t kSeconds = 31ULL * 24 * 3'600;
  for (std::uint64_t i = 0; i < kSeconds; ++i) {
    course.add(told(static_cast<std::int64_t>(i) * 1'000, i));
    ASSERT_LE(course.points().size(), limits::kProgressPoints);
    ASSERT_EQ(course.points().back().done, i);
  }
  const auto& points = course.points();
  EXPECT_GT(points.size(), limits::kProgressPoints / 2 - 1);
  EXPECT_EQ(points.front().done, 0U);
  const std::uint64_t apart = points[1].done - points[0].done;
  for (std::size_t i = 2; i + 1 < points.size(); ++i) {
    EXPECT_EQ(points[i].done - points[i - 1].done, apart) << i;
  }
}

}  // namespace
}  // namespace berth::core
