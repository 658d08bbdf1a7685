// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

constexpr LeaseId kSet{7};
constexpr BreakerSettings kThree{.failures = 3, .within = seconds(60)};

Instant at(int second) {
  return Instant{} + seconds(second);
}

TEST(Breaker, SoManyFailuresInARowAreTooMany) {
  FailureRows rows;
  EXPECT_FALSE(rows.ended(kSet, false, at(1), kThree));
  EXPECT_FALSE(rows.ended(kSet, false, at(2), kThree));
  EXPECT_TRUE(rows.ended(kSet, false, at(3), kThree));
  EXPECT_FALSE(rows.ended(kSet, false, at(4), kThree)) << "it counts anew";
}

TEST(Breaker, OneThatEndsWellBreaksTheRow) {
  FailureRows rows;
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(rows.ended(kSet, i % 3 == 2, at(i), kThree));
}

TEST(Breaker, OnlyThoseOfTheLastTimeCount) {
  FailureRows rows;
  EXPECT_FALSE(rows.ended(kSet, false, at(0), kThree));
  EXPECT_FALSE(rows.ended(kSet, false, at(40), kThree));
  EXPECT_FALSE(rows.ended(kSet, false, at(61), kThree));
  EXPECT_TRUE(rows.ended(kSet, false, at(100), kThree));
}

TEST(Breaker, EachSetIsCountedForItself) {
  FailureRows rows;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(rows.ended(kSet, false, at(i), kThree));
  EXPECT_FALSE(rows.ended({8}, false, at(2), kThree));
}

TEST(Breaker, NoneIsTooManyWhereNothingIsToBeCounted) {
  FailureRows rows;
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(rows.ended(kSet, false, at(i), {.failures = 0}));
}

/// Lease 1 is a set of nine, of which two failures are too many.
class BreakerOfASet : public StoryTest {
 protected:
  BreakerOfASet()
      : StoryTest({.order = Order::kFifo,
                   .reserve = {},
                   .breaker = {.failures = 2, .within = seconds(60)}}) {
    (void)story.sample();
    Request set = S::budget(gib(1));
    set.members = 9;
    (void)story.ask(set);
  }
  void ask(std::uint32_t retry_max = 0) {
    Request member = S::budget(gib(1));
    member.member = SetMember{{1}, ++number};
    member.retry_max = retry_max;
    (void)story.ask(member);
    (void)story.claim(story.handles);
  }
  std::string ends(std::uint64_t lease, int code) {
    std::string out = story.feed(ReportExit{{99}, {{1000}}, {0, lease}, {.exit = {.code = code}}});
    out += story.feed(ProcessEnded{S::process(lease)});
    return out + story.sample();
  }
  LeaseView set() { return *story.coordinator.lease({1}, story.now); }
  std::string said() const {
    std::string last;
    for (const Effect& effect : story.effects) {
      if (const auto* say = std::get_if<Say>(&effect)) last = say->text;
    }
    return last;
  }

  std::uint32_t number = 0;
};

TEST_F(BreakerOfASet, PutsItOnHoldAndSaysWhyAndTheCure) {
  ask();
  (void)ends(2, 3);
  EXPECT_FALSE(set().hold);
  ask();
  (void)ends(3, 3);
  ASSERT_TRUE(set().hold);
  EXPECT_EQ(set().hold->by, std::nullopt);
  EXPECT_EQ(set().hold->reason,
            "2 attempts of its jobs in a row have failed within 1m, the last that of 1.2");
  EXPECT_THAT(said(), HasSubstr("set 1 is put on hold: 2 attempts"));
  EXPECT_THAT(said(), HasSubstr("(berth hold --off 1)"));
  ask();
  EXPECT_EQ(story.state(4), LeaseState::kWaiting);
  EXPECT_EQ(story.coordinator.why({4}, story.now)->reason, WhyView::Reason::kOnHold);
  for (const bool snapshot : {false, true}) {
    snapshot ? story.restart_from_snapshot() : story.restart();
    EXPECT_THAT(set().hold->reason, HasSubstr("2 attempts"));
  }
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(BreakerOfASet, OffHoldItGoesOn) {
  for (const std::uint64_t lease : {2U, 3U}) {
    ask();
    (void)ends(lease, 3);
  }
  (void)story.ask([] {
    Request member = S::budget(gib(1));
    member.member = SetMember{{1}, 3};
    return member;
  }());
  EXPECT_THAT(story.feed(Hold{{71}, {{1000}}, {1}, {true}}), HasSubstr("grant 4; "));
  EXPECT_FALSE(set().hold);
}

TEST_F(BreakerOfASet, AttemptsCountNotMembers) {
  ask(5);
  (void)ends(2, 3);
  (void)story.feed(Reconnect{{70}, {{1000}}, {0, 2}, {.restarts = 1}});
  (void)story.pass(seconds(10));
  (void)story.feed(Claim{{72}, {{1000}}, {0, 2}, {S::process(2), 1}});
  (void)story.feed(ReportExit{{99}, {{1000}}, {0, 2}, {.exit = {.code = 3}, .restarts = 1}});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)story.sample();
  EXPECT_TRUE(set().hold);
}

TEST_F(BreakerOfASet, WhatIsCancelledIsNoFailure) {
  for (const std::uint64_t lease : {2U, 3U, 4U}) {
    ask();
    (void)story.feed(Cancel{{9}, {{1000}}, {lease}});
    (void)ends(lease, 1);
  }
  EXPECT_FALSE(set().hold);
}

}  // namespace
}  // namespace berth::core
