// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using Outcome = CheckpointOutcome;

// Lease 1 runs as process 1 below 1001, may be requeued, and uses 4 GiB of its 8.
class Requeuing : public testing::Test {
 protected:
  Requeuing() {
    (void)hold({});
    story.use(1, gib(4));
    (void)story.sample();
  }

  std::string hold(std::optional<CheckpointWay> way, Bytes vram = gib(8)) {
    Request request = S::budget(vram);
    request.requeue_grace = seconds(20);
    request.checkpoint = way;
    std::string out = story.ask(request);
    return out + story.claim(story.handles);
  }
  std::string hold_saving() {
    return hold(CheckpointWay{.kind = CheckpointKind::kCmd, .grace = seconds(60)}, gib(1));
  }
  std::string ask(std::uint64_t lease = 1, bool unsaved = false) {
    return story.feed(AskRequeue{{++token}, {{1000}}, {lease}, {unsaved}});
  }
  std::string begin(std::uint64_t lease = 1) {
    return story.feed(BeginRequeue{{++token}, {{1000}}, {0, lease}});
  }
  std::string saved(std::uint64_t lease, Outcome outcome) {
    const auto asked = view(lease).checkpoints.asked;
    return story.feed(ReportCheckpoint{
        {++token}, {{1000}}, {0, lease}, {asked ? asked->number : 0, outcome, "detail"}});
  }
  /// Its `berth run` waits for the next start.
  std::string reconnects(std::uint64_t lease = 1) {
    return story.feed(Reconnect{{++token}, {{1000}}, {0, lease}, {view(lease).restarts + 1}});
  }
  /// The command of lease 1 is dead, and nothing of it is listed.
  std::string die() {
    std::string out = story.feed(ProcessEnded{S::process(1)});
    story.use(1, Bytes{});
    return out + story.sample();
  }
  LeaseView view(std::uint64_t lease = 1) { return *story.coordinator.lease({lease}, story.now); }
  std::string claim_again(std::uint64_t pid) {
    return story.feed(Claim{{++token}, {{1000}}, {0, 1}, {S::process(pid), 1}});
  }

  Story story;
  std::uint64_t token = 100;
};

TEST_F(Requeuing, WhoAskedForItIsKnownAfterARestartToo) {
  EXPECT_EQ(story.feed(AskRequeue{{++token}, {{0}, true}, {1}, {false}}), "stop 1; ");
  EXPECT_EQ(view().requeued_by, UserId{0});
  (void)ask(1, true);
  EXPECT_EQ(view().requeued_by, UserId{0}) << "who joins did not begin it";
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_EQ(view().requeued_by, UserId{0});
}

TEST_F(Requeuing, ItIsAskedStoppedFreedAndWaitsAgain) {
  (void)story.ask(S::budget(gib(12)));  // Another waits for the whole of it.
  EXPECT_EQ(ask(), "stop 1; ");
  EXPECT_EQ(view().requeue, RequeueStep::kAsked);
  EXPECT_TRUE(view().flags.requeuing);
  EXPECT_EQ(view().requeued_by, UserId{1000});
  EXPECT_EQ(begin(), "stopping 1; held 1; ");
  EXPECT_EQ(view().requeue, RequeueStep::kStopping);
  EXPECT_EQ(reconnects(), "held 1; ");
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1)}), "");
  EXPECT_EQ(story.sample(), "");  // It still has its memory: released is not free.
  EXPECT_EQ(view().state, LeaseState::kReleasing);
  EXPECT_EQ(view().requeue, RequeueStep::kStopped);
  story.use(1, Bytes{});
  EXPECT_EQ(story.sample(), "requeue 1; grant 2; waiting 1; ");
  EXPECT_EQ(view().restarts, 1u);
  EXPECT_EQ(view().requeue, std::nullopt);
  EXPECT_EQ(view().command, std::nullopt);
  EXPECT_EQ(view().parts.size(), 0u);
}

