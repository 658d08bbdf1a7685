// SPDX-License-Identifier: Apache-2.0
// Commands that fail and are started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/run_history.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Lease 1 is a job, and may fail three times; process 1 runs below 500.
class Retrying : public StoryTest {
 protected:
  Retrying() {
    (void)story.sample();
    Request request = S::budget(gib(4));
    request.retry_max = 3;
    request.retry_after = seconds(10);
    submit(request);
  }
  void submit(Request request) {
    (void)story.ask(std::move(request));
    const std::uint64_t id = story.handles;
    (void)story.feed(Reconnect{{70}, {{1000}}, {0, id}, {.keep = true}});
    (void)start(id);
  }
  std::string start(std::uint64_t id) {
    const std::uint32_t restarts = view(id).restarts;
    std::string out = story.feed(Reconnect{{71}, {{1000}}, {0, id}, {restarts}});
    const Actor starter{.user = {1000}, .process = S::process(500)};
    return out + story.feed(Claim{{72}, starter, {0, id}, {S::process(id), restarts}});
  }
  /// Its command exits so, and its memory is free.
  std::string ends(std::uint64_t id, ExitBody body) {
    body.restarts = view(id).restarts;
    story.use(id, {});
    std::string out = story.feed(ReportExit{{73}, {{1000}}, {0, id}, body});
    out += story.feed(ProcessEnded{S::process(id)});
    out += story.sample();
    return out + story.feed(RequesterGone{{id}});
  }
  std::string fails(std::uint64_t id = 1, EndKind kind = EndKind::kPlain) {
    return ends(id, {.exit = {.code = 3}, .kind = kind});
  }
  LeaseView view(std::uint64_t id = 1) { return *story.coordinator.lease({id}, story.now); }
  WhyView why(std::uint64_t id) { return *story.coordinator.why({id}, story.now); }
  Duration until_next(std::uint64_t id = 1) {
    return milliseconds(next_attempt_of(view(id))->not_before.value - story.now.wall.value);
  }
  void ask_after(Ends ends) {
    Request request = S::budget(gib(1));
    request.after = {{{1}, ends}};
    (void)story.ask(request);
  }
};

