// SPDX-License-Identifier: Apache-2.0
// Leases that a user paused by hand: for how long, why, and what that outlasts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

/// One GPU of 16 GiB, and a lease of 10 GiB of which its command uses 8.
class Pausing : public StoryTest {
 protected:
  Pausing() {
    (void)story.ask({.priority = Priority::kNormal, .vram = gib(10), .may_yield = true});
    run(1, gib(8));
  }

  std::string suspend(const PauseBody& terms) {
    return story.feed(Suspend{{71}, {{1000}}, {1}, terms});
  }
  std::string freeze(const PauseBody& terms) {
    return story.feed(Freeze{{70}, {{1000}}, {1}, terms});
  }
  std::string resume() { return story.feed(Resume{{72}, {{1000}}, {1}}); }
  /// It is in host memory, and its 8 GiB are seen to be free.
  void put_away(const PauseBody& terms) {
    (void)suspend(terms);
    (void)transfer_done();
    story.use(1, {});
    (void)story.second();
  }
  void restart() { story.restart({.order = Order::kFifo, .reserve = {}}); }
};

TEST_F(Pausing, ItIsToldSinceWhenUntilWhenAndWhy) {
  put_away({.lasts = minutes(10), .reason = "lunch"});
  const UnixMs since = lease().pause.value_or(Pause{}).since;
  EXPECT_NE(since, UnixMs{});
  EXPECT_EQ(lease().pause, (Pause{.since = since,
                                  .reason = "lunch",
                                  .until = UnixMs{since.value + 600'000},
                                  .by = UserId{1000}}));
  (void)resume();
  EXPECT_EQ(lease().pause, std::nullopt) << "from then on it waits for room";
}

TEST_F(Pausing, WhenItsTimeIsOverItComesBackByItself) {
  put_away({.lasts = seconds(60)});
  EXPECT_EQ(seconds_pass(58), "");
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; ");
  EXPECT_EQ(lease().pause, std::nullopt);
}

TEST_F(Pausing, TheTimeCountsFromWhenItWasAskedForAndNotBeforeItIsAway) {
  (void)suspend({.lasts = seconds(5)});
  EXPECT_EQ(seconds_pass(10), "") << "it is on the way";
  EXPECT_THAT(transfer_done(), HasSubstr("suspended 1; "));
  story.use(1, {});
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
}

TEST_F(Pausing, TheLastWordCounts) {
  put_away({.lasts = seconds(5), .reason = "a moment"});
  EXPECT_EQ(suspend({.reason = "for good"}), "suspended 1; ");
  EXPECT_EQ(seconds_pass(600), "");
  EXPECT_EQ(lease().pause.value_or(Pause{}).reason, "for good");
  EXPECT_EQ(suspend({.lasts = seconds(5)}), "suspended 1; ");
  EXPECT_THAT(seconds_pass(8), HasSubstr("move back 1; "));
}

TEST_F(Pausing, WhatIsFrozenGoesOnWhenItsTimeIsOver) {
  (void)freeze({.lasts = seconds(30), .reason = "a build"});
  EXPECT_EQ(transfer_done(), "freeze 1; held 1; ");
  EXPECT_EQ(seconds_pass(29), "");
  EXPECT_EQ(seconds_pass(2), "let go on 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; ");
  EXPECT_EQ(lease().pause, std::nullopt);
}

TEST_F(Pausing, WhatCannotBeThawedIsTriedAgainLater) {
  (void)freeze({.lasts = seconds(5)});
  (void)transfer_done();
  EXPECT_EQ(seconds_pass(6), "let go on 1; ");
  EXPECT_THAT(transfer_done(Outcome::kUndone, "the system is out of processes"),
              Not(HasSubstr("resume")));
  EXPECT_EQ(seconds_pass(50), "");
  EXPECT_EQ(seconds_pass(15), "let go on 1; ");
}

TEST_F(Pausing, OfWhatIsFrozenAndAwayBothAreUndone) {
  put_away({});
  (void)freeze({.lasts = seconds(5)});
  (void)transfer_done();
  EXPECT_EQ(seconds_pass(6), "let go on 1; ");
  EXPECT_EQ(transfer_done(), "");
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
}

TEST_F(Pausing, WhatIsFrozenGoesOnInTimeAlsoWhereItWaitsForRoomToReturn) {
  put_away({});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(2);
  (void)resume();
  (void)freeze({.lasts = seconds(30)});
  (void)transfer_done();
  (void)story.end(2);
  story.use(99, gib(12));
  EXPECT_EQ(seconds_pass(29), "");
  ASSERT_TRUE(lease().flags.resuming);
  EXPECT_EQ(seconds_pass(2), "let go on 1; ");
  (void)transfer_done();
  EXPECT_EQ(lease().pause, std::nullopt);
  EXPECT_TRUE(lease().flags.resuming);
}

TEST_F(Pausing, WhatCameToNothingIsNoPause) {
  (void)suspend({.lasts = minutes(1), .reason = "lunch"});
  EXPECT_EQ(transfer_done(Outcome::kUndone, "it has managed memory"), "refuse not_moved; ");
  EXPECT_EQ(lease().pause, std::nullopt);
  (void)freeze({.reason = "lunch"});
  EXPECT_THAT(transfer_done(Outcome::kUndone, "it cannot"), HasSubstr("let go on 1"));
  (void)transfer_done();
  EXPECT_EQ(lease().pause, std::nullopt);
}

TEST_F(Pausing, WhatCannotBeStoppedOnItsWayBackIsNotPausedWhenTheReturnFailsToo) {
  put_away({});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(2);
  (void)resume();
  (void)freeze({.reason = "lunch"});
  (void)story.end(2);
  (void)story.second();
  EXPECT_TRUE(lease().flags.resuming);
  EXPECT_THAT(transfer_done(Outcome::kUndone, "it cannot"), HasSubstr("let go on 1"));
  (void)transfer_done();
  EXPECT_EQ(lease().pause, std::nullopt);
  EXPECT_THAT(seconds_pass(2), HasSubstr("move back 1"));
  (void)transfer_done(Outcome::kUndone, "the driver refuses");
  EXPECT_EQ(lease().pause, std::nullopt);
}

TEST_F(Pausing, ItOutlastsTheDaemonAndASnapshot) {
  put_away({.lasts = seconds(60), .reason = "lunch"});
  const std::optional<Pause> before = lease().pause;
  Coordinator fresh({.order = Order::kFifo, .reserve = {}});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    EXPECT_TRUE(fresh.apply(record).ok());
  }
  (void)fresh.step(story.now, Recovered{});
  EXPECT_EQ(fresh.lease({1}, story.now)->pause, before);
  restart();
  EXPECT_EQ(lease().pause, before);
  EXPECT_EQ(seconds_pass(57), "");
  EXPECT_THAT(seconds_pass(5), HasSubstr("move back 1; "));
}

