// SPDX-License-Identifier: Apache-2.0
// Jobs: requests that stay when their requester leaves, and are started by another process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// Lease 1 holds the GPU. Each lease n was asked for by process 1000 + n.
class Jobs : public StoryTest {
 protected:
  Jobs() {
    (void)story.sample();
    (void)story.ask(S::whole());
    run(1, gib(8));
  }
  /// Asked for, kept, and left alone.
  void submit(Request request = S::whole()) {
    (void)story.ask(std::move(request));
    (void)keep(story.handles);
    (void)gone(story.handles);
  }
  std::string connect(std::uint64_t lease, ReconnectBody body = {}) {
    return story.feed(Reconnect{{70 + lease}, {{1000}}, {0, lease}, body});
  }
  std::string keep(std::uint64_t lease) { return connect(lease, {.keep = true}); }
  std::string gone(std::uint64_t lease) { return story.feed(RequesterGone{{lease}}); }
  /// By a process of its own, which runs the command.
  std::string start(std::uint64_t lease, std::uint64_t starter) {
    const Actor actor{.user = {1000}, .process = S::process(starter)};
    return story.feed(Claim{{lease}, actor, {0, lease}, {S::process(lease), restarts_}});
  }
  /// Lease 2 runs, may be requeued, and others wait behind it.
  void run_second(int others = 0) {
    Request again = S::whole();
    again.requeue_grace = seconds(10);
    submit(again);
    for (int i = 0; i < others; ++i) submit();
    (void)connect(2);
    (void)first_ends();
    (void)start(2, 500);
  }
  std::string first_ends() {
    story.use(1, {});
    return story.end(1);
  }
  LeaseView view(std::uint64_t lease) { return *story.coordinator.lease({lease}, story.now); }
  WhyView::Reason reason(std::uint64_t lease) {
    return story.coordinator.why({lease}, story.now)->reason;
  }
  std::uint32_t restarts_ = 0;
};

TEST_F(Jobs, OneThatCannotBeStartedHasFailedAndSaysHow) {
  submit();
  ReportExit report{{71}, {{1000}}, {0, 2}, {.exit = {.code = 126}}};
  EXPECT_EQ(story.feed(report), "refuse wrong_state; ") << "it is not said to be all";
  report.body.kind = EndKind::kFinal;
  EXPECT_EQ(story.feed(report), "end 2; ended 2; ");
  EXPECT_EQ(view(2).result, EndResult::kFailed);
  EXPECT_EQ(view(2).exit, (ExitStatus{.code = 126}));
  submit();
  EXPECT_EQ(first_ends(), "held 1; end 1; ");
  (void)connect(3);
  ASSERT_TRUE(view(3).flags.unclaimed);
  EXPECT_EQ(story.feed(ReportExit{
                {72}, {{1000}}, {0, 3}, {.exit = {.code = 126}, .kind = EndKind::kFinal}}),
            "end 3; ended 3; ");
  EXPECT_EQ(view(3).result, EndResult::kFailed);
}

TEST_F(Jobs, StaysWhenItsRequesterLeavesAndIsGrantedNothingUntilSomebodyIsThere) {
  (void)story.ask(S::whole());
  EXPECT_FALSE(view(2).job);
  EXPECT_EQ(keep(2), "waiting 2; ");
  EXPECT_TRUE(view(2).job);
  EXPECT_EQ(view(2).supervisor, std::nullopt);
  EXPECT_EQ(gone(2), "");
  EXPECT_EQ(reason(2), WhyView::Reason::kNotReconnected);
  EXPECT_EQ(first_ends(), "held 1; end 1; ");
  EXPECT_EQ(connect(2), "held 2; ");
}

TEST_F(Jobs, OthersPassItMeanwhileAndItKeepsItsPlace) {
  submit();
  (void)story.ask(S::whole());
  (void)story.ask(S::whole());
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
  (void)story.claim(3);
  (void)connect(2);
  EXPECT_THAT(story.end(3), HasSubstr("grant 2; "));
}

TEST_F(Jobs, TheEndOfTheProcessThatAskedForItIsNothingToIt) {
  submit();
  (void)story.feed(ProcessEnded{S::process(1002)});
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  story.restart();
  (void)story.feed(ProcessEnded{S::process(1002)});
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
}

