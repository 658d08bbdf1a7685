// SPDX-License-Identifier: Apache-2.0
// Leases that run in turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// One GPU of 16 GiB. A move takes a second, so that a turn lasts 40.
class Slices : public StoryTest {
 protected:
  static Request slice(Bytes vram, Priority priority = Priority::kNormal) {
    return {.priority = priority, .share = Share::kSlice, .vram = vram};
  }
  std::string ask(const Request& request, std::uint32_t user = 1000) {
    return story.ask(request, user);
  }
  std::string hold(const Request& request, Bytes used) {
    const std::string reported = ask(request);
    run(story.handles, used);
    return reported;
  }
  /// What is told next, in ten minutes at most, and after how many seconds.
  std::string next() {
    std::string reported;
    for (waited = 0; waited < 600 && reported.empty(); ++waited) reported = seconds_pass(1);
    return reported;
  }
  std::string transfer_done(Outcome outcome = Outcome::kDone) {
    story.now.instant = story.now.instant + seconds(1);
    return StoryTest::transfer_done(outcome, "it cannot");
  }
  /// After what was told, what the next so many samples bring.
  std::string then(std::string reported, int samples = 1) {
    for (int i = 0; i < samples; ++i) reported += story.second();
    return reported;
  }
  /// Who leaves has left, and the driver has said so, once or more.
  std::string left(int samples = 1) {
    const std::uint64_t n = story.last_move().value().lease.value;
    std::string reported = transfer_done();
    story.use(n, {});
    return then(std::move(reported), samples);
  }
  /// Who comes back is there with so much.
  std::string came_back(Bytes used) {
    const std::uint64_t n = story.last_move().value().lease.value;
    story.use(n, used);
    return then(transfer_done());
  }
  /// Leases 1 and 2 of 10 GiB: 1 is away after its first turn, and 2 has its own.
  void two_in_turns() {
    (void)hold(slice(gib(10)), gib(8));
    (void)ask(slice(gib(10)));
    (void)next();
    (void)left();
    run(2, gib(8));
  }
  int waited = 0;
};

TEST_F(Slices, NothingIsSwitchedWhileAllFit) {
  EXPECT_EQ(hold(slice(gib(8)), gib(7)), "held 1; ");
  EXPECT_EQ(hold(slice(gib(8)), gib(7)), "held 2; ");
  EXPECT_EQ(seconds_pass(600), "");
  EXPECT_EQ(story.look().charged, gib(16));
}

TEST_F(Slices, TwoThatDoNotFitTogetherTakeTurns) {
  (void)hold(slice(gib(10)), gib(8));
  EXPECT_EQ(ask(slice(gib(10))), "waiting 2; ");
  EXPECT_EQ(seconds_pass(80), "") << "its turn is not over";
  EXPECT_EQ(next(), "move out 1; ");
  EXPECT_THAT(left(), AllOf(HasSubstr("suspend 1"), HasSubstr("grant 2")));
  EXPECT_EQ(lease(1).state, LeaseState::kSuspended);
  EXPECT_TRUE(lease(1).flags.resuming) << "it wants its next turn";
  run(2, gib(8));
  EXPECT_EQ(seconds_pass(80), "");
  EXPECT_EQ(next(), "move out 2; ");
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
  EXPECT_THAT(came_back(gib(8)), HasSubstr("resume 1"));
  EXPECT_EQ(lease(1).state, LeaseState::kHeld);
  EXPECT_EQ(lease(2).state, LeaseState::kSuspended);
}

TEST_F(Slices, ATurnLastsTwentyTimesWhatItsMovesTookTheLastTime) {
  two_in_turns();
  (void)next();
  EXPECT_EQ(story.last_move().value().lease, LeaseId{2});
  (void)left();
  (void)story.second();
  (void)came_back(gib(8));
  // A second to go, and one to come back, and two looks whether there is room.
  EXPECT_EQ(next(), "move out 1; ");
  EXPECT_NEAR(waited, 20 * (1 + 1 + 2), 2);
}

TEST_F(Slices, TheLeastTurnAndTheLossAreSettings) {
  story = Story(
      {.order = Order::kFifo, .reserve = {}, .turns = {.least = seconds(3), .loss_percent = 0}});
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(10)));
  EXPECT_THAT(seconds_pass(3), HasSubstr("move out 1"));
}

TEST_F(Slices, SeveralThatFitTogetherAreThereTogether) {
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(8)));
  (void)ask(slice(gib(8)));
  (void)next();
  EXPECT_THAT(left(), AllOf(HasSubstr("grant 2"), HasSubstr("grant 3")));
  run(2, gib(1));
  run(3, gib(1));
  EXPECT_THAT(next(), HasSubstr("move out 2")) << "both have to go, and both turns are over";
  EXPECT_THAT(lease(3).flags.suspending, true);
}

