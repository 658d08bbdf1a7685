// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using Outcome = CheckpointOutcome;

class Saving : public testing::Test {
 protected:
  Saving() { hold({.kind = CheckpointKind::kCmd, .grace = seconds(60), .every = {}}); }

  // The next lease: it can be asked, and its command runs.
  void hold(CheckpointWay way, std::optional<Duration> limit = {}) {
    Request request = S::budget(gib(1));
    request.checkpoint = way;
    request.limit = limit;
    (void)story.ask(request);
    (void)story.claim(story.handles);
  }
  std::string ask(std::uint64_t lease = 1, std::optional<Duration> wait = {}) {
    return story.feed(AskCheckpoint{{++token}, {{1000}}, {lease}, {wait}});
  }
  std::string report(std::uint64_t number, Outcome outcome, std::uint64_t lease = 1) {
    return story.feed(
        ReportCheckpoint{{++token}, {{1000}}, {0, lease}, {number, outcome, "detail"}});
  }
  Checkpoints saves(std::uint64_t lease = 1) {
    return story.coordinator.lease({lease}, story.now)->checkpoints;
  }
  CheckpointAsk asked(std::uint64_t lease = 1) {
    return saves(lease).asked.value_or(CheckpointAsk{});
  }
  Outcome last(std::uint64_t lease = 1) {
    const auto end = saves(lease).last;
    return end ? end->outcome : Outcome::kFailed;
  }

  Story story;
  std::uint64_t token = 100;
};

TEST_F(Saving, WhoAsksHearsWhenItIsOver) {
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.checkpointing);
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; held 1; held 1; ");
  EXPECT_FALSE(story.coordinator.lease({1}, story.now)->flags.checkpointing);
  const CheckpointEnd end = saves().last.value_or(CheckpointEnd{});
  EXPECT_EQ(end.number, 1u);
  EXPECT_EQ(end.reason, CheckpointReason::kAsked);
  EXPECT_EQ(end.outcome, Outcome::kSaved);
  EXPECT_EQ(end.detail, "detail");
  EXPECT_EQ(saves().saved, story.now.wall);
}

TEST_F(Saving, OnlyAConfirmedSaveCountsAsOne) {
  (void)ask();
  (void)report(1, Outcome::kSaved);
  const auto saved = saves().saved;
  std::uint64_t number = 1;
  for (const Outcome outcome :
       {Outcome::kUnconfirmed, Outcome::kFailed, Outcome::kTimedOut, Outcome::kUncaught}) {
    (void)story.pass(seconds(10));
    (void)ask();
    (void)report(++number, outcome);
    EXPECT_EQ(last(), outcome);
    EXPECT_EQ(saves().saved, saved);
  }
}

TEST_F(Saving, WhoAsksMeanwhileJoins) {
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(ask(), "");
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; held 1; held 1; held 1; ");
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(asked().number, 2u);
}

TEST_F(Saving, WhoDoesNotWaitIsAnsweredAtOnce) {
  EXPECT_EQ(ask(1, Duration{}), "save 1; held 1; ");
  EXPECT_EQ(ask(1, seconds(5)), "");
  EXPECT_EQ(story.pass(seconds(5)), "held 1; ");
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; held 1; ");
}

TEST_F(Saving, NothingHeardIsNoSave) {
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(story.pass(seconds(64)), "");
  EXPECT_EQ(story.pass(seconds(1)), "save over 1; held 1; ");
  EXPECT_EQ(last(), Outcome::kTimedOut);
  EXPECT_EQ(report(1, Outcome::kSaved), "held 1; ");  // Too late: it was told otherwise.
  EXPECT_EQ(last(), Outcome::kTimedOut);
  EXPECT_EQ(saves().saved, std::nullopt);
}

TEST_F(Saving, ALibraryInTheProgramIsThereWithoutItsSupervisor) {
  hold({.kind = CheckpointKind::kLibrary, .grace = seconds(60), .every = {}});
  EXPECT_EQ(ask(2), "save 2; ");
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1002)}), "");
  EXPECT_EQ(report(1, Outcome::kSaved, 2), "save over 2; held 2; held 2; ");
  EXPECT_EQ(last(2), Outcome::kSaved);
}