TEST_F(Requeuing, OfTheNextRunNothingOfTheLastIsKnown) {
  (void)ask();
  (void)begin();
  (void)reconnects();
  EXPECT_EQ(die(), "requeue 1; grant 1; held 1; ");
  EXPECT_TRUE(view().flags.unclaimed);
  EXPECT_EQ(claim_again(21), "held 1; ");
  (void)story.pass(seconds(3));
  story.use(21, gib(1));
  (void)story.sample();
  EXPECT_EQ(view().command, S::process(21));
  EXPECT_EQ(view().parts.at(0).peak, gib(1));
  EXPECT_EQ(view().exit, std::nullopt);
  (void)story.feed(ReportExit{{++token}, {{1000}}, {0, 1}, {{.code = 3}, {}, 1}});
  (void)story.feed(ProcessEnded{S::process(21)});
  story.use(21, Bytes{});
  (void)story.sample();
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(view().result, EndResult::kFailed);
  EXPECT_EQ(view().exit, (ExitStatus{.code = 3}));
  EXPECT_EQ(view().restarts, 1u);
}

TEST_F(Requeuing, ItWaitsBehindThoseWhoAskedBeforeItWasRequeued) {
  (void)story.pass(seconds(5));
  (void)story.ask(S::budget(gib(10)));  // 2
  (void)story.ask(S::budget(gib(10)));  // 3
  (void)story.pass(seconds(5));
  (void)ask();
  (void)begin();
  (void)reconnects();
  EXPECT_EQ(die(), "requeue 1; grant 2; waiting 1; ");
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{3}, {1}}));
  (void)story.ask(S::budget(gib(10)));  // 4
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{3}, {1}, {4}}));
}

TEST_F(Requeuing, ItsWaitsAreCountedTogether) {
  (void)story.pass(seconds(5));
  (void)story.ask(S::budget(gib(12)));
  (void)ask();
  (void)begin();
  (void)reconnects();
  (void)die();
  (void)story.pass(seconds(4));  // The offer to the other lapses after five.
  EXPECT_EQ(view().waited, seconds(4));
  story.restart();
  EXPECT_EQ(view().waited, seconds(4));
  EXPECT_EQ(view().restarts, 1u);
}

TEST_F(Requeuing, WhatHasRunOnceWaitsAsLongAsItTakes) {
  Request request = S::budget(gib(7));
  request.requeue_grace = seconds(20);
  request.wait_max = Duration{};
  (void)story.ask(request);
  (void)story.claim(2);
  (void)story.ask(S::budget(gib(7)));  // 3
  (void)ask(2);
  (void)begin(2);
  (void)reconnects(2);
  (void)story.feed(ProcessEnded{S::process(2)});
  EXPECT_EQ(story.sample(), "requeue 2; grant 3; waiting 2; ");
  (void)story.claim(3);
  EXPECT_EQ(story.pass(hours(10)), "");
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
}

TEST_F(Requeuing, FirstItSavesItself) {
  (void)hold_saving();
  EXPECT_EQ(ask(2), "save 2; ");
  EXPECT_EQ(view(2).checkpoints.asked->reason, CheckpointReason::kRequeue);
  EXPECT_EQ(view(2).requeue, RequeueStep::kSaving);
  EXPECT_EQ(begin(2), "refuse wrong_state; ");
  EXPECT_EQ(saved(2, Outcome::kSaved), "save over 2; stop 2; held 2; ");
  EXPECT_EQ(begin(2), "stopping 2; held 2; ");
}

TEST_F(Requeuing, WhatIsNotConfirmedIsNotStopped) {
  (void)hold_saving();
  for (const Outcome outcome :
       {Outcome::kUnconfirmed, Outcome::kFailed, Outcome::kTimedOut, Outcome::kUncaught}) {
    EXPECT_EQ(ask(2), "save 2; ");
    EXPECT_EQ(saved(2, outcome), "save over 2; no requeue 2; refuse not_requeued; held 2; ");
    EXPECT_FALSE(view(2).flags.requeuing);
    EXPECT_EQ(begin(2), "refuse wrong_state; ");
  }
}

TEST_F(Requeuing, UnlessThatWasSaid) {
  (void)hold_saving();
  EXPECT_EQ(ask(2, true), "save 2; ");
  EXPECT_EQ(saved(2, Outcome::kFailed), "save over 2; stop 2; held 2; ");
}