TEST_F(Retrying, WhatFailsWaitsAgainAndKeepsItsNumber) {
  EXPECT_THAT(fails(), Not(HasSubstr("end 1; ")));
  EXPECT_EQ(view().state, LeaseState::kWaiting);
  EXPECT_EQ(view().restarts, 1U);
  EXPECT_EQ(view().retries->left, 2U);
  EXPECT_EQ(view().retries->failed, (ExitStatus{.code = 3}));
  EXPECT_EQ(until_next(), seconds(10));
  (void)story.feed(Reconnect{{71}, {{1000}}, {0, 1}, {1}});
  EXPECT_EQ(story.pass(milliseconds(9'999)), "");
  EXPECT_THAT(story.pass(milliseconds(1)), HasSubstr("grant 1; "));
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Retrying, IsGrantedNothingBeforeSomebodyComesForIt) {
  Request request = S::budget(gib(1));
  request.on_oom = OnOom::kGrow;
  submit(request);
  (void)story.feed(ProcessEnded{S::process(2)});  // Noticed before it is told.
  (void)fails(2, EndKind::kOutOfMemory);
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_EQ(why(2).reason, WhyView::Reason::kNotReconnected);
}

TEST_F(Retrying, ItIsNoObstacleWhileItWaits) {
  (void)fails();
  (void)story.feed(Reconnect{{71}, {{1000}}, {0, 1}, {1}});
  EXPECT_EQ(story.look().charged, Bytes{});
  EXPECT_EQ(story.ask(S::whole()), "held 2; ");
}

TEST_F(Retrying, EachTimeItWaitsTwiceAsLongUpToABound) {
  Request request = S::budget(gib(1));
  request.retry_max = 20;
  request.retry_after = minutes(10);
  submit(request);
  for (const Duration delay : {minutes(10), minutes(20), minutes(40), hours(1), hours(1)}) {
    (void)fails(2);
    EXPECT_EQ(until_next(2), delay);
    (void)story.feed(Reconnect{{71}, {{1000}}, {0, 2}, {view(2).restarts}});
    (void)story.pass(delay);
    (void)start(2);
  }
  EXPECT_EQ(retry_delay({.retry_max = 9, .retry_after = hours(5)}, 0), hours(5));
}

TEST_F(Retrying, TheLastFailureIsTheEnd) {
  for (const std::uint32_t left : {2U, 1U, 0U}) {
    (void)fails();
    ASSERT_EQ(view().retries->left, left);
    (void)story.pass(hours(1));
    (void)start(1);
    ASSERT_EQ(view().state, LeaseState::kHeld);
  }
  EXPECT_THAT(fails(), HasSubstr("end 1; "));
  EXPECT_EQ(view().result, EndResult::kFailed);
  EXPECT_EQ(view().restarts, 3U);
}

TEST_F(Retrying, WhatASignalKillsIsStartedAgainAndWhatEndsWellIsNot) {
  (void)ends(1, {.exit = {.signal = 11}});
  EXPECT_EQ(view().state, LeaseState::kWaiting);
  (void)story.pass(seconds(10));
  (void)start(1);
  EXPECT_THAT(ends(1, {}), HasSubstr("end 1; "));
  EXPECT_EQ(view().result, EndResult::kOk);
}

TEST_F(Retrying, WhatEndsWithTheMachineIsStartedAgainIfItMayBeRequeued) {
  Request request = S::budget(gib(4));
  request.requeue_grace = seconds(10);
  request.retry_max = 2;
  for (const ExitStatus exit : {ExitStatus{.signal = 15}, ExitStatus{.code = 0}}) {
    submit(request);
    const std::uint64_t id = story.handles;
    EXPECT_THAT(ends(id, {.exit = exit, .kind = EndKind::kShutdown}),
                AllOf(HasSubstr("requeue "), Not(HasSubstr("end "))));
    EXPECT_EQ(view(id).state, LeaseState::kWaiting);
    EXPECT_EQ(view(id).retries->left, 2U);
    EXPECT_EQ(view(id).retries->failed, std::nullopt);
    EXPECT_EQ(view(id).request.not_before, std::nullopt);
    // An end of the next attempt is one like any other.
    (void)start(id);
    EXPECT_THAT(ends(id, {}), HasSubstr("end " + std::to_string(id) + "; "));
    EXPECT_EQ(view(id).result, EndResult::kOk);
  }
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Retrying, WhatEndsWithTheMachineIsOverWhereItMayNotBeRequeued) {
  EXPECT_THAT(fails(1, EndKind::kShutdown), HasSubstr("end 1; "));
  Request request = S::budget(gib(4));
  request.requeue_grace = seconds(10);
  submit(request);
  (void)story.feed(Cancel{{9}, {{1000}}, {2}});
  EXPECT_THAT(fails(2, EndKind::kShutdown), HasSubstr("end 2; "));
  EXPECT_EQ(view(2).result, EndResult::kCancelled);
  // One at a terminal ends with that.
  (void)story.ask(request);
  (void)story.feed(
      Claim{{72}, {.user = {1000}, .process = S::process(500)}, {0, 3}, {S::process(3), 0}});
  EXPECT_THAT(fails(3, EndKind::kShutdown), HasSubstr("end 3; "));
}

TEST_F(Retrying, WhatWasToldToEndIsNotStartedAgain) {
  (void)story.feed(Cancel{{9}, {{1000}}, {1}});
  (void)ends(1, {.exit = {.signal = 15}});
  EXPECT_EQ(view().result, EndResult::kCancelled);
  Request request = S::budget(gib(1));
  request.retry_max = 3;
  request.limit = seconds(5);
  submit(request);
  (void)story.pass(seconds(5));
  (void)ends(2, {.exit = {.signal = 15}});
  EXPECT_EQ(view(2).result, EndResult::kLimit);
}

TEST_F(Retrying, WhatWasNeverStartedIsNotStartedAgain) {
  EXPECT_THAT(ends(1, {.exit = {.code = 127}, .kind = EndKind::kFinal}), HasSubstr("end 1; "));
  EXPECT_EQ(view().result, EndResult::kFailed);
}

TEST_F(Retrying, OfWhichTheEndIsNotKnownNothingIsStartedAgain) {
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.feed(ProcessEnded{S::process(500)});
  (void)story.sample();
  (void)story.pass(limits::kExitReportWithin);
  EXPECT_EQ(view().result, EndResult::kLost);
}

TEST_F(Retrying, WhatItLeavesBehindIsWaitedFor) {
  story.use(9, gib(1));
  (void)story.feed(
      ReportExit{{73}, {{1000}}, {0, 1}, {.exit = {.code = 3}, .leftovers = {S::process(9)}}});
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  EXPECT_EQ(view().state, LeaseState::kHeld);
  EXPECT_EQ(view().requeue, RequeueStep::kStopped) << "its berth run may come to wait";
  EXPECT_EQ(until_next(), seconds(10));
  (void)story.feed(Cancel{{9}, {{1000}}, {1}});
  story.use(9, {});
  (void)story.feed(ProcessEnded{S::process(9)});
  (void)story.sample();
  EXPECT_EQ(view().result, EndResult::kCancelled);
}

TEST_F(Retrying, WhatIsReleasedWhileItsLeftoversRunIsNotStartedAgain) {
  story.use(9, gib(1));
  (void)story.feed(ReportExit{
      {73}, {{1000}}, {0, 1}, {.exit = {.code = 3}, .leftovers = {S::process(9)}, .restarts = 0}});
  (void)story.feed(ProcessEnded{S::process(1)});
  EXPECT_TRUE(next_attempt_of(view()));
  (void)story.feed(Release{{9}, {{1000}}, {1}, {.detach = true}});
  story.use(1, {});
  story.use(9, {});
  (void)story.sample();
  EXPECT_EQ(view().state, LeaseState::kEnded);
}

TEST_F(Retrying, WhatWaitsForItDecidesByItsLastAttempt) {
  ask_after(Ends::kFailed);
  ask_after(Ends::kOk);
  EXPECT_EQ(why(2).retried.size(), 0U);
  EXPECT_THAT(fails(), AllOf(Not(HasSubstr("grant 2; ")), Not(HasSubstr("end 3; "))));
  EXPECT_EQ(why(2).reason, WhyView::Reason::kAfter);
  EXPECT_EQ(why(2).retried, std::vector<LeaseId>{{1}});
  (void)story.pass(seconds(10));
  (void)start(1);
  EXPECT_THAT(ends(1, {}), AllOf(HasSubstr("end 2; "), HasSubstr("grant 3; ")));
}

TEST_F(Retrying, HowFarItIsOutlastsTheDaemonAndASnapshot) {
  (void)fails();
  for (const bool snapshot : {false, true}) {
    snapshot ? story.restart_from_snapshot() : story.restart();
    EXPECT_EQ(story.records_refused, 0);
    EXPECT_EQ(
        view().retries,
        (Retries{.left = 2, .failed = ExitStatus{.code = 3}, .next = next_attempt_of(view())}));
    EXPECT_EQ(until_next(), seconds(10));
  }
  (void)story.pass(seconds(10));
  (void)story.sample();
  (void)start(1);
  EXPECT_EQ(view().state, LeaseState::kHeld);
}

TEST_F(Retrying, ADaemonThatComesBackBeforeItsMemoryIsFreeStartsItAgain) {
  story.use(1, gib(2), 0, false);
  (void)story.feed(ReportExit{{73}, {{1000}}, {0, 1}, {.exit = {.code = 3}}});
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  ASSERT_EQ(view().state, LeaseState::kReleasing);
  story.restart_from_snapshot();
  story.use(1, {});
  (void)story.second();
  EXPECT_EQ(view().state, LeaseState::kWaiting);
  EXPECT_EQ(view().retries->left, 2U);
  (void)story.pass(minutes(5));
  EXPECT_EQ(why(1).reason, WhyView::Reason::kNotReconnected) << "nobody is there to take it up";
}

TEST_F(Retrying, NobodyIsGrantedAnythingWhereTheBerthRunThatCameBackIsGone) {
  Request request = S::budget(gib(4));
  request.retry_max = 1;
  request.retry_after = milliseconds(1);
  (void)story.ask(request);
  (void)story.claim(2);
  story.use(2, gib(2), 0, false);
  (void)story.feed(ReportExit{{73}, {{1000}}, {0, 2}, {.exit = {.code = 3}}});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)story.feed(Reconnect{{74}, {{1000}}, {0, 2}, {1}});
  (void)story.feed(RequesterGone{{2}});
  story.use(2, {});
  EXPECT_THAT(story.sample() + story.second(), HasSubstr("end 2; "));
  EXPECT_EQ(view(2).result, EndResult::kFailed);
}

TEST_F(Retrying, WhatItsLeftoversAreEndedForIsNoReasonToStartItAgain) {
  Request request = S::budget(gib(1));
  request.over_budget = OverBudget::kKill;
  request.on_oom = OnOom::kGrow;
  submit(request);
  story.use(50, gib(3));
  story.hardware[0].processes->back().ancestors = {S::process(2)};
  (void)story.sample();
  story.feed(ReportExit{{73}, {{1000}}, {0, 2}, {.exit = {.code = 3}}});
  (void)story.feed(ProcessEnded{S::process(2)});
  ASSERT_EQ(next_attempt_of(view(2)), std::nullopt);
  std::string out;
  for (int i = 0; i < 40; ++i) out += story.second();
  ASSERT_THAT(out, HasSubstr("revoke 2; "));
  story.use(50, {});
  (void)story.feed(ProcessEnded{S::process(50)});
  EXPECT_THAT(story.second() + story.second(), HasSubstr("end 2; "));
}

TEST_F(Retrying, WhatWasSaidOfTheNextAttemptHoldsWhateverIsThereByThen) {
  Request request = S::budget(gib(4));
  request.on_oom = OnOom::kGrow;
  submit(request);
  story.use(2, gib(1), 0, false);
  (void)story.feed(
      ReportExit{{73}, {{1000}}, {0, 2}, {.exit = {.code = 3}, .kind = EndKind::kOutOfMemory}});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)story.sample();
  ASSERT_EQ(next_attempt_of(view(2))->vram, gib(8));
  story.restart_from_snapshot();
  EXPECT_EQ(next_attempt_of(view(2))->vram, gib(8)) << "no device was looked at yet";
  story.use(2, {});
  (void)story.second();
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_EQ(view(2).request.vram, gib(8));
}

TEST_F(Retrying, ABerthRunComesBackBeforeItsMemoryIsFree) {
  Request request = S::budget(gib(4));
  request.retry_max = 1;
  (void)story.ask(request);
  (void)story.claim(2);
  story.use(2, gib(2), 0, false);
  (void)story.feed(ReportExit{{73}, {{1000}}, {0, 2}, {.exit = {.code = 3}}});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)story.sample();
  ASSERT_EQ(view(2).state, LeaseState::kReleasing);
  EXPECT_EQ(story.feed(Reconnect{{74}, {{1000}}, {0, 2}, {1}}), "releasing 2; ");
  story.use(2, {});
  (void)story.second();
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_THAT(story.pass(seconds(10)), HasSubstr("grant 2; "));
}