TEST_F(Saving, AReportOfAnotherNumberChangesNothing) {
  EXPECT_EQ(report(1, Outcome::kSaved), "held 1; ");
  (void)ask();
  EXPECT_EQ(report(2, Outcome::kSaved), "held 1; ");
  EXPECT_TRUE(saves().asked);
}

TEST_F(Saving, NobodyIsThereToAskWhenItsSupervisorIsGone) {
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1001)}), "save over 1; held 1; ");
  EXPECT_EQ(last(), Outcome::kGone);
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
}

TEST_F(Saving, ItsSupervisorIsWatchedOnlyMeanwhile) {
  const auto watched = [&] {
    bool now = false;
    for (const Effect& effect : story.effects) {
      if (const auto* watch = std::get_if<Watch>(&effect))
        now |= watch->process == S::process(1001);
      if (const auto* gone = std::get_if<Unwatch>(&effect))
        now &= gone->process != S::process(1001);
    }
    return now;
  };
  EXPECT_FALSE(watched());
  (void)ask();
  EXPECT_TRUE(watched());
  (void)report(1, Outcome::kSaved);
  EXPECT_FALSE(watched());
}

// It may report before its command's end is known to be its end.
TEST_F(Saving, ACommandThatEndsMayHaveSaved) {
  (void)ask();
  (void)story.feed(ProcessEnded{S::process(1)});
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; held 1; held 1; ");
  EXPECT_EQ(last(), Outcome::kSaved);
  (void)story.end(1);
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(last(), Outcome::kSaved);
}

TEST_F(Saving, WhatIsSavedWhileTheCommandEndsIsWaitedFor) {
  (void)ask();
  (void)story.feed(ProcessEnded{S::process(1)});
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.pass(seconds(4)), "");
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; releasing 1; releasing 1; ");
}

TEST_F(Saving, ALeaseThatEndsAnswersWhoWaits) {
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(story.end(1), "held 1; save over 1; end 1; ended 1; ");
  EXPECT_EQ(last(), Outcome::kFailed);
  EXPECT_EQ(saves().asked, std::nullopt);
}

TEST_F(Saving, WhatCannotBeAskedIsRefused) {
  (void)story.ask(S::budget(gib(1)));
  (void)story.claim(2);
  EXPECT_EQ(ask(2), "refuse wrong_state; ");
  Request large = S::budget(gib(15));
  large.checkpoint = CheckpointWay{};
  EXPECT_EQ(story.ask(large), "waiting 3; ");
  EXPECT_EQ(ask(3), "refuse wrong_state; ");
  EXPECT_EQ(ask(99), "refuse not_found; ");
  (void)story.feed(Cancel{{9}, {{1000}}, {1}});
  EXPECT_EQ(ask(1), "refuse wrong_state; ");
  EXPECT_EQ(story.feed(AskCheckpoint{{++token}, {{1001}}, {1}}), "refuse not_yours; ");
}

TEST_F(Saving, AReservationHasNothingToSave) {
  Request request = S::budget(gib(1));
  request.checkpoint = CheckpointWay{};
  request.ttl = hours(1);
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
  request.ttl.reset();
  request.checkpoint = CheckpointWay{.grace = {}};
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
  request.checkpoint = CheckpointWay{.every = milliseconds(999)};
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
}

TEST_F(Saving, OfManyWhoWaitTheLastIsRefused) {
  for (int i = 0; i < 64; ++i) (void)ask();
  EXPECT_EQ(ask(), "refuse busy; ");
}

