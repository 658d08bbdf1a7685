// SPDX-License-Identifier: Apache-2.0
#include "core/timers.h"

#include <gtest/gtest.h>

namespace berth::core {
namespace {

constexpr Instant at(int s) {
  return Instant{} + seconds(s);
}

TEST(Timers, TheSoonestIsNext) {
  Timers timers;
  timers.set(LeaseId{1}, at(5));
  timers.set(LeaseId{2}, at(3));
  EXPECT_EQ(timers.next(), std::pair(at(3), LeaseId{2}));
  timers.set(LeaseId{2}, at(7));
  EXPECT_EQ(timers.next(), std::pair(at(5), LeaseId{1}));
}

TEST(Timers, NeverIsNoTimer) {
  Timers timers;
  timers.set(LeaseId{1}, at(5));
  timers.set(LeaseId{1}, Instant::never());
  EXPECT_TRUE(timers.empty());
  EXPECT_EQ(timers.at_of(LeaseId{1}), Instant::never());
}

TEST(Timers, OfTwoAtOneInstantBothAreThere) {
  Timers timers;
  timers.set(LeaseId{1}, at(5));
  timers.set(LeaseId{2}, at(5));
  timers.set(LeaseId{1}, Instant::never());
  EXPECT_EQ(timers.next().second, LeaseId{2});
}

}  // namespace
}  // namespace berth::core