TEST_F(Retrying, ABerthRunThatDoesNotComeBackHasLeft) {
  Request request = S::budget(gib(4));
  request.retry_max = 1;
  (void)story.ask(request);
  (void)story.claim(2);
  (void)fails(2);
  ASSERT_EQ(view(2).state, LeaseState::kEnded);
  EXPECT_EQ(view(2).result, EndResult::kCancelled);
}

TEST_F(Retrying, WhatRanOutOfMemoryIsGivenMoreOnce) {
  Request request = S::budget(gib(4));
  request.on_oom = OnOom::kGrow;
  request.retry_max = 1;
  submit(request);
  (void)fails(2, EndKind::kOutOfMemory);
  EXPECT_EQ(view(2).request.vram, gib(8));
  EXPECT_EQ(view(2).retries->left, 1U) << "that is none of those that it may fail";
  EXPECT_EQ(next_attempt_of(view(2)), (Retry{story.now.wall, gib(8)}));
  (void)start(2);
  ASSERT_EQ(view(2).parts.front().granted, gib(8));
  (void)fails(2, EndKind::kOutOfMemory);
  EXPECT_EQ(view(2).request.vram, gib(8));
  EXPECT_EQ(view(2).retries->left, 0U);
  story.restart_from_snapshot();
  EXPECT_TRUE(view(2).retries->grown);
}