TEST_F(Jobs, WhatWasOfferedStaysForTheProcessThatStartsIt) {
  (void)story.ask(S::whole());
  (void)first_ends();
  ASSERT_TRUE(view(2).flags.unclaimed);
  (void)keep(2);
  EXPECT_EQ(gone(2), "");
  EXPECT_TRUE(view(2).flags.unclaimed);
  EXPECT_EQ(connect(2), "held 2; ");
  EXPECT_EQ(start(2, 500), "held 2; ");
  EXPECT_EQ(view(2).supervisor, S::process(500));
  EXPECT_EQ(view(2).command, S::process(2));
}

TEST_F(Jobs, AnOfferThatNobodyTakesUpGoesToTheNextAndItIsNotParked) {
  submit();
  (void)story.ask(S::whole());
  (void)connect(2);
  (void)first_ends();
  ASSERT_TRUE(view(2).flags.unclaimed);
  EXPECT_THAT(story.pass(seconds(6)), HasSubstr("grant 3; "));
  EXPECT_FALSE(view(2).flags.parked);
  EXPECT_EQ(view(2).queue_position, 1U);
  (void)story.claim(3);
  (void)connect(2);
  EXPECT_THAT(story.end(3), HasSubstr("grant 2; "));
}

TEST_F(Jobs, WaitsForAnyTime) {
  submit();
  for (int i = 0; i < 30; ++i) (void)story.pass(hours(1));
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  (void)connect(2);
  EXPECT_THAT(first_ends(), HasSubstr("grant 2; "));
}

TEST_F(Jobs, OutlastsTheDaemonASnapshotAndTheTimeInWhichOthersHaveToComeBack) {
  submit();
  story.restart();
  EXPECT_TRUE(view(2).job);
  story.restart_from_snapshot();
  EXPECT_TRUE(view(2).job);
  (void)story.pass(limits::kReconnectWithin + seconds(1));
  (void)story.pass(hours(2));
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_FALSE(view(2).flags.parked);
  (void)connect(2);
  EXPECT_THAT(first_ends(), HasSubstr("grant 2; "));
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Jobs, WhoStartedItIsKnownAfterASnapshot) {
  submit();
  (void)connect(2);
  (void)first_ends();
  (void)start(2, 500);
  story.restart_from_snapshot();
  EXPECT_EQ(view(2).supervisor, S::process(500));
  EXPECT_EQ(view(2).state, LeaseState::kHeld);
}

TEST_F(Jobs, AfterARebootWhatWaitedWaitsOnInItsOrderAndWhatRanIsLost) {
  submit();
  submit();
  (void)story.ask(S::whole());
  (void)story.pass(minutes(5));
  story.use(1, {});
  story.now.instant = Instant{} + seconds(30);  // Of another boot.
  story.restart({.order = Order::kFifo}, false);
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(story.state(4), LeaseState::kEnded) << "its requester is gone";
  EXPECT_EQ(view(2).queue_position, 1U);
  EXPECT_EQ(view(3).queue_position, 2U);
  EXPECT_EQ(view(2).restarts, 0U);
  (void)story.sample();
  EXPECT_EQ(connect(3), "waiting 3; ");
  EXPECT_EQ(connect(2), "held 2; ");
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Jobs, AfterARebootWhatMayBeRequeuedIsStartedAgain) {
  run_second(1);
  story.now.instant = Instant{} + seconds(30);
  story.restart({.order = Order::kFifo}, false);
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_EQ(view(2).restarts, 1U);
  EXPECT_EQ(view(2).supervisor, std::nullopt);
  (void)story.sample();
  EXPECT_EQ(connect(2, {.restarts = 1}), "held 2; ");
  restarts_ = 1;
  EXPECT_EQ(start(2, 501), "held 2; ");
}

/// Lease 2 runs, and may be requeued.
class EndsWithTheMachine : public Jobs {
 protected:
  EndsWithTheMachine() {
    run_second();
    story.use(2, gib(1), 0, false);  // The driver frees that later.
  }
  void ends(const ExitBody& body) {
    (void)story.feed(ReportExit{{73}, {{1000}}, {0, 2}, body});
    (void)story.feed(ProcessEnded{S::process(2)});
  }
  LeaseView after_reboot() {
    (void)story.sample();
    EXPECT_EQ(view(2).state, LeaseState::kReleasing);
    story.use(2, {});
    story.now.instant = Instant{} + seconds(30);
    story.restart({.order = Order::kFifo}, false);
    EXPECT_EQ(story.records_refused, 0);
    return view(2);
  }
};