TEST_F(Requeuing, ASecondRequesterMaySaySo) {
  (void)hold_saving();
  (void)ask(2);
  EXPECT_EQ(ask(2, true), "");
  EXPECT_EQ(saved(2, Outcome::kFailed), "save over 2; stop 2; held 2; ");
}

TEST_F(Requeuing, ASaveUnderWayWillDo) {
  (void)hold_saving();
  (void)story.feed(AskCheckpoint{{++token}, {{1000}}, {2}, {Duration{}}});
  EXPECT_EQ(ask(2), "");
  EXPECT_EQ(saved(2, Outcome::kSaved), "save over 2; stop 2; held 2; ");
}

TEST_F(Requeuing, MeanwhileNoOtherSaveIsAskedFor) {
  (void)hold(CheckpointWay{.grace = seconds(1), .every = seconds(2)}, gib(1));
  (void)ask(2);
  (void)saved(2, Outcome::kSaved);
  EXPECT_EQ(story.feed(AskCheckpoint{{++token}, {{1000}}, {2}}), "refuse wrong_state; ");
  (void)begin(2);
  EXPECT_EQ(story.pass(seconds(10)), "");
}

TEST_F(Requeuing, WhoAsksMeanwhileJoins) {
  EXPECT_EQ(ask(), "stop 1; ");
  EXPECT_EQ(ask(), "");
  (void)begin();
  EXPECT_EQ(ask(), "");
  (void)reconnects();
  EXPECT_EQ(die(), "requeue 1; grant 1; held 1; held 1; held 1; ");
}

TEST_F(Requeuing, WhatCannotBeRequeuedIsRefused) {
  (void)story.ask(S::budget(gib(1)));
  (void)story.claim(2);
  EXPECT_EQ(ask(2), "refuse wrong_state; ");  // Its owner has not said that it may be.
  Request large = S::budget(gib(15));
  large.requeue_grace = seconds(1);
  (void)story.ask(large);
  EXPECT_EQ(ask(3), "refuse wrong_state; ");
  EXPECT_EQ(ask(99), "refuse not_found; ");
  EXPECT_EQ(story.feed(AskRequeue{{++token}, {{1001}}, {1}, {false}}), "refuse not_yours; ");
  (void)story.feed(Suspend{{++token}, {{1000}}, {1}});
  EXPECT_EQ(ask(1), "refuse wrong_state; ");
  (void)story.feed(Cancel{{++token}, {{1000}}, {1}});
  EXPECT_EQ(ask(1), "refuse wrong_state; ");
  Request reservation = S::budget(gib(1));
  reservation.requeue_grace = seconds(1);
  reservation.ttl = hours(1);
  EXPECT_EQ(story.ask(reservation), "refuse invalid; ");
}

TEST_F(Requeuing, NothingIsStoppedWhileNobodyAnswers) {
  (void)ask();
  EXPECT_EQ(story.pass(limits::kRequeueHeardWithin), "no requeue 1; refuse not_requeued; ");
  EXPECT_EQ(begin(), "refuse wrong_state; ");
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
}

TEST_F(Requeuing, WithoutItsSupervisorNothingIsStopped) {
  (void)ask();
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1001)}), "no requeue 1; refuse not_requeued; ");
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  (void)hold_saving();
  (void)ask(2, true);
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1002)}),
            "save over 2; no requeue 2; refuse not_requeued; ");
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

TEST_F(Requeuing, WhoseSupervisorDiesWhileItStopsItEnds) {
  (void)ask();
  (void)begin();
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1001)}),
            "no requeue 1; refuse not_requeued; revoke 1; signal 15 to 1; ");
  (void)die();
  (void)story.pass(seconds(1));
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(view().result, EndResult::kCancelled);
}

TEST_F(Requeuing, WhoseSupervisorDiesWhileItsMemoryIsFreedEnds) {
  (void)ask();
  (void)begin();
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1001)}), "no requeue 1; refuse not_requeued; ");
  (void)die();
  (void)story.pass(seconds(1));
  EXPECT_EQ(view().result, EndResult::kCancelled);
}

