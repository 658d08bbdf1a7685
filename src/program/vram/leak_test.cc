// SPDX-License-Identifier: Apache-2.0
#include "vram/leak.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

namespace berth::vram {
namespace {

// Repeatable noise of -1 to 1.
class Noise {
 public:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 33U) / static_cast<double>(1U << 30U) - 1;
  }

 private:
  std::uint64_t state_ = 1;
};

// The step at which a leak is found; 0: none in so many steps.
std::uint64_t found_at(std::uint64_t steps, const std::function<double(std::uint64_t)>& gib_at) {
  LeakFinder finder;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const double gib = gib_at(step);
    finder.add(step, Bytes{static_cast<std::uint64_t>(gib * (1U << 30U))});
    if (finder.verdict().leaks) return step;
  }
  return 0;
}

TEST(Leak, OfOnePercentAStepIsFoundWithinFiftySteps) {
  Noise noise;
  EXPECT_LE(found_at(50, [](auto step) { return 4 + 0.04 * static_cast<double>(step); }), 50U);
  EXPECT_NE(found_at(50, [](auto step) { return 4 + 0.04 * static_cast<double>(step); }), 0U);
  EXPECT_NE(
      found_at(
          50, [&](auto step) { return 4 + 0.04 * static_cast<double>(step) + 0.1 * noise.next(); }),
      0U);
  EXPECT_NE(found_at(50, [](auto step) { return 4 * std::pow(1.01, static_cast<double>(step)); }),
            0U);
}

TEST(Leak, CleanRunOfThousandStepsHasNone) {
  Noise noise;
  const auto clean = [](const std::function<double(std::uint64_t)>& gib_at) {
    return found_at(1'000, gib_at) == 0;
  };
  EXPECT_TRUE(clean([](auto) { return 4.0; }));
  EXPECT_TRUE(clean([&](auto) { return 4 + 0.8 * noise.next(); })) << "noise of a fifth";
  EXPECT_TRUE(clean([](auto step) { return 4 + 0.1 * static_cast<double>(step % 7); })) << "saw";
  EXPECT_TRUE(clean([](auto step) { return step % 100 < 90 ? 4.0 : 5.5; })) << "evaluations";
  EXPECT_TRUE(clean([](auto step) { return step < 2 ? 1.0 : step < 5 ? 3.0 : 4.0; })) << "warm-up";
  EXPECT_TRUE(clean([](auto step) { return step < 500 ? 4.0 : 6.0; })) << "a larger batch, once";
  EXPECT_TRUE(clean([](auto step) { return 4 - 0.001 * static_cast<double>(step); })) << "falls";
  EXPECT_TRUE(clean([](auto step) { return 4 + 0.000001 * static_cast<double>(step); })) << "dust";
}

TEST(Leak, SlowOneUnderNoiseIsFoundOverALongerWindow) {
  Noise noise;
  const auto gib_at = [&](auto step) {
    return 4 + 0.002 * static_cast<double>(step) + 0.2 * noise.next();
  };
  const std::uint64_t found = found_at(1'000, gib_at);
  EXPECT_NE(found, 0U);
  EXPECT_GT(found, 50U);
}

// What a small program's tables and logs grow by in its first steps.
TEST(Leak, AFewKibibytesAStepOfASmallProgramAreNone) {
  EXPECT_EQ(found_at(200, [](auto step) { return 0.006 + 9e-6 * static_cast<double>(step); }), 0U);
}

TEST(Leak, GrowthPerStepIsTold) {
  LeakFinder finder;
  for (std::uint64_t step = 1; step <= 60; ++step) finder.add(step, mib(4'096 + 40 * step));
  EXPECT_TRUE(finder.verdict().leaks);
  EXPECT_NEAR(finder.verdict().growth_per_step, 40 * 1'048'576.0, 1'000);
}

TEST(Leak, IsOverWhenMemoryStaysWhereItIs) {
  LeakFinder finder;
  std::uint64_t step = 0;
  for (; step < 60; ++step) finder.add(step, mib(1'000 + 10 * step));
  ASSERT_TRUE(finder.verdict().leaks);
  int changes = 0;
  for (; step < 140; ++step) changes += finder.add(step, mib(1'600)) ? 1 : 0;
  EXPECT_FALSE(finder.verdict().leaks);
  EXPECT_EQ(finder.verdict().growth_per_step, 0);
  EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace berth::vram