TEST_F(EndsWithTheMachine, OneWhoseEndNobodyHasToldIsStartedAgain) {
  (void)story.feed(ProcessEnded{S::process(2)});
  const LeaseView after = after_reboot();
  EXPECT_EQ(after.state, LeaseState::kWaiting);
  EXPECT_EQ(after.restarts, 1U);
}

TEST_F(EndsWithTheMachine, OneThatAShutdownHasEndedIsStartedAgain) {
  ends({.exit = {.signal = 15}, .kind = EndKind::kShutdown});
  EXPECT_EQ(after_reboot().state, LeaseState::kWaiting);
  (void)story.sample();
  EXPECT_EQ(connect(2, {.restarts = 1}), "held 2; ");
  restarts_ = 1;
  (void)start(2, 501);
  (void)story.feed(ReportExit{{74}, {{1000}}, {0, 2}, {.exit = {.signal = 15}, .restarts = 1}});
  EXPECT_THAT(story.feed(ProcessEnded{S::process(2)}) + story.sample(),
              testing::HasSubstr("end 2; "))
      << "that is forgotten then";
}

TEST_F(EndsWithTheMachine, OneThatHasEndedKeepsItsResult) {
  ends({.exit = {.code = 0}});
  const LeaseView after = after_reboot();
  EXPECT_EQ(after.state, LeaseState::kEnded);
  EXPECT_EQ(after.result, EndResult::kOk);
}

TEST_F(EndsWithTheMachine, OneThatWasCancelledStaysSo) {
  (void)story.feed(Cancel{{9}, {{1000}}, {2}});
  (void)story.feed(ProcessEnded{S::process(2)});
  EXPECT_EQ(after_reboot().result, EndResult::kCancelled);
}

TEST_F(Jobs, ASaveThatTheMachineEndedIsNotAwaitedAfterItsNextStart) {
  Request again = S::whole();
  again.requeue_grace = seconds(10);
  again.checkpoint = CheckpointWay{.kind = CheckpointKind::kSignal, .grace = seconds(30)};
  submit(again);
  (void)connect(2);
  (void)first_ends();
  (void)start(2, 500);
  (void)story.feed(AskCheckpoint{{75}, {{1000}}, {2}});
  ASSERT_TRUE(view(2).flags.checkpointing);
  story.now.instant = Instant{} + seconds(30);
  story.restart({.order = Order::kFifo}, false);
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_FALSE(view(2).flags.checkpointing);
}

TEST_F(Jobs, WhatHasBegunOrIsReservedBecomesNoJob) {
  EXPECT_EQ(keep(1), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(), "lease 1 has begun, and only what waits becomes a job");
  Request reservation = S::whole();
  reservation.ttl = minutes(5);
  (void)story.ask(reservation);
  EXPECT_EQ(keep(2), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(), "lease 2 is a reservation, which is no job");
  (void)story.ask(S::whole());
  EXPECT_EQ(story.feed(Reconnect{{9}, {{2000}}, {0, 3}, {.keep = true}}), "refuse not_yours; ");
}

TEST_F(Jobs, SaidTwiceItIsOne) {
  submit();
  EXPECT_EQ(keep(2), "waiting 2; ");
  EXPECT_TRUE(view(2).job);
}

TEST_F(Jobs, RequeuedItStaysInTheQueueAlsoWhereWhoStartedItEnds) {
  run_second();
  (void)story.ask(S::whole());
  (void)story.feed(AskRequeue{{80}, {{1000}}, {2}, {}});
  (void)story.feed(BeginRequeue{{81}, {{1000}}, {0, 2}, {}});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)connect(2, {.restarts = 1});
  (void)story.second();
  ASSERT_EQ(view(2).state, LeaseState::kWaiting);
  (void)gone(2);
  (void)story.feed(ProcessEnded{S::process(500)});
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
}

}  // namespace
}  // namespace berth::core
