// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

class Resizing : public testing::Test {
 protected:
  Resizing() {
    (void)story.ask(S::budget(gib(8)));
    (void)story.claim(1);
    (void)story.ask(S::budget(gib(6)));
    (void)story.claim(2);
  }

  /// Lease 3, which has 2 GiB and was asked to shrink so.
  void run_third(Shrink shrink, Bytes used) {
    (void)story.ask({.vram = gib(2), .shrink = shrink});
    (void)story.claim(3);
    story.use(3, used);
    (void)story.second();
  }
  Bytes granted(std::uint64_t lease) {
    return story.coordinator.lease({lease}, story.now)->parts[0].granted;
  }
  /// So many minutes, with a sample in each.
  std::string minutes_pass(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += story.pass(minutes(1));
      out += story.sample();
    }
    return out;
  }

  std::string resize(std::uint64_t lease, Bytes vram, std::optional<Duration> wait = {}) {
    return story.feed(Resize{{++token}, {{1000}}, {lease}, {Share::kBudget, vram, wait}});
  }

  Story story{{.order = Order::kFifo, .reserve = {}}};
  std::uint64_t token = 100;
};

TEST_F(Resizing, WhatAShrinkFreesIsGrantedWhenItIsKnownToBeFree) {
  (void)story.ask(S::budget(gib(4)));
  const Sample older{story.now.instant, story.now.instant, true, "", "", story.hardware};
  (void)story.pass(seconds(1));
  EXPECT_EQ(resize(1, gib(6)), "resize 1; held 1; ");
  EXPECT_EQ(story.feed(Sampled{older}), "");
  EXPECT_EQ(story.look().charged, gib(14));
  EXPECT_EQ(story.sample(), "grant 3; ");
  EXPECT_EQ(story.look().charged, gib(16));
}

TEST_F(Resizing, AShrunkLeaseThatEndsIsChargedWhatItHadUntilASampleTellsMore) {
  (void)resize(1, gib(2));
  (void)story.feed(Release{{9}, {{1000}}, {1}, {.detach = true}});
  EXPECT_EQ(story.look().charged, gib(14));
}

// The sample that tells what is left finds it held, and on its way out.
TEST_F(Resizing, AShrunkLeaseThatEndsOnItsWayOutIsChargedWhatItLeftByTheFirstSample) {
  story.use(1, gib(7));
  (void)story.second();
  (void)story.ask(S::budget(gib(8)));
  (void)resize(1, gib(6));
  (void)story.feed(Suspend{{++token}, {{1000}}, {1}});
  (void)story.feed(ReportExit{{++token}, {{1000}, true}, {0, 1}});
  story.use(1, gib(2), 0, false);
  EXPECT_EQ(story.look().charged, gib(14)) << "nobody has looked yet";
  (void)story.sample();
  EXPECT_EQ(story.state(3), LeaseState::kHeld) << "beside 2 that are left, and 6";
  EXPECT_EQ(story.look().charged, gib(16));
}

TEST_F(Resizing, ShrinkingBelowUseKeepsTheUseCharged) {
  story.use(1, gib(7));
  (void)story.sample();
  EXPECT_EQ(resize(1, gib(4)), "over 1; resize 1; held 1; ");
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.over_budget);
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look().charged, gib(13));
  story.use(1, gib(3));
  EXPECT_EQ(story.sample(), "in budget 1; ");
  EXPECT_EQ(story.look().charged, gib(10));
}

TEST_F(Resizing, GrowingIsGrantedNowOrRefusedWithWhatIsMissing) {
  EXPECT_EQ(resize(1, gib(10)), "resize 1; held 1; ");
  EXPECT_EQ(resize(1, gib(11)), "refuse busy; ");
  EXPECT_EQ(story.look().grantable, Bytes{});
  EXPECT_EQ(resize(1, gib(17)), "refuse never_fits; ");
}

