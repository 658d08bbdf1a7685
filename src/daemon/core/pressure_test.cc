// SPDX-License-Identifier: Apache-2.0
#include "core/pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::DoubleEq;
using testing::HasSubstr;
using testing::Not;

Instant at(std::int64_t second) {
  return Instant{} + seconds(second);
}

TEST(Trend, AFigureThatGrowsSteadilyHasThatRate) {
  Trend trend;
  for (int second = 0; second <= 15; ++second) {
    EXPECT_EQ(trend.per_second(), 0) << "at " << second;
    trend.add(at(second), gib(1) + Bytes{mib(10).value * static_cast<std::uint64_t>(second)});
  }
  EXPECT_THAT(trend.per_second(), DoubleEq(static_cast<double>(mib(10).value)));
}

TEST(Trend, AJumpIsNoGrowth) {
  Trend trend;
  for (int second = 0; second <= 60; ++second) {
    trend.add(at(second), second < 30 ? gib(1) : gib(5));
    EXPECT_EQ(trend.per_second(), 0) << "at " << second;
  }
}

TEST(Trend, AFigureIsHeldAgainstWhatItWasSomeSecondsAgo) {
  Trend trend;
  EXPECT_FALSE(trend.is_below(gib(1))) << "nothing is known of before";
  for (int second = 0; second <= 20; ++second) {
    trend.add(at(second), second < 10 ? gib(1) : gib(2));
    EXPECT_EQ(trend.is_below(gib(2)), second < 15) << "at " << second;
  }
}

TEST(Trend, WhatFallsDoesNotGrow) {
  Trend trend;
  for (int second = 0; second <= 60; second += 5) {
    trend.add(at(second), Bytes{gib(8).value - mib(100).value * static_cast<unsigned>(second)});
  }
  EXPECT_EQ(trend.per_second(), 0);
}

TEST(PressureState, ALevelRisesAtOnceAndFallsWhenItWasLowerForAWhile) {
  PressureState pressure_state;
  pressure_state.measure(at(0), Pressure::kCritical);
  EXPECT_EQ(pressure_state.level(), Pressure::kCritical);
  pressure_state.measure(at(1), Pressure::kNormal);
  pressure_state.measure(at(10), Pressure::kNormal);
  EXPECT_EQ(pressure_state.level(), Pressure::kCritical);
  pressure_state.measure(at(11), Pressure::kNormal);
  EXPECT_EQ(pressure_state.level(), Pressure::kNormal);
}

TEST(PressureState, OneThatComesAndGoesStays) {
  PressureState pressure_state;
  for (int second = 0; second < 60; ++second) {
    pressure_state.measure(at(second), second % 8 == 0 ? Pressure::kWarn : Pressure::kNormal);
    EXPECT_EQ(pressure_state.level(), Pressure::kWarn) << "at " << second;
  }
}

TEST(PressureState, ItFallsToTheHighestThatWasMeasuredSince) {
  PressureState pressure_state;
  pressure_state.measure(at(0), Pressure::kCritical);
  for (int second = 1; second <= 11; ++second) {
    pressure_state.measure(at(second), second == 5 ? Pressure::kWarn : Pressure::kNormal);
  }
  EXPECT_EQ(pressure_state.level(), Pressure::kWarn);
}

TEST(DevicePressure, FollowsFromWhatLeasesMayStillTake) {
  const Duration ahead = seconds(90);
  EXPECT_EQ(pressure_of({.free = gib(8), .owed = gib(8), .owed_most = gib(5)}, ahead),
            Pressure::kNormal);
  EXPECT_EQ(pressure_of({.free = gib(7), .owed = gib(8), .owed_most = gib(5)}, ahead),
            Pressure::kWarn);
  EXPECT_EQ(pressure_of({.free = gib(4), .owed = gib(8), .owed_most = gib(5)}, ahead),
            Pressure::kCritical);
  const auto intruding = static_cast<double>(mib(50).value);
  EXPECT_EQ(
      pressure_of({.free = gib(8), .owed = gib(8), .owed_most = gib(5), .intruding = intruding},
                  ahead),
      Pressure::kCritical);
}

/// One GPU of 16 GiB, of which nothing is reserved.
class UnderPressure : public testing::Test {
 protected:
  UnderPressure() { story.tells_pressure = true; }