TEST_F(Pausing, WhoMadeRoomForAnUrgentOneAndIsPausedThenStaysAwayAfterIt) {
  Request urgent = S::budget(gib(10));
  urgent.priority = Priority::kUrgent;
  EXPECT_THAT(story.ask(urgent), HasSubstr("move out 1; "));
  (void)transfer_done();
  story.use(1, {});
  EXPECT_THAT(story.second(), HasSubstr("grant 2; "));
  EXPECT_EQ(suspend({.reason = "for good"}), "suspended 1; ");
  (void)story.claim(2);
  (void)story.end(2);
  EXPECT_EQ(seconds_pass(30), "");
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
}

TEST_F(Pausing, NobodyElseEndsIt) {
  put_away({.lasts = seconds(60)});
  EXPECT_EQ(story.feed(Resume{{72}, {{2000}}, {1}}), "refuse not_yours; ");
  EXPECT_NE(lease().pause, std::nullopt);
}

TEST_F(Pausing, WhatHasEndedIsNotPausedAnyMore) {
  (void)freeze({.reason = "lunch"});
  (void)transfer_done();
  (void)story.feed(
      Release{.token = {73}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
  EXPECT_EQ(lease().state, LeaseState::kReleasing);
  EXPECT_EQ(lease().pause, std::nullopt);
}

}  // namespace
}  // namespace berth::core