TEST_F(Resizing, AGrowthThatWaitsComesBeforeNewRequests) {
  EXPECT_EQ(resize(1, gib(15), minutes(10)), "");
  EXPECT_EQ(story.ask(S::budget(gib(2))), "waiting 3; ");  // 15 + 2 do not fit together.
  EXPECT_EQ(story.ask(S::budget(gib(1))), "held 4; ");
  EXPECT_EQ(story.end(2), "held 2; end 2; resize 1; held 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts[0].granted, gib(15));
}

// A request may pass the growth of a lease of lower priority, and nobody else for that.
TEST_F(Resizing, AGrowthThatWaitsHidesNoReservation) {
  EXPECT_EQ(resize(1, gib(15), minutes(10)), "");
  EXPECT_EQ(story.ask(S::whole()), "waiting 3; ");
  Request high = S::budget(gib(1));
  high.priority = Priority::kHigh;
  EXPECT_EQ(story.ask(high), "waiting 4; ");
}

TEST_F(Resizing, AGrowthWaitsNoLongerThanItSaid) {
  EXPECT_EQ(resize(1, gib(12), minutes(10)), "");
  EXPECT_EQ(story.pass(minutes(10)), "refuse busy; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts[0].granted, gib(8));
}

// The growth's time is looked at first, and the limit stays due at its earlier instant.
TEST_F(Resizing, WhoeverIsWokenLateFindsSeveralThingsDueOfOneLease) {
  Request limited = S::budget(gib(1));
  limited.limit = seconds(10);
  (void)story.ask(limited);
  (void)story.claim(3);
  (void)resize(3, gib(4), seconds(12));
  EXPECT_EQ(story.pass(seconds(20)), "refuse busy; revoke 3; signal 15 to 3; ");
}

TEST_F(Resizing, TwoThatWouldWaitForEachOtherAreNotLeftToDoSo) {
  EXPECT_EQ(resize(1, gib(12), minutes(10)), "");
  EXPECT_EQ(resize(2, gib(9), minutes(10)), "refuse would_wait_for_each_other; ");
}

TEST_F(Resizing, BelowTheContextEstimateMakesNoSense) {
  EXPECT_EQ(resize(1, mib(100)), "refuse invalid; ");
}

TEST_F(Resizing, OnlyAHeldLeaseIsResized) {
  (void)story.ask(S::budget(gib(8)));
  EXPECT_EQ(resize(3, gib(4)), "refuse wrong_state; ");
  EXPECT_EQ(resize(99, gib(4)), "refuse not_found; ");
}

// An offer lapses, and a client that waited for it to grow would wait for ever.
TEST_F(Resizing, AnOfferIsResizedWhenItIsClaimed) {
  (void)story.ask(S::budget(gib(1)));
  EXPECT_EQ(resize(3, gib(2)), "refuse wrong_state; ");
  (void)story.claim(3);
  EXPECT_EQ(resize(3, gib(2)), "resize 3; held 3; ");
}

TEST_F(Resizing, ExclusiveOpensAndClosesOnlyWhenAlone) {
  const auto exclusive = [&] {
    return story.feed(Resize{{++token}, {{1000}}, {1}, {Share::kExclusive}});
  };
  EXPECT_EQ(exclusive(), "refuse busy; ");
  (void)story.end(2);
  EXPECT_EQ(exclusive(), "resize 1; held 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts[0].granted, gib(16));
  EXPECT_EQ(story.ask(S::budget(gib(4))), "waiting 3; ");
  EXPECT_EQ(resize(1, gib(8)), "resize 1; held 1; ");
  EXPECT_EQ(story.sample(), "grant 3; ");
}

TEST_F(Resizing, EveryGrowthThatWaitsIsAnsweredWhenItsLeaseEnds) {
  EXPECT_EQ(resize(1, gib(12), minutes(10)), "");
  EXPECT_EQ(story.feed(Release{{9}, {{1000}}, {1}, {.detach = true}}),
            "refuse wrong_state; detach 1; releasing 1; ");
}

TEST_F(Resizing, AGrowthThatWaitsIsAnsweredWhenTheCommandIsGone) {
  EXPECT_EQ(resize(1, gib(12), minutes(10)), "");
  EXPECT_EQ(story.end(1), "held 1; refuse wrong_state; end 1; ");
}

TEST_F(Resizing, ALeaseAboveItsBudgetGrowsNoFurtherThanBudgetsMay) {
  story.use(1, gib(12));
  (void)story.sample();  // 12 in use and 6 promised, on 16.
  EXPECT_EQ(resize(1, gib(11)), "refuse busy; ");
}

TEST_F(Resizing, AGrowthWhoseRequesterHangsUpIsForgotten) {
  EXPECT_EQ(resize(1, gib(12), minutes(10)), "");
  (void)story.feed(GrowthRequesterGone{{1}});
  EXPECT_EQ(story.ask(S::budget(gib(2))), "held 3; ");
}

TEST_F(Resizing, WhatIsFarAboveItsUseForTenMinutesShrinksByItself) {
  run_third(Shrink::kAuto, mib(600));
  EXPECT_EQ(minutes_pass(9), "");
  EXPECT_EQ(granted(3), gib(2));
  EXPECT_EQ(minutes_pass(1), "resize 3; ");
  EXPECT_EQ(granted(3), mib(704)) << "64 MiB more, in steps of 64";
  EXPECT_EQ(minutes_pass(30), "") << "it is near its use now";
}

TEST_F(Resizing, WhoDoesNotAskForThatKeepsItsBudget) {
  run_third(Shrink::kNever, mib(600));
  EXPECT_EQ(minutes_pass(30), "");
  EXPECT_EQ(granted(3), gib(2));
}

TEST_F(Resizing, ItsPeakIsItsUse) {
  run_third(Shrink::kAuto, mib(1'100));
  story.use(3, mib(600));
  EXPECT_EQ(minutes_pass(30), "");
  EXPECT_EQ(granted(3), gib(2)) << "it may need as much again";
}

TEST_F(Resizing, WhatShrinksByItselfIsGrantedWhenItIsKnownToBeFree) {
  run_third(Shrink::kAuto, mib(600));
  EXPECT_EQ(story.ask(S::budget(gib(1))), "waiting 4; ");
  EXPECT_EQ(minutes_pass(9), "");
  EXPECT_EQ(minutes_pass(1), "resize 3; ");
  EXPECT_EQ(story.second(), "grant 4; ");
}

TEST_F(Resizing, WhileItIsNotMeasuredNothingIsKnownOfItsUse) {
  run_third(Shrink::kAuto, mib(600));
  (void)minutes_pass(9);
  story.use(3, Bytes{});
  EXPECT_EQ(minutes_pass(1), "");
  story.use(3, mib(600));
  EXPECT_EQ(minutes_pass(10), "") << "the ten minutes begin anew";
  EXPECT_EQ(minutes_pass(1), "resize 3; ");
}

TEST_F(Resizing, AnotherBudgetIsGivenItsTime) {
  run_third(Shrink::kAuto, mib(600));
  (void)minutes_pass(9);
  EXPECT_EQ(resize(3, mib(1'900)), "resize 3; held 3; ");
  EXPECT_EQ(minutes_pass(10), "");
  EXPECT_EQ(minutes_pass(1), "resize 3; ");
  EXPECT_EQ(granted(3), mib(704));
}

TEST_F(Resizing, AWholeGpuStaysWhole) {
  (void)story.end(1);
  (void)story.end(2);
  Request whole = S::whole();
  whole.shrink = Shrink::kAuto;
  (void)story.ask(whole);
  (void)story.claim(3);
  story.use(3, mib(600));
  EXPECT_EQ(minutes_pass(30), "");
}

TEST_F(Resizing, WhoWasRefusedMemoryKeepsAllByItself) {
  run_third(Shrink::kAuto, mib(600));
  for (int minute = 0; minute != 30; ++minute) {
    (void)story.pass(minutes(1));
    Sample sample{story.now.instant, story.now.instant, true, "", "", story.hardware, {}};
    sample.charges = {{.lease = {0, 3}, .device = device(0), .charged = mib(600), .refused = 1}};
    EXPECT_EQ(story.feed(Sampled{std::move(sample)}), "");
  }
  EXPECT_EQ(granted(3), gib(2));
}

TEST_F(Resizing, WhoWaitsToGrowDoesNotShrinkByItself) {
  run_third(Shrink::kAuto, mib(600));
  EXPECT_EQ(resize(3, gib(4), hours(1)), "");
  EXPECT_EQ(minutes_pass(30), "");
  EXPECT_EQ(story.end(1), "held 1; end 1; resize 3; held 3; ");
}

TEST_F(Resizing, WhatIsFrozenDoesNotShrinkByItself) {
  run_third(Shrink::kAuto, mib(600));
  (void)story.feed(Freeze{{++token}, {{1000}}, {3}});
  const Transfer stop = story.last_move().value();
  (void)story.feed(TransferDone{stop.lease, stop.number, {}});
  EXPECT_EQ(minutes_pass(30), "");
  EXPECT_EQ(granted(3), gib(2));
}

TEST_F(Resizing, WhoSuspendsGetsItsTimeAnew) {
  run_third(Shrink::kAuto, mib(600));
  (void)minutes_pass(9);
  EXPECT_EQ(story.feed(Suspend{{++token}, {{1000}}, {3}}), "move out 3; ");
  EXPECT_EQ(minutes_pass(2), "");
  EXPECT_EQ(granted(3), gib(2));
}

TEST_F(Resizing, ThatItShrinksByItselfSurvivesARestart) {
  run_third(Shrink::kAuto, mib(600));
  (void)minutes_pass(9);
  story.restart_from_snapshot({.order = Order::kFifo, .reserve = {}});
  EXPECT_EQ(minutes_pass(10), "") << "its peak before is not known";
  EXPECT_EQ(minutes_pass(1), "resize 3; ");
  EXPECT_EQ(granted(3), mib(704));
}

}  // namespace
}  // namespace berth::core