  /// What is told in so many seconds in which nothing changes.
  std::string wait(int count) {
    std::string reported;
    for (int i = 0; i < count; ++i) reported += story.second();
    return reported;
  }
  std::string use(std::uint64_t process, Bytes bytes) {
    story.use(process, bytes);
    return story.second();
  }
  /// How long after the last sample another one is wanted.
  std::optional<Duration> looks_again_in() {
    std::optional<Duration> in;
    for (const Effect& effect : std::exchange(story.effects, {})) {
      if (const auto* ask = std::get_if<AskProbe>(&effect)) in = ask->at - story.now.instant;
    }
    return in;
  }
  LeaseView lease(std::uint64_t id) const { return *story.coordinator.lease({id}, story.now); }
  bool device_told() {
    bool reported = false;
    for (const Effect& effect : story.effects)
      reported |= std::holds_alternative<NotifyDevice>(effect);
    story.effects.clear();
    return reported;
  }

  Story story{{.order = Order::kFifo, .reserve = {}}};
};

TEST_F(UnderPressure, ALeaseIsAtTwoSharesOfItsBudget) {
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  EXPECT_THAT(use(1, mib(6300)), Not(HasSubstr("pressure")));
  EXPECT_THAT(use(1, mib(6400)), HasSubstr("pressure 1"));
  EXPECT_EQ(lease(1).pressure, Pressure::kWarn);
  EXPECT_THAT(use(1, mib(9000)), Not(HasSubstr("pressure"))) << "less than 88 %";
  EXPECT_THAT(use(1, mib(9020)), HasSubstr("pressure 1"));
  EXPECT_EQ(lease(1).pressure, Pressure::kCritical);
}

TEST_F(UnderPressure, TheSharesCanBeSet) {
  story.coordinator = Coordinator({.order = Order::kFifo,
                                   .reserve = {},
                                   .pressure = {.warn_percent = 10, .critical_percent = 20}});
  (void)story.feed(Recovered{});
  (void)story.sample();
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)use(1, gib(1));
  EXPECT_EQ(lease(1).pressure, Pressure::kWarn);
  (void)use(1, gib(2));
  EXPECT_EQ(lease(1).pressure, Pressure::kCritical);
}

TEST_F(UnderPressure, ALeaseThatGrowsIsToldWhenItIsFull) {
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  std::string reported;
  for (unsigned i = 0; i <= 32; ++i) reported += use(1, gib(6) + Bytes{mib(16).value * i});
  EXPECT_THAT(reported, HasSubstr("pressure 1"));
  ASSERT_TRUE(lease(1).full_in.has_value());
  // 3584 MiB are left, of which 16 go each second.
  EXPECT_NEAR(static_cast<double>(lease(1).full_in->ns) / 1e9, 224, 1);
  (void)wait(30);
  EXPECT_EQ(lease(1).full_in, std::nullopt);
}

TEST_F(UnderPressure, AFigureThatIsUnknownChangesNothing) {
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)use(1, gib(9));
  story.hardware[0].processes.reset();
  EXPECT_THAT(wait(30), Not(HasSubstr("pressure")));
  EXPECT_EQ(lease(1).pressure, Pressure::kCritical);
}

TEST_F(UnderPressure, ALeaseThatCanSaveItselfIsAskedWhenItIsCritical) {
  Request request = S::budget(gib(10));
  request.checkpoint.emplace();
  (void)story.ask(request);
  (void)story.claim(1);
  EXPECT_THAT(use(1, gib(7)), Not(HasSubstr("save 1")));
  EXPECT_THAT(use(1, gib(9)), HasSubstr("save 1"));
  EXPECT_EQ(lease(1).checkpoints.asked->reason, CheckpointReason::kPressure);
  EXPECT_THAT(wait(5), Not(HasSubstr("save 1"))) << "once";
  (void)story.feed(
      ReportCheckpoint{{5}, {{1000}}, {0, 1}, {1, CheckpointOutcome::kSaved, "state.pt"}});
  (void)use(1, gib(1));
  (void)wait(20);
  EXPECT_THAT(use(1, gib(9)), Not(HasSubstr("save 1"))) << "it has saved itself a moment ago";
  (void)use(1, gib(1));
  (void)wait(600);
  EXPECT_THAT(use(1, gib(9)), HasSubstr("save 1"));
}

TEST_F(UnderPressure, NobodyIsAskedWhereThatIsSwitchedOffOrNoWayIsKnown) {
  (void)story.ask(S::budget(gib(5)));
  (void)story.claim(1);
  EXPECT_THAT(use(1, gib(5)), Not(HasSubstr("save 1")));
  (void)story.feed(Configured{{.order = Order::kFifo,
                               .reserve = {},
                               .pressure = {.on_lease_critical = {{Measure::kNotify}}}}});
  Request request = S::budget(gib(5));
  request.checkpoint.emplace();
  (void)story.ask(request);
  (void)story.claim(2);
  EXPECT_THAT(use(2, gib(5)), Not(HasSubstr("save 1")));
}