TEST_F(Requeuing, WhoHangsUpWhileItIsStoppedEndsIt) {
  (void)ask();
  (void)begin();
  (void)reconnects();
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  EXPECT_EQ(story.feed(RequesterGone{{1}}), "no requeue 1; refuse not_requeued; ");
  (void)die();
  (void)story.pass(seconds(1));
  EXPECT_EQ(view().result, EndResult::kCancelled);
}

TEST_F(Requeuing, ACommandThatEndsByItselfHasEnded) {
  (void)ask();
  EXPECT_EQ(story.feed(ReportExit{{++token}, {{1000}}, {0, 1}}),
            "no requeue 1; refuse not_requeued; held 1; ");
  (void)die();
  EXPECT_EQ(view().result, EndResult::kOk);
  EXPECT_EQ(view().restarts, 0u);
}

// Its end came before it was told to stop, and before the daemon knew.
TEST_F(Requeuing, NeitherIsOneStartedAgainThatWasAboutToBeStopped) {
  (void)ask();
  (void)begin();
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  EXPECT_EQ(story.feed(ReportExit{{++token}, {{1000}}, {0, 1}}),
            "no requeue 1; refuse not_requeued; releasing 1; ");
  (void)die();
  EXPECT_EQ(view().result, EndResult::kOk);
}

TEST_F(Requeuing, ItIsWaitedForUntilItsSupervisorIsBack) {
  (void)ask();
  (void)begin();
  EXPECT_EQ(die(), "");
  EXPECT_EQ(story.pass(seconds(20)), "");
  EXPECT_EQ(reconnects(), "requeue 1; held 1; held 1; ");
}

TEST_F(Requeuing, WhoDoesNotComeBackIsSetAside) {
  (void)ask();
  (void)begin();
  (void)die();
  EXPECT_EQ(story.pass(seconds(20) + limits::kRequeueMargin), "requeue 1; waiting 1; ");
  (void)story.pass(limits::kReconnectWithin);
  EXPECT_TRUE(view().flags.parked);
  EXPECT_EQ(story.feed(Reconnect{{++token}, {{1000}}, {0, 1}, {1}}), "held 1; ");
}

TEST_F(Requeuing, WhatItsSupervisorDoesNotStopIsKilled) {
  (void)ask();
  (void)begin();
  EXPECT_EQ(story.pass(seconds(20) + limits::kRequeueMargin + milliseconds(-1)), "");
  EXPECT_EQ(story.pass(milliseconds(1)), "signal 9 to 1; ");
}

TEST_F(Requeuing, LeftoversAreItsSupervisorsMatter) {
  Request request = S::budget(gib(1));
  request.requeue_grace = seconds(20);
  request.leftovers = Leftovers::kKill;
  (void)story.ask(request);
  (void)story.claim(2);
  (void)story.feed(Join{{++token}, {{1000}}, {0, 2}, S::process(22)});
  (void)ask(2);
  (void)begin(2);
  EXPECT_EQ(story.feed(ProcessEnded{S::process(2)}), "");
  EXPECT_EQ(story.sample(), "");
  (void)reconnects(2);
  EXPECT_EQ(story.feed(ProcessEnded{S::process(22)}), "");
  EXPECT_EQ(story.sample(), "requeue 2; grant 2; held 2; ");
}

TEST_F(Requeuing, ALimitIsThatOfOneRun) {
  Request request = S::budget(gib(1));
  request.requeue_grace = seconds(20);
  request.limit = minutes(1);
  (void)story.ask(request);
  (void)story.claim(2);
  (void)story.pass(seconds(50));
  (void)ask(2);
  (void)begin(2);
  EXPECT_EQ(story.pass(seconds(12)), "");  // It is stopped anyway.
  (void)reconnects(2);
  (void)story.feed(ProcessEnded{S::process(2)});
  EXPECT_EQ(story.sample(), "requeue 2; grant 2; held 2; ");
  (void)story.feed(Claim{{++token}, {{1000}}, {0, 2}, {S::process(22), 1}});
  EXPECT_EQ(story.pass(seconds(59)), "");
  EXPECT_EQ(story.pass(seconds(1)), "revoke 2; signal 15 to 22; ");
}