TEST_F(Slices, WhatARaisedReserveLeavesNoRoomForHasItsTurnAlone) {
  story = Story({.order = Order::kFifo, .reserve = gib(2)});
  (void)hold(slice(gib(10)), gib(10));
  (void)ask(slice(gib(5)));
  (void)next();
  EXPECT_THAT(left(), HasSubstr("grant 2"));
  run(2, gib(4));
  story.restart({.order = Order::kFifo, .reserve = gib(8)});
  EXPECT_EQ(next(), "move out 2; ");
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
}

TEST_F(Slices, WhoAskedFirstHasHisTurnFirst) {
  two_in_turns();
  (void)ask(slice(gib(10)));
  EXPECT_EQ(next(), "move out 2; ");
  EXPECT_THAT(left(2), AllOf(HasSubstr("move back 1"), Not(HasSubstr("grant 3"))))
      << "it has waited for longer";
  (void)came_back(gib(8));
  EXPECT_THAT(next(), HasSubstr("move out 1"));
  EXPECT_THAT(left(), HasSubstr("grant 3")) << "and 3 for longer than 2";
}

TEST_F(Slices, WithFairWhoHasHadLeastComesFirst) {
  story = Story({.order = Order::kFair, .reserve = {}});
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(10)));
  (void)next();
  (void)left();
  run(2, gib(8));
  (void)ask(slice(gib(10)), 2000);
  EXPECT_THAT(next(), HasSubstr("move out 2"));
  EXPECT_THAT(left(), HasSubstr("grant 3")) << "user 1000 has had enough";
}

TEST_F(Slices, NobodyIsTakenTheTurnForAnotherKindOfRequest) {
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(S::budget(gib(10)));
  EXPECT_EQ(seconds_pass(300), "");
}

TEST_F(Slices, WhatOneIsAwayFromIsKeptForItsNextTurn) {
  two_in_turns();
  EXPECT_EQ(ask(S::budget(gib(6))), "held 3; ") << "all fit beside it";
  (void)story.claim(3);
  EXPECT_THAT(story.end(3), HasSubstr("end 3; "));
  EXPECT_EQ(ask(S::budget(gib(7))), "waiting 4; ");
  EXPECT_EQ(next(), "move out 2; ");
  EXPECT_THAT(left(2), AllOf(HasSubstr("move back 1"), Not(HasSubstr("grant 4"))));
}

TEST_F(Slices, ASmallOneDoesNotComeBeforeTheNext) {
  two_in_turns();
  EXPECT_EQ(ask(slice(gib(2))), "waiting 3; ") << "the turn of 1 is next";
  (void)next();
  EXPECT_THAT(left(), HasSubstr("grant 3")) << "and beside it there is room";
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
}

TEST_F(Slices, WhoEndsOrIsReleasedLeavesItsPlaceToTheNext) {
  two_in_turns();
  EXPECT_THAT(
      story.feed(Release{.token = {5}, .actor = {{1000}}, .lease = {2}, .body = {.detach = true}}),
      HasSubstr("releasing 2"));
  story.use(2, {});
  EXPECT_THAT(then(story.second()), HasSubstr("move back 1"));
}

TEST_F(Slices, WhoIsPausedByHandLeavesItsPlaceToTheNextAndStaysAway) {
  two_in_turns();
  EXPECT_EQ(story.feed(Suspend{{7}, {{1000}}, {2}}), "move out 2; ");
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
  EXPECT_FALSE(lease(2).flags.resuming);
  (void)came_back(gib(8));
  EXPECT_EQ(seconds_pass(300), "");
}

TEST_F(Slices, WhoIsPausedWhileItsTurnEndsStaysAway) {
  two_in_turns();
  EXPECT_EQ(next(), "move out 2; ");
  EXPECT_EQ(story.feed(Suspend{{7}, {{1000}}, {2}}), "");
  EXPECT_THAT(left(), HasSubstr("suspended 2"));
  EXPECT_FALSE(lease(2).flags.resuming);
  (void)story.second();
  (void)came_back(gib(8));
  EXPECT_EQ(seconds_pass(300), "");
  EXPECT_EQ(story.feed(Resume{{8}, {{1000}}, {2}}), "move out 1; ") << "now it wants a turn again";
}

