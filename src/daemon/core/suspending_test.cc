// SPDX-License-Identifier: Apache-2.0
// Leases whose memory is moved to the host and back.
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// One GPU of 16 GiB, and a lease of 10 GiB of which its command uses 8.
class Suspending : public StoryTest {
 protected:
  Suspending() {
    (void)story.ask(S::budget(gib(10)));
    run(1, gib(8));
  }

  std::string suspend(std::uint64_t lease = 1, std::uint64_t token = 71) {
    return story.feed(Suspend{{token}, {{1000}}, {lease}});
  }
  std::string resume(std::uint64_t lease = 1, std::uint64_t token = 72) {
    return story.feed(Resume{{token}, {{1000}}, {lease}});
  }
  /// Lease 1 is away, and its 8 GiB are seen to be free.
  std::string put_away() {
    std::string reported = suspend();
    reported += transfer_done();
    story.use(1, {});
    return reported + story.second();
  }
};

TEST_F(Suspending, AllItsProcessesAreMovedAndItIsChargedUntilTheyAre) {
  (void)story.feed(Join{{9}, {{1000}}, {0, 1}, S::process(50)});
  EXPECT_EQ(suspend(), "move out 1; ") << "nobody is answered yet";
  EXPECT_THAT(story.last_move()->processes, ElementsAre(S::process(1), S::process(50)));
  EXPECT_EQ(story.last_move()->bytes, gib(8));
  EXPECT_EQ(lease().state, LeaseState::kHeld);
  EXPECT_TRUE(lease().flags.suspending);
  EXPECT_EQ(story.look().charged, gib(10));
}

TEST_F(Suspending, WhatItHadIsGrantedOnWhenTheDriverSaysThatItIsFree) {
  (void)story.ask(S::budget(gib(12)));
  (void)suspend();
  EXPECT_EQ(transfer_done(), "suspend 1; suspended 1; ");
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
  EXPECT_THAT(story.second(), Not(HasSubstr("grant"))) << "the driver still counts it";
  story.use(1, {});
  EXPECT_THAT(story.second(), HasSubstr("grant 2"));
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
}

TEST_F(Suspending, WhereItCannotBeItRunsOnAndTheReasonIsTold) {
  (void)suspend();
  EXPECT_EQ(transfer_done(Outcome::kUndone, "it has managed memory"), "refuse not_moved; ");
  EXPECT_THAT(story.refusal(), HasSubstr("lease 1: it has managed memory"));
  EXPECT_EQ(lease().state, LeaseState::kHeld);
  EXPECT_FALSE(lease().flags.suspending);
  EXPECT_EQ(suspend(), "move out 1; ") << "it may be tried again";
}

TEST_F(Suspending, OneThatIsStuckStaysChargedAndIsBroughtBackWhenAsked) {
  (void)suspend();
  EXPECT_EQ(transfer_done(Outcome::kStuck, "process 1 is locked"), "refuse not_moved; ");
  EXPECT_EQ(story.look().charged, gib(10));
  EXPECT_EQ(suspend(), "refuse wrong_state; ");
  EXPECT_EQ(resume(), "");
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
}

TEST_F(Suspending, SeveralWhoAskAreAllAnswered) {
  (void)suspend(1, 71);
  EXPECT_EQ(suspend(1, 73), "");
  EXPECT_EQ(transfer_done(), "suspend 1; suspended 1; suspended 1; ");
  EXPECT_EQ(suspend(1, 74), "suspended 1; ") << "it is already";
}

TEST_F(Suspending, WhatTheReserveLeavesNoRoomForReturnsAlone) {
  (void)put_away();
  (void)story.ask(S::budget(gib(1)));
  (void)story.claim(2);
  story.restart({.order = Order::kFifo, .reserve = gib(8)});
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  (void)story.end(2);
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
}

TEST_F(Suspending, ItReturnsWhenThereIsRoomAndASampleSaysSo) {
  (void)put_away();
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(2);
  EXPECT_EQ(resume(), "");
  EXPECT_TRUE(lease().flags.resuming);
  EXPECT_THAT(story.second(), Not(HasSubstr("move")));
  EXPECT_THAT(story.end(2), Not(HasSubstr("move back"))) << "no sample was asked since";
  EXPECT_EQ(story.look().charged, gib(10)) << "its budget is its own again";
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
  EXPECT_EQ(lease().state, LeaseState::kHeld);
}