TEST_F(Saving, ItIsAskedByItselfAsOftenAsItSaid) {
  hold({.grace = seconds(10), .every = minutes(10)});
  EXPECT_EQ(story.pass(minutes(10) + milliseconds(-1)), "");
  EXPECT_EQ(story.pass(milliseconds(1)), "save 2; ");
  EXPECT_EQ(asked(2).reason, CheckpointReason::kPeriodic);
  (void)story.pass(seconds(4));
  EXPECT_EQ(report(1, Outcome::kFailed, 2), "save over 2; held 2; ");
  EXPECT_EQ(story.pass(minutes(10) + seconds(-5)), "");  // From the time of the asking.
  EXPECT_EQ(story.pass(seconds(1)), "save 2; ");
}

TEST_F(Saving, WhoWasGoneIsNotAskedAgainAndAgain) {
  hold({.grace = seconds(10), .every = minutes(10)});
  (void)story.pass(minutes(10));
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1002)}), "save over 2; ");
  EXPECT_EQ(story.pass(hours(1)), "");
}

TEST_F(Saving, BeforeItsLimitItIsAskedOnce) {
  hold({.grace = seconds(60), .every = {}}, hours(1));
  EXPECT_EQ(story.pass(minutes(58)), "");
  EXPECT_EQ(story.pass(minutes(1)), "save 2; ");
  EXPECT_EQ(asked(2).reason, CheckpointReason::kLimit);
  EXPECT_EQ(report(1, Outcome::kSaved, 2), "save over 2; held 2; ");
  EXPECT_EQ(story.pass(seconds(59)), "");
  EXPECT_EQ(story.pass(seconds(1)), "revoke 2; signal 15 to 2; ");
}

TEST_F(Saving, AGraceLongerThanTheLimitBeginsHalfWay) {
  hold({.grace = hours(2), .every = {}}, hours(1));
  EXPECT_EQ(story.pass(minutes(29)), "");
  EXPECT_EQ(story.pass(minutes(1)), "save 2; ");
  EXPECT_EQ(story.pass(minutes(30)), "revoke 2; signal 15 to 2; ");
}

TEST_F(Saving, OneThatWasUnderWayBeforeDoesNotReplaceTheLastBeforeTheLimit) {
  hold({.grace = seconds(60), .every = {}}, hours(1));
  (void)story.pass(minutes(58));
  EXPECT_EQ(ask(2), "save 2; ");
  EXPECT_EQ(story.pass(seconds(61)), "");
  EXPECT_EQ(report(1, Outcome::kSaved, 2), "save over 2; held 2; held 2; ");
  EXPECT_EQ(story.feed(Woke{}), "save 2; ");
  EXPECT_EQ(asked(2).reason, CheckpointReason::kLimit);
}

TEST_F(Saving, ASaveUnderWayOutlivesTheDaemon) {
  (void)ask();
  story.restart();
  ASSERT_TRUE(saves().asked);
  EXPECT_EQ(report(1, Outcome::kSaved), "save over 1; held 1; ");
  EXPECT_EQ(last(), Outcome::kSaved);
  story.restart();
  EXPECT_EQ(last(), Outcome::kSaved);
  EXPECT_EQ(ask(), "save 1; ");
  EXPECT_EQ(asked().number, 2u);
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Saving, TheDeadlineOutlivesTheDaemon) {
  (void)ask();
  story.restart();
  EXPECT_EQ(story.pass(seconds(64)), "");
  EXPECT_EQ(story.pass(seconds(1)), "save over 1; ");
  EXPECT_EQ(last(), Outcome::kTimedOut);
}

TEST_F(Saving, WhatIsKnownOfSavesIsInTheSnapshot) {
  (void)ask();
  (void)report(1, Outcome::kSaved);
  (void)story.pass(seconds(10));
  (void)ask();
  Coordinator fresh({.order = Order::kFifo});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    ASSERT_TRUE(fresh.apply(record).ok());
  }
  (void)fresh.step(story.now, Recovered{});
  EXPECT_EQ(fresh.lease({1}, story.now)->checkpoints, saves());
  story.coordinator = std::move(fresh);
  EXPECT_EQ(story.pass(seconds(65)), "save over 1; ");
}

}  // namespace
}  // namespace berth::core