TEST_F(UnderPressure, ADeviceIsNotByUseAlone) {
  (void)story.ask(S::budget(gib(10)));
  (void)story.ask(S::budget(gib(6)));
  (void)story.claim(1);
  (void)story.claim(2);
  (void)use(1, gib(10));
  (void)use(2, gib(6));
  (void)wait(600);
  EXPECT_EQ(story.look().pressure, Pressure::kNormal);
  EXPECT_EQ(story.look().owed, Bytes{});
  EXPECT_FALSE(device_told());
}

TEST_F(UnderPressure, ADeviceIsWhenUnmanagedProcessesTakeWhatWasGranted) {
  (void)story.ask(S::budget(gib(8)));
  (void)story.ask(S::budget(gib(6)));
  (void)story.claim(1);
  (void)story.claim(2);
  (void)use(1, gib(4));
  EXPECT_EQ(story.look().owed, gib(10));
  EXPECT_EQ(story.look().pressure, Pressure::kNormal);
  (void)device_told();
  (void)use(77, gib(3));
  EXPECT_EQ(story.look().pressure, Pressure::kWarn) << "9 GiB are free, and 10 were granted";
  EXPECT_TRUE(device_told());
  (void)use(77, gib(8));
  EXPECT_EQ(story.look().pressure, Pressure::kCritical) << "lease 2 alone lacks 2 GiB";
  EXPECT_TRUE(device_told());
  (void)use(77, {});
  EXPECT_EQ(story.look().pressure, Pressure::kCritical) << "not yet";
  (void)wait(10);
  EXPECT_EQ(story.look().pressure, Pressure::kNormal);
}

TEST_F(UnderPressure, ALeaseThatFillsItsBudgetIsLookedAtMoreOften) {
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)use(1, gib(1));
  (void)looks_again_in();
  (void)use(1, gib(5));
  EXPECT_EQ(looks_again_in(), std::nullopt) << "it grows, and has room";
  (void)use(1, gib(7));
  EXPECT_EQ(looks_again_in(), milliseconds(250));
  (void)use(1, gib(8));
  EXPECT_EQ(looks_again_in(), milliseconds(250)) << "at each look";
  (void)wait(15);
  (void)looks_again_in();
  (void)wait(600);
  EXPECT_EQ(looks_again_in(), std::nullopt) << "it stays where it is";
}

TEST_F(UnderPressure, ADeviceThatLosesWhatWasGrantedIsLookedAtMoreOften) {
  (void)story.ask(S::budget(gib(8)));
  (void)story.ask(S::budget(gib(6)));
  (void)story.claim(1);
  (void)story.claim(2);
  (void)use(1, mib(512));
  (void)use(77, gib(1));
  (void)looks_again_in();
  (void)use(77, gib(2));
  EXPECT_EQ(looks_again_in(), std::nullopt) << "all could have their budgets";
  (void)use(77, gib(3));
  EXPECT_EQ(looks_again_in(), milliseconds(250)) << "others take more and more";
  (void)wait(15);
  (void)looks_again_in();
  (void)wait(60);
  EXPECT_EQ(looks_again_in(), std::nullopt);
  (void)use(1, gib(1));
  EXPECT_EQ(looks_again_in(), milliseconds(250)) << "a lease takes of what the other lacks";
  story.hardware[0].asleep = true;
  (void)story.second();
  EXPECT_EQ(looks_again_in(), std::nullopt);
}

TEST_F(UnderPressure, TwoLeasesThatUseAllTheyHaveMeetNothingButNotices) {
  (void)story.ask(S::budget(gib(8)));
  (void)story.ask(S::budget(gib(6)));
  (void)story.claim(1);
  (void)story.claim(2);
  (void)use(1, gib(8));
  (void)use(2, gib(6));
  story.effects.clear();
  for (int second = 0; second < 600; ++second) {
    story.now.instant = story.now.instant + seconds(1);
    (void)story.sample();
  }
  for (const Effect& effect : story.effects) {
    EXPECT_FALSE(std::holds_alternative<Signal>(effect));
    EXPECT_FALSE(std::holds_alternative<Append>(effect)) << "nothing is decided about them";
  }
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

}  // namespace
}  // namespace berth::core