TEST_F(Suspending, ASampleThatWasAskedBeforeItWasToReturnDoesNotTellOfRoom) {
  (void)put_away();
  const Instant before = story.now.instant;
  (void)story.pass(seconds(1));
  EXPECT_EQ(resume(), "");
  const Instant now = story.now.instant;
  EXPECT_EQ(story.feed(Sampled{{before, now, true, "", "", story.hardware}}), "");
  EXPECT_EQ(story.second(), "move back 1; ");
}

TEST_F(Suspending, ItDoesNotReturnWhileUnmanagedProcessesAreInTheWay) {
  (void)put_away();
  story.use(77, gib(9));
  (void)story.second();
  EXPECT_EQ(resume(), "");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(story.second(), "") << "7 GiB are free, and it had 8";
  story.use(77, gib(4));
  (void)story.second();
  (void)story.second();
  EXPECT_EQ(story.last_move()->direction, Direction::kSwapIn);
}

TEST_F(Suspending, AnUnmanagedProcessThatComesAfterItsBudgetWasReservedIsWaitedFor) {
  (void)put_away();
  EXPECT_EQ(resume(), "");
  story.use(77, gib(9));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(story.second(), "");
  story.use(77, {});
  EXPECT_EQ(story.second(), "move back 1; ");
}

TEST_F(Suspending, WhatItHadByItsOwnAccountIsEnough) {
  (void)put_away();
  (void)resume();
  story.use(77, gib(7));
  EXPECT_EQ(story.second(), "") << "9 GiB are free, and its budget is 10";
  const ChargeSample charge{
      .lease = {0, 1}, .device = device(0), .charged = mib(8704), .unchanged = true};
  const Instant at = story.now.instant;
  EXPECT_EQ(story.feed(Sampled{{at, at, true, "", "", story.hardware, {charge}}}), "move back 1; ");
}

/// Whether a lease with a ledger resumes beside an unmanaged process that uses so much.
class SuspendingMargin : public Suspending {
 protected:
  std::string returns(Bytes charged, Bytes unmanaged_process) {
    story.use(77, unmanaged_process);
    story.now.instant = story.now.instant + seconds(1);
    const ChargeSample charge{
        .lease = {0, 1}, .device = device(0), .charged = charged, .unchanged = true};
    const Instant at = story.now.instant;
    return story.feed(Sampled{{at, at, true, "", "", story.hardware, {charge}}});
  }
};

TEST_F(SuspendingMargin, ItComesBackOnlyWhere256MiBMoreThanItHadAreFree) {
  (void)put_away();
  (void)resume();
  EXPECT_EQ(returns(gib(8), gib(16 - 8)), "");
  EXPECT_EQ(returns(gib(8), saturating_sub(gib(16 - 8), mib(255))), "");
  EXPECT_EQ(returns(gib(8), saturating_sub(gib(16 - 8), mib(256))), "move back 1; ");
}

TEST_F(SuspendingMargin, OfMuchItIsThreeInAHundredMore) {
  (void)put_away();
  (void)resume();
  EXPECT_EQ(returns(mib(9728), mib(16384 - 9728 - 291)), "");
  EXPECT_EQ(returns(mib(9728), mib(16384 - 9728 - 292)), "move back 1; ");
}

TEST_F(Suspending, ItComesBeforeNewRequestsOfItsPriority) {
  (void)put_away();
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(2);
  (void)resume();
  (void)story.ask(S::budget(gib(12)));
  (void)story.end(2);
  EXPECT_EQ(story.state(3), LeaseState::kWaiting);
  EXPECT_EQ(story.look().charged, gib(10));
}

TEST_F(Suspending, WhoeverSuspendsItAgainWhileItWaitsTakesItsPlace) {
  (void)put_away();
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(2);
  (void)resume();
  EXPECT_EQ(suspend(1, 75), "refuse not_moved; suspended 1; ");
  EXPECT_FALSE(lease().flags.resuming);
}