TEST_F(Retrying, NoMoreThanTheDeviceHas) {
  Request request = S::budget(gib(12));
  request.on_oom = OnOom::kGrow;
  submit(request);
  (void)fails(2, EndKind::kOutOfMemory);
  EXPECT_EQ(view(2).request.vram, gib(16));
  (void)fails(1);
  Request all = S::budget(gib(16));
  all.on_oom = OnOom::kGrow;
  (void)story.feed(Cancel{{9}, {{1000}}, {2}});
  submit(all);
  ASSERT_EQ(view(3).state, LeaseState::kHeld);
  EXPECT_THAT(fails(3, EndKind::kOutOfMemory), HasSubstr("end 3; "));
}

TEST_F(Retrying, WhatItsOtherRunsNeededIsABetterGuess) {
  Request request = S::budget(gib(2));
  request.command = "train";
  request.on_oom = OnOom::kGrow;
  submit(request);
  Request other = S::budget(gib(8));
  other.command = "train";
  submit(other);
  story.use(3, gib(6));
  (void)story.sample();
  (void)ends(3, {});
  (void)fails(2, EndKind::kOutOfMemory);
  EXPECT_EQ(view(2).request.vram, with_margin(gib(6)));
}

TEST_F(Retrying, UnlessAskedForItIsAFailureLikeOthers) {
  (void)fails(1, EndKind::kOutOfMemory);
  EXPECT_EQ(view().request.vram, gib(4));
  EXPECT_EQ(view().retries->left, 2U);
}

TEST_F(Retrying, WhatMakesNoSenseIsRefused) {
  Request reservation = S::budget(gib(1));
  reservation.ttl = minutes(5);
  reservation.retry_max = 1;
  EXPECT_EQ(story.ask(reservation), "refuse invalid; ");
  EXPECT_EQ(story.refusal(), "a reservation has no command that could be started again");
  Request at_once = S::budget(gib(1));
  at_once.retry_after = {};
  EXPECT_EQ(story.ask(at_once), "refuse invalid; ");
  at_once.retry_after = kRetryAfterMost + seconds(1);
  EXPECT_EQ(story.ask(at_once), "refuse invalid; ");
}

}  // namespace
}  // namespace berth::core