TEST_F(Slices, WhoIsFrozenAwayWantsNoTurn) {
  two_in_turns();
  EXPECT_EQ(story.feed(Freeze{{7}, {{1000}}, {1}}), "stop 1; ");
  (void)transfer_done();
  EXPECT_EQ(seconds_pass(300), "");
  EXPECT_EQ(story.feed(Resume{{8}, {{1000}}, {1}}), "let go on 1; ");
  EXPECT_THAT(then(transfer_done()), HasSubstr("move out 2"));
}

TEST_F(Slices, WhoIsFrozenAwayKeepsNobodyFromHisFirstTurn) {
  two_in_turns();
  (void)story.feed(Freeze{{7}, {{1000}}, {1}});
  (void)transfer_done();
  EXPECT_EQ(ask(slice(gib(10))), "waiting 3; ");
  EXPECT_THAT(next(), HasSubstr("move out 2"));
  EXPECT_THAT(left(), HasSubstr("grant 3"));
}

TEST_F(Slices, WhileOneDeviceIsLeftForOneTheNextHasTheOther) {
  story = Story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(12)));
  (void)story.claim(2);
  story.use(2, gib(10), 1);
  (void)story.second();
  (void)ask(slice(gib(10)));
  (void)ask(slice(gib(10)));
  EXPECT_EQ(next(), "move out 1; ") << "for the third";
  EXPECT_EQ(next(), "move out 2; ") << "for the fourth, although the first is not gone yet";
}

// Not when a sample comes: by then the first may have left, and the third be next on both again.
TEST_F(Slices, WhoFitsWhereTheNextIsNoLongerAwaitedIsGrantedAtOnce) {
  story = Story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(12)));
  (void)story.claim(2);
  story.use(2, gib(10), 1);
  (void)story.second();
  (void)ask(slice(gib(10)));
  EXPECT_EQ(ask(slice(gib(4))), "waiting 4; ") << "the third is next on both";
  std::string reported;
  for (int i = 0; i < 600 && reported.empty(); ++i) reported = story.pass(seconds(1));
  EXPECT_EQ(reported, "move out 1; grant 4; ") << "for the third, which comes there";
}

TEST_F(Slices, WhoHasWaitedTooLongComesFirstAlsoWhereOthersAreOfAnotherKind) {
  story = Story({.order = Order::kFair, .starve_after = seconds(5), .reserve = {}});
  (void)hold(Story::whole(), gib(1));
  (void)ask(slice(gib(9), Priority::kLow));
  (void)seconds_pass(6);
  (void)ask(slice(gib(9)));
  (void)ask({.vram = gib(9)}, 1001);
  story.use(1, {});
  EXPECT_THAT(story.end(1), HasSubstr("grant 2; ")) << "as in the queue";
}

TEST_F(Slices, WhoIsToBeRequeuedIsNotTakenItsTurn) {
  Request request = slice(gib(10));
  request.requeue_grace = seconds(5);
  (void)hold(request, gib(8));
  (void)ask(slice(gib(10)));
  (void)seconds_pass(60);
  EXPECT_THAT(story.feed(AskRequeue{.token = {9}, .actor = {{1000}}, .lease = {1}}),
              HasSubstr("stop 1"));
  (void)story.feed(BeginRequeue{.token = {10}, .actor = {{1000}}, .handle = {0, 1}});
  EXPECT_THAT(seconds_pass(3), Not(HasSubstr("move out")));
}

TEST_F(Slices, WhoCannotBeMovedKeepsItsTurnAndIsTriedAgainLater) {
  (void)hold(slice(gib(10)), gib(8));
  (void)ask(slice(gib(10)));
  EXPECT_THAT(next(), HasSubstr("move out 1"));
  EXPECT_EQ(transfer_done(Outcome::kUndone), "");
  EXPECT_EQ(lease(1).state, LeaseState::kHeld);
  EXPECT_THAT(next(), HasSubstr("move out 1"));
  EXPECT_GE(waited, 59);
}

TEST_F(Slices, AReturnThatFailsIsTriedAgainLater) {
  two_in_turns();
  (void)next();
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
  (void)transfer_done(Outcome::kUndone);
  EXPECT_TRUE(lease(1).flags.resuming);
  EXPECT_THAT(then(story.second()), HasSubstr("move back 2")) << "somebody runs meanwhile";
}

// The client that asked is told, and may ask again; the lease has its turns all the same.
TEST_F(Slices, AReturnThatFailsIsTriedAgainLaterAlthoughSomebodyAskedForIt) {
  two_in_turns();
  (void)next();
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
  (void)story.feed(Resume{{9}, {{1000}}, {1}});
  EXPECT_THAT(transfer_done(Outcome::kUndone), HasSubstr("refuse not_moved"));
  EXPECT_TRUE(lease(1).flags.resuming);
  EXPECT_EQ(lease(1).halt.value().reason, Halt::Reason::kTurn);
  story.use(2, {});
  (void)story.end(2);
  EXPECT_THAT(next(), HasSubstr("move back 1"));
}