// Until the driver was asked it may have a program that was not known, and not moved.
TEST_F(Suspending, WhatWasNeverSeenOfItIsWaitedForWhenItIsAway) {
  (void)story.ask(S::budget(gib(5)));
  (void)story.claim(2);
  (void)story.ask(S::budget(gib(4)));
  (void)suspend(2);
  EXPECT_EQ(transfer_done(), "suspend 2; suspended 2; ");
  EXPECT_EQ(story.look().charged, gib(15));
  EXPECT_THAT(story.second(), HasSubstr("grant 3"));
}

TEST_F(Suspending, WhoseBudgetFellBeforeItWasAwayIsNotAskedForWithoutEnd) {
  (void)story.feed(Resize{{80}, {{1000}}, {1}, {Share::kBudget, gib(9)}});
  (void)put_away();
  const auto asked = [&] {
    return std::ranges::count_if(story.effects, [](const Effect& effect) {
      return std::holds_alternative<AskProbe>(effect);
    });
  };
  const auto before = asked();
  (void)seconds_pass(3);
  EXPECT_EQ(asked(), before);
}

// Not all of it need be of processes that are known, and were moved.
TEST_F(Suspending, WhatItMayHaveTakenBeforeItsBudgetFellIsChargedUntilASampleTells) {
  (void)story.feed(Resize{{80}, {{1000}}, {1}, {Share::kBudget, gib(2)}});
  (void)suspend();
  (void)transfer_done();
  EXPECT_EQ(story.look().charged, gib(10));
  story.use(1, gib(3));
  (void)story.second();
  EXPECT_EQ(story.look().charged, gib(3));
  story.use(1, {});
  (void)story.second();
  EXPECT_EQ(story.look().charged, Bytes{});
}

TEST_F(Suspending, WhatItMayHaveTakenBeforeItsBudgetFellFindsRoomAlsoAfterARestart) {
  story.use(1, gib(1));
  (void)story.second();
  (void)story.feed(Resize{{80}, {{1000}}, {1}, {Share::kBudget, gib(2)}});
  EXPECT_THAT(suspend(), HasSubstr("move out 1; ")) << "and no sample since has told what it uses";
  (void)transfer_done();
  story.use(1, {});
  (void)story.second();
  story.restart();
  story.use(77, gib(8));
  (void)resume();
  EXPECT_EQ(seconds_pass(3), "") << "8 GiB are free, and it may have 10";
  story.use(77, gib(5));
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
}

TEST_F(Suspending, WhoWaitedBehindItsReturnIsGrantedWhenItIsSuspendedAgain) {
  (void)put_away();
  story.use(1, gib(1));  // That stays charged, so that no change of charges tells of it.
  (void)story.second();
  Request first = S::budget(gib(8));
  first.limit = hours(1);
  (void)story.ask(first);
  (void)story.claim(2);
  (void)resume();
  EXPECT_EQ(story.ask(S::budget(gib(7))), "waiting 3; ");  // It would be in the way in an hour.
  EXPECT_EQ(story.state(3), LeaseState::kWaiting);
  EXPECT_EQ(suspend(1, 75), "refuse not_moved; grant 3; suspended 1; ");
}

TEST_F(Suspending, AReturnThatFailsLeavesItAway) {
  (void)put_away();
  (void)resume();
  (void)story.second();
  EXPECT_EQ(transfer_done(Outcome::kUndone, "cannot start berth-mover"), "refuse not_moved; ");
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
  EXPECT_EQ(story.look().charged, gib(10)) << "the driver was not asked since";
  (void)story.second();
  EXPECT_EQ(story.look().charged, Bytes{});
}

TEST_F(Suspending, ARuinedProcessStaysChargedAndCanBeEnded) {
  (void)put_away();
  (void)resume();
  (void)story.second();
  (void)transfer_done(Outcome::kStuck, "process 1 is ruined: it can only be ended");
  EXPECT_EQ(story.look().charged, gib(10));
  EXPECT_THAT(story.feed(Cancel{{5}, {{1000}}, {1}}), HasSubstr("signal 15 to 1"));
  EXPECT_THAT(story.pass(seconds(10)), HasSubstr("signal 9 to 1"));
  EXPECT_THAT(story.end(1), HasSubstr("end 1"));
}

TEST_F(Suspending, ACommandThatEndsWhileItIsAwayIsChargedNothing) {
  (void)put_away();
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(2);
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
  EXPECT_THAT(story.end(1), HasSubstr("end 1"));
}

