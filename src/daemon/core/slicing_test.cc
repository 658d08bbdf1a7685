// SPDX-License-Identifier: Apache-2.0
#include "core/slicing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Running running(std::uint64_t id, Bytes frees, std::int64_t over_s) {
  return {.lease = {id}, .frees = frees, .over = Instant{} + seconds(over_s)};
}

TEST(TurnCost, IsGuessedFromWhatItUsesUntilItIsMeasured) {
  TurnCost cost;
  EXPECT_EQ(cost.of(Bytes{}), milliseconds(700)) << "to go and to come back cost something always";
  EXPECT_GT(cost.of(gib(15)), seconds(6)) << "and the more, the more there is";
  cost.measured_out(seconds(2));
  EXPECT_EQ(cost.of(gib(15)), seconds(4)) << "the way back is not known, and likely to be as long";
  cost.measured_back(seconds(1));
  EXPECT_EQ(cost.of(gib(15)), seconds(3));
}

TEST(TurnCost, RisesAtOnceAndFallsByHalf) {
  TurnCost cost;
  cost.measured_out(seconds(1));
  cost.measured_back(seconds(1));
  cost.measured_out(seconds(9));
  EXPECT_EQ(cost.of({}), seconds(10));
  cost.measured_out(seconds(1));
  EXPECT_EQ(cost.of({}), seconds(6));
}

TEST(TurnLength, LosesNoMoreThanIsAllowed) {
  for (const std::uint32_t percent : {1U, 5U, 10U, 33U, 50U, 100U}) {
    const Duration turn = turn_length(seconds(3), {.least = {}, .loss_percent = percent});
    EXPECT_GE(turn.ns * percent, seconds(3).ns * (100 - percent)) << percent;
  }
  EXPECT_EQ(turn_length(seconds(3), {.least = {}, .loss_percent = 5}), seconds(60));
}

TEST(TurnLength, IsNeverLessThanTheLeast) {
  EXPECT_EQ(turn_length(milliseconds(10), {.least = seconds(10), .loss_percent = 5}), seconds(10));
  EXPECT_EQ(turn_length(seconds(9), {.least = seconds(5), .loss_percent = 0}), seconds(5))
      << "whatever is lost";
}

TEST(WhoEndsTurn, WhoseIsOverFirst) {
  const TurnEnds ends = who_ends_turn(
      {running(1, gib(5), 30), running(2, gib(5), 10), running(3, gib(5), 20)}, gib(7));
  EXPECT_THAT(ends.leases, ElementsAre(LeaseId{2}, LeaseId{3}));
  EXPECT_EQ(ends.at, Instant{} + seconds(20)) << "together, when it is over for both";
}

TEST(WhoEndsTurn, NobodyWhoIsNotNeeded) {
  const TurnEnds ends = who_ends_turn({running(1, gib(2), 10), running(2, gib(9), 20)}, gib(8));
  EXPECT_THAT(ends.leases, ElementsAre(LeaseId{2}));
}

TEST(WhoEndsTurn, NobodyWhereThatWouldNotDo) {
  EXPECT_THAT(who_ends_turn({running(1, gib(2), 10)}, gib(3)).leases, IsEmpty());
  EXPECT_THAT(who_ends_turn({running(1, gib(2), 10)}, {}).leases, IsEmpty());
}

}  // namespace
}  // namespace berth::core