TEST_F(Slices, AnUrgentRequestIsGivenWayToAndItsTurnIsGivenBack) {
  story = Story({.order = Order::kPriority, .reserve = {}});
  Request yielding = slice(gib(10));
  yielding.may_yield = true;
  (void)hold(yielding, gib(8));
  (void)ask({.priority = Priority::kUrgent, .vram = gib(12)});
  EXPECT_EQ(story.last_move().value().direction, Direction::kSwapOut);
  EXPECT_THAT(left(), HasSubstr("grant 2"));
  run(2, gib(8));
  EXPECT_EQ(seconds_pass(300), "") << "what is no slice keeps what it has";
  story.use(2, {});
  EXPECT_THAT(then(story.end(2)), HasSubstr("move back 1"));
}

TEST_F(Slices, TurnsGoOnAfterARestart) {
  two_in_turns();
  (void)ask(slice(gib(10)));
  story.restart({.order = Order::kFifo, .reserve = {}});
  (void)story.second();
  EXPECT_TRUE(lease(1).flags.resuming);
  EXPECT_THAT(next(), HasSubstr("move out 2"));
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_THAT(then(story.second()), HasSubstr("move back 1"));
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Slices, ATurnThatWasEndingGoesOnAfterARestart) {
  two_in_turns();
  EXPECT_EQ(next(), "move out 2; ");
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_THAT(story.second(), HasSubstr("move back 2")) << "wherever it was";
  EXPECT_THAT(came_back(gib(8)), HasSubstr("resume 2"));
  EXPECT_THAT(next(), HasSubstr("move out 2"));
  EXPECT_THAT(left(2), HasSubstr("move back 1"));
}

TEST_F(Slices, ASnapshotKeepsWhoWaitsForHisTurnAndWhere) {
  two_in_turns();
  (void)ask(slice(gib(10)));
  story.effects.clear();
  Coordinator fresh({.order = Order::kFifo, .reserve = {}});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    EXPECT_TRUE(fresh.apply(record).ok());
  }
  story.coordinator = std::move(fresh);
  (void)story.feed(Recovered{});
  (void)story.feed(Reconnect{.token = {3}, .actor = {{1000}}, .handle = {0, 3}});
  (void)story.second();
  EXPECT_THAT(next(), HasSubstr("move out 2"));
  EXPECT_THAT(left(2), AllOf(HasSubstr("move back 1"), Not(HasSubstr("grant 3"))));
}

TEST_F(Slices, WhatCannotRunInTurnsIsRefusedAndToldWhy) {
  Request request = slice(gib(1));
  request.device_count = 2;
  EXPECT_EQ(ask(request), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("on one GPU"));
  request = slice(gib(1));
  request.ttl = hours(1);
  EXPECT_EQ(ask(request), "refuse invalid; ");
  EXPECT_EQ(ask(slice({})), "refuse invalid; ");
  EXPECT_EQ(ask(slice(gib(17))), "refuse never_fits; ");
  const Instant at = story.now.instant;
  (void)story.feed(Sampled{{at, at, true, "560.35", "", story.hardware}});
  EXPECT_EQ(ask(slice(gib(1))), "refuse not_supported; ");
  EXPECT_THAT(story.refusal(), AllOf(HasSubstr("560.35"), HasSubstr("570")));
  (void)story.feed(Sampled{{at, at, true, "575.57", "", story.hardware}});
  EXPECT_EQ(ask(slice(gib(1))), "held 1; ");
}

TEST_F(Slices, AResizedSliceStaysOne) {
  (void)hold(slice(gib(10)), gib(4));
  EXPECT_EQ(story.feed(Resize{{8}, {{1000}}, {1}, {Share::kExclusive}}), "refuse wrong_state; ");
  EXPECT_EQ(story.feed(Resize{{8}, {{1000}}, {1}, {Share::kSlice, gib(8)}}), "resize 1; held 1; ");
  EXPECT_EQ(story.feed(Resize{{8}, {{1000}}, {1}, {Share::kSlice, gib(12)}}), "resize 1; held 1; ");
  EXPECT_EQ(lease(1).request.share, Share::kSlice);
  (void)ask(slice(gib(10)));
  EXPECT_THAT(next(), HasSubstr("move out 1"));
}

}  // namespace
}  // namespace berth::core
