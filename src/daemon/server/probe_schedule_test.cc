// SPDX-License-Identifier: Apache-2.0
#include "server/probe_schedule.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

constexpr Instant at(Duration since_start) {
  return Instant{} + hours(1) + since_start;
}

TEST(ProbeSchedule, FirstQuestionIsDueAtOnce) {
  const ProbeSchedule schedule(seconds(1));
  EXPECT_LE(schedule.next(false), at(seconds(0)));
}

TEST(ProbeSchedule, BusyMachineIsAskedEachInterval) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.answered(at(milliseconds(40)));
  EXPECT_EQ(schedule.next(true), at(milliseconds(1'040)));
}

TEST(ProbeSchedule, IdleMachineIsAskedEachHalfMinute) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.used(at(seconds(0)));
  schedule.answered(at(seconds(0)));
  EXPECT_EQ(schedule.next(false), at(seconds(30)));
}

TEST(ProbeSchedule, OneQuestionAtATime) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.want(at(milliseconds(1)));
  EXPECT_EQ(schedule.next(true), Instant::never());
  schedule.answered(at(seconds(9)));
  EXPECT_EQ(schedule.next(true), at(milliseconds(1))) << "what was wanted meanwhile is due";
  schedule.asked(at(seconds(9)));
  EXPECT_EQ(schedule.next(true), Instant::never()) << "nor a second one beside the second";
}

TEST(ProbeSchedule, EarliestWishCountsAndIsMetByTheNextQuestion) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.answered(at(seconds(0)));
  schedule.want(at(milliseconds(100)));
  schedule.want(at(milliseconds(10)));
  schedule.want(at(milliseconds(50)));
  EXPECT_EQ(schedule.next(true), at(milliseconds(10)));
  schedule.asked(at(milliseconds(100)));
  schedule.answered(at(milliseconds(100)));
  EXPECT_EQ(schedule.next(true), at(milliseconds(1'100)));
}

TEST(ProbeSchedule, IdleMachineIsLeftToSleepAfterAWhile) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.used(at(seconds(0)));
  schedule.answered(at(seconds(299)));
  EXPECT_EQ(schedule.next(false), at(seconds(329)));
  schedule.asked(at(seconds(329)));
  schedule.answered(at(seconds(329)));
  EXPECT_EQ(schedule.next(false), Instant::never());
  schedule.want_fresh_sample(at(hours(1)));
  EXPECT_LE(schedule.next(false), at(hours(1))) << "a look wakes it";
}

TEST(ProbeSchedule, ALookAfterALongTimeShouldWaitForAnAnswer) {
  ProbeSchedule schedule(seconds(1));
  EXPECT_TRUE(schedule.is_cold(at(seconds(0)), false)) << "nothing is known yet";
  schedule.asked(at(seconds(0)));
  schedule.answered(at(seconds(0)));
  EXPECT_FALSE(schedule.is_cold(at(seconds(1)), false));
  EXPECT_TRUE(schedule.is_cold(at(seconds(10)), false));
  EXPECT_FALSE(schedule.is_cold(at(seconds(10)), true)) << "the probe is late, not asleep";
  schedule.want_fresh_sample(at(seconds(10)));
  EXPECT_FALSE(schedule.is_cold(at(seconds(11)), false)) << "the next one does not wait again";
}

TEST(ProbeSchedule, LookKeepsFiguresFreshForAWhile) {
  ProbeSchedule schedule(seconds(1));
  schedule.asked(at(seconds(0)));
  schedule.answered(at(seconds(0)));
  schedule.want_fresh_sample(at(seconds(20)));
  EXPECT_LE(schedule.next(false), at(seconds(20)));
  schedule.asked(at(seconds(20)));
  schedule.answered(at(seconds(20)));
  EXPECT_EQ(schedule.next(false), at(seconds(21)));
  schedule.asked(at(seconds(50)));
  schedule.answered(at(seconds(50)));
  EXPECT_EQ(schedule.next(false), at(seconds(80)));
}

}  // namespace
}  // namespace berth::server