TEST_F(Suspending, OneThatEndsWhileItIsAwayMayHaveLeftSomethingUntilASampleTells) {
  (void)put_away();
  (void)story.feed(ReportExit{{6}, {{1000}}, {0, 1}});
  EXPECT_EQ(story.look().charged, gib(10));
  EXPECT_THAT(story.ask(S::budget(gib(8))), HasSubstr("waiting"));
  EXPECT_THAT(story.end(1) + story.second(), HasSubstr("grant 2"));
}

TEST_F(Suspending, ItEndsInTheMiddleOfAMove) {
  (void)suspend();
  EXPECT_THAT(story.end(1), HasSubstr("refuse not_moved"));
  EXPECT_EQ(transfer_done(), "") << "nobody waits for it any more";
}

TEST_F(Suspending, ItsLimitDoesNotRunMeanwhile) {
  Request request = S::budget(gib(4));
  request.limit = hours(1);
  (void)story.ask(request);
  (void)story.claim(2);
  story.use(2, gib(2));
  (void)story.second();
  (void)suspend(2);
  (void)transfer_done();
  story.use(2, {});
  (void)story.second();
  EXPECT_THAT(story.pass(hours(3)), Not(HasSubstr("revoke")));
  (void)resume(2);
  (void)story.second();
  (void)transfer_done();
  EXPECT_THAT(story.pass(minutes(59)), Not(HasSubstr("revoke")));
  EXPECT_THAT(story.pass(minutes(2)), HasSubstr("revoke 2"));
}

TEST_F(Suspending, WhatLeftIsMeasuredWhereNoAccountTellsIt) {
  (void)suspend();
  EXPECT_TRUE(story.last_move()->measure);
  (void)left(gib(12));
  (void)story.ask(S::budget(gib(5)));
  (void)story.claim(2);
  story.use(1, {});
  (void)resume();
  EXPECT_EQ(story.second() + story.second(), "") << "it had grown above its budget";
  (void)story.end(2);
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
}

TEST_F(Suspending, WhatItsOwnAccountTellsIsNotMeasured) {
  const ChargeSample charge{.lease = {0, 1}, .device = device(0), .charged = gib(8)};
  (void)story.feed(
      Sampled{{story.now.instant, story.now.instant, true, "", "", story.hardware, {charge}}});
  (void)suspend();
  EXPECT_FALSE(story.last_move()->measure);
}

TEST_F(Suspending, AWholeDeviceOfWhichNothingIsLeftIsWaitedForAndIsWholeAgainLater) {
  (void)story.end(1);
  story.use(1, {});
  (void)story.second();
  (void)story.ask(S::whole());
  (void)story.claim(2);
  (void)suspend(2);
  (void)left({});
  story.use(77, gib(16));
  (void)story.second();
  (void)resume(2);
  EXPECT_EQ(story.second(), "") << "it used nothing, and yet a budget of nothing is none";
  story.use(77, gib(9));
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 2"));
  EXPECT_EQ(lease(2).parts.at(0).granted, gib(7));
  (void)transfer_done();
  story.use(77, {});
  (void)story.second();
  (void)suspend(2);
  (void)left({});
  (void)story.second();
  (void)resume(2);
  EXPECT_THAT(story.second(), HasSubstr("move back 2"));
  EXPECT_EQ(lease(2).parts.at(0).granted, gib(16)) << "the other program has gone";
}

TEST_F(Suspending, WhatIsReleasedOnTheWayBackIsChargedUntilASampleAfterTheMoveTells) {
  (void)put_away();
  (void)resume();
  EXPECT_EQ(story.second(), "move back 1; ");
  (void)story.ask(S::budget(gib(12)));
  (void)story.feed(Release{{5}, {{1000}}, {1}, {.detach = true}});
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.second(), "") << "the driver lists nothing of it yet";
  EXPECT_EQ(story.look().charged, gib(10));
  story.use(1, gib(8));
  EXPECT_EQ(transfer_done(), "");
  EXPECT_EQ(story.second(), "") << "and now it does";
  EXPECT_EQ(story.look().charged, gib(8));
  story.use(1, {});
  EXPECT_THAT(story.end(1), HasSubstr("grant 2"));
}

