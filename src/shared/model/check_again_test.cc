// SPDX-License-Identifier: Apache-2.0
#include "model/check_again.h"

#include <gtest/gtest.h>

#include "model/lease.h"

namespace berth {
namespace {

constexpr UnixMs kNow{1'000'000};

UnixMs after(Duration time) {
  return {kNow.value + time.ns / 1'000'000};
}

TEST(CheckAgain, IsHalfOfWhatIsLeftOfTheWait) {
  EXPECT_EQ(check_again_after(after(seconds(40)), kNow), seconds(20));
  EXPECT_EQ(check_again_after(after(seconds(10)), kNow), seconds(5));
}

TEST(CheckAgain, HasBoundsOnBothSides) {
  EXPECT_EQ(check_again_after(after(hours(5)), kNow), kCheckAgainMost);
  EXPECT_EQ(check_again_after(after(milliseconds(5)), kNow), kCheckAgainLeast);
  EXPECT_EQ(check_again_after(after(seconds(-5)), kNow), kCheckAgainLeast) << "it is late";
}

TEST(CheckAgain, WhereNoEndIsKnownItIsNeitherSoonNorLate) {
  EXPECT_EQ(check_again_after(std::nullopt, kNow), kCheckAgainUnknown);
}

TEST(CheckAgain, OfALeaseIsByItsPlace) {
  LeaseView lease;
  EXPECT_EQ(check_again_after(lease), std::nullopt) << "it does not wait";
  lease.queue_position = 1;
  EXPECT_EQ(check_again_after(lease), kCheckAgainLeast);
  lease.queue_position = 4;
  EXPECT_EQ(check_again_after(lease), seconds(8));
  lease.queue_position = 4'000'000'000;
  EXPECT_EQ(check_again_after(lease), kCheckAgainMost);
}

}  // namespace
}  // namespace berth