TEST_F(Requeuing, ToCancelItEndsIt) {
  (void)ask();
  EXPECT_EQ(story.feed(Cancel{{++token}, {{1000}}, {1}}),
            "no requeue 1; refuse not_requeued; revoke 1; signal 15 to 1; held 1; ");
  (void)hold({}, gib(1));
  (void)ask(2);
  (void)begin(2);
  EXPECT_EQ(story.feed(Cancel{{++token}, {{1000}}, {2}}),
            "no requeue 2; refuse not_requeued; revoke 2; signal 15 to 2; held 2; ");
  (void)hold({}, gib(1));
  (void)ask(3);
  (void)begin(3);
  (void)story.feed(ProcessEnded{S::process(3)});
  story.use(3, gib(1), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.feed(Cancel{{++token}, {{1000}}, {3}}),
            "no requeue 3; refuse not_requeued; releasing 3; ");
  EXPECT_EQ(view(3).result, EndResult::kCancelled);
}

TEST_F(Requeuing, ItMakesRoomForNobodyMeanwhile) {
  (void)ask();
  EXPECT_EQ(story.feed(Suspend{{++token}, {{1000}}, {1}}), "refuse wrong_state; ");
}

TEST_F(Requeuing, WhatWasSaidForAnEarlierRunIsOld) {
  (void)ask();
  (void)begin();
  (void)reconnects();
  (void)die();
  EXPECT_EQ(story.feed(Claim{{++token}, {{1000}}, {0, 1}, {S::process(1)}}),
            "refuse wrong_state; ");
  EXPECT_EQ(story.feed(Reconnect{{++token}, {{1000}}, {0, 1}}), "refuse wrong_state; ");
  EXPECT_EQ(claim_again(21), "held 1; ");
  EXPECT_EQ(story.feed(ReportExit{{++token}, {{1000}}, {0, 1}}), "held 1; ");
  EXPECT_EQ(view().exit, std::nullopt);
  EXPECT_EQ(begin(), "refuse wrong_state; ");
}

// The daemon dies at each point of it: the next one goes on from there.

TEST_F(Requeuing, ADaemonThatDiesWhileItSavesGoesOnSaving) {
  (void)hold_saving();
  (void)ask(2);
  story.restart();
  EXPECT_EQ(view(2).requeue, RequeueStep::kSaving);
  EXPECT_EQ(saved(2, Outcome::kSaved), "save over 2; stop 2; held 2; ");
}

TEST_F(Requeuing, ADaemonThatDiesBeforeItIsBegunWaitsForAnAnswer) {
  (void)ask();
  story.restart();
  EXPECT_EQ(view().requeue, RequeueStep::kAsked);
  (void)story.pass(limits::kReconnectWithin);
  EXPECT_EQ(begin(), "stopping 1; held 1; ");
}

TEST_F(Requeuing, AfterARestartWhoDoesNotAnswerIsNotStoppedEither) {
  (void)ask();
  story.restart();
  EXPECT_EQ(story.pass(limits::kReconnectWithin + limits::kRequeueHeardWithin), "no requeue 1; ");
}

TEST_F(Requeuing, ADaemonThatDiesWhileItIsStoppedKnowsThatItIs) {
  (void)ask();
  (void)begin();
  story.restart();
  EXPECT_EQ(view().requeue, RequeueStep::kStopping);
  (void)reconnects();
  EXPECT_EQ(die(), "requeue 1; grant 1; ");
}

TEST_F(Requeuing, ADaemonThatDiesWhileMemoryIsFreedPutsItBackAllTheSame) {
  (void)ask();
  (void)begin();
  (void)reconnects();
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  story.restart();
  EXPECT_EQ(view().requeue, RequeueStep::kStopped);
  story.use(1, Bytes{});
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(reconnects(), "requeue 1; held 1; ");
}

TEST_F(Requeuing, APlaceInTheQueueOutlivesTheDaemon) {
  (void)story.ask(S::budget(gib(12)));
  (void)ask();
  (void)begin();
  (void)reconnects();
  (void)die();
  story.restart();
  EXPECT_EQ(story.state(1), LeaseState::kWaiting);
  EXPECT_EQ(view().restarts, 1u);
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1001)}), "end 1; ");
}

}  // namespace
}  // namespace berth::core