TEST_F(Suspending, WhatEndsOnTheWayBackIsFreeWhenASampleSaysSo) {
  (void)put_away();
  (void)resume();
  EXPECT_EQ(story.second(), "move back 1; ");
  (void)story.ask(S::budget(gib(12)));
  EXPECT_THAT(story.end(1), HasSubstr("grant 2")) << "what is dead comes back no more";
}

TEST_F(Suspending, WhatCannotBeSuspendedIsToldWhy) {
  (void)story.ask(S::budget(gib(16)));
  EXPECT_EQ(suspend(2), "refuse wrong_state; ");
  EXPECT_THAT(story.refusal(), HasSubstr("is not held"));
  EXPECT_EQ(story.feed(Suspend{{7}, {{2000}}, {1}}), "refuse not_yours; ");
  EXPECT_EQ(resume(), "refuse wrong_state; ");
  (void)put_away();
  EXPECT_EQ(story.feed(Resize{{8}, {{1000}}, {1}, {Share::kBudget, gib(4)}}),
            "refuse wrong_state; ");
}

TEST_F(Suspending, WhoSavesItselfIsNotSuspendedAndWhoIsSuspendedNotAskedToSaveItself) {
  Request request = S::budget(gib(4));
  request.checkpoint.emplace();
  (void)story.ask(request);
  (void)story.claim(2);
  story.use(2, gib(1));
  (void)story.second();
  (void)story.feed(AskCheckpoint{{81}, {{1000}}, {2}});
  EXPECT_EQ(suspend(2), "refuse wrong_state; ");
  (void)story.feed(ReportCheckpoint{{82}, {{1000}}, {0, 2}, {1, CheckpointOutcome::kSaved, ""}});
  (void)suspend(2);
  EXPECT_EQ(story.feed(AskCheckpoint{{83}, {{1000}}, {2}}), "refuse wrong_state; ");
}

TEST_F(Suspending, AnAnswerOfAnEarlierMoveIsNotTakenForThisOne) {
  (void)suspend();
  const Transfer first = *story.last_move();
  (void)transfer_done(Outcome::kUndone, "no");
  (void)suspend();
  EXPECT_EQ(story.feed(TransferDone{first.lease, first.number, {}}), "");
  EXPECT_TRUE(lease().flags.suspending);
}

// What survives.

TEST_F(Suspending, WhatWasOnTheWayOutComesBackAfterARestart) {
  (void)suspend();
  story.restart();
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; ");
  EXPECT_EQ(lease().state, LeaseState::kHeld);
}

TEST_F(Suspending, WhatWasAwayStaysAwayAfterARestart) {
  (void)put_away();
  story.restart();
  EXPECT_EQ(story.second(), "");
  EXPECT_EQ(story.second(), "");
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
  EXPECT_EQ(story.look().charged, Bytes{});
  (void)resume();
  EXPECT_EQ(story.second(), "move back 1; ");
}

TEST_F(Suspending, WhatWaitedForRoomAndWhatWasOnTheWayBackGoOnAfterARestart) {
  (void)put_away();
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(2);
  (void)resume();
  story.restart();
  (void)story.second();
  EXPECT_TRUE(lease().flags.resuming);
  (void)story.end(2);
  story.restart();
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
  EXPECT_THAT(transfer_done(), HasSubstr("resume 1"));
}

TEST_F(Suspending, ASnapshotKeepsEachPhase) {
  const auto flags_after_snapshot = [&] {
    Coordinator fresh({.order = Order::kFifo, .reserve = {}});
    for (const Record& record : story.coordinator.snapshot(story.now)) {
      EXPECT_TRUE(fresh.apply(record).ok());
    }
    (void)fresh.step(story.now, Recovered{});
    const LeaseView view = *fresh.lease({1}, story.now);
    return std::pair(view.state, view.flags);
  };
  (void)suspend();
  EXPECT_EQ(flags_after_snapshot(), std::pair(lease().state, lease().flags));
  (void)transfer_done();
  EXPECT_EQ(flags_after_snapshot(), std::pair(lease().state, lease().flags));
  story.use(1, {});
  (void)story.second();
  (void)resume();
  EXPECT_EQ(flags_after_snapshot(), std::pair(lease().state, lease().flags));
}

}  // namespace
}  // namespace berth::core
