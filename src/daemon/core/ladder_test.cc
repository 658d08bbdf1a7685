// SPDX-License-Identifier: Apache-2.0
// Ladders of measures: whom they reach, in which order, and how each measure ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class LadderTest : public StoryTest {
 protected:
  void use_settings(PressureSettings pressure) {
    (void)story.feed(Configured{settings(std::move(pressure))});
  }
  static Settings settings(PressureSettings pressure) {
    return {.order = Order::kFifo, .reserve = {}, .pressure = std::move(pressure)};
  }
  static Request over(Bytes vram, OverBudget choice = OverBudget::kSuspend) {
    Request request = S::budget(vram);
    request.over_budget = choice;
    return request;
  }
  static Request saves(Request request) {
    request.checkpoint.emplace();
    return request;
  }
  void hold(Request request) {
    (void)story.ask(std::move(request));
    (void)story.claim(story.handles);
  }
  std::string use(std::uint64_t process, Bytes bytes) {
    story.use(process, bytes);
    return seconds_pass(1);
  }
  std::string saved(std::uint64_t id, std::uint64_t number, CheckpointOutcome outcome) {
    return story.feed(ReportCheckpoint{{90}, {{1000}}, {0, id}, {number, outcome, "a.pt"}});
  }
  /// "checkpoint failed", "suspend" of one that is under way.
  std::vector<std::string> taken(std::uint64_t id) const {
    std::vector<std::string> words;
    for (const MeasureTaken& one : lease(id).measures) {
      words.push_back(std::string(to_text(one.measure)) +
                      (one.outcome ? " " + std::string(to_text(*one.outcome)) : ""));
    }
    return words;
  }
  int said(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(story.effects, [&](const Effect& effect) {
      const auto* say = std::get_if<Say>(&effect);
      return say != nullptr && say->text.find(part) != std::string::npos;
    }));
  }
};

TEST_F(LadderTest, WhoIsAboveHisBudgetIsToldAskedToSaveAndSuspended) {
  hold(saves(over(gib(4))));
  EXPECT_EQ(use(1, gib(6)), "over 1; save 1; ") << "88 % of its budget is passed as well";
  EXPECT_EQ(saved(1, 1, CheckpointOutcome::kSaved), "save over 1; held 1; ");
  EXPECT_EQ(seconds_pass(59), "");
  EXPECT_EQ(said("above its budget of 4.0 GiB: it has 1m to use less"), 1);
  EXPECT_THAT(taken(1), ElementsAre("checkpoint confirmed")) << "it has saved itself of late";
  EXPECT_EQ(seconds_pass(1), "move out 1; ");
  EXPECT_THAT(taken(1), ElementsAre("checkpoint confirmed", "suspend"));
  EXPECT_EQ(transfer_done(), "suspend 1; ");
  EXPECT_THAT(taken(1), ElementsAre("checkpoint confirmed", "suspend confirmed"));
  EXPECT_EQ(story.state(1), LeaseState::kSuspended);
  EXPECT_EQ(said("it is suspended for that"), 1);
}

TEST_F(LadderTest, ASaveIsAskedAtItsTimeAndTheNextMeasureWaitsForItsEnd) {
  use_settings({.critical_percent = 1'000'000});
  hold(saves(over(gib(4))));
  EXPECT_EQ(use(1, gib(6)), "over 1; ");
  EXPECT_EQ(seconds_pass(29), "");
  EXPECT_EQ(seconds_pass(1), "save 1; ");
  EXPECT_EQ(seconds_pass(35), "") << "it has not said yet how it went";
  EXPECT_EQ(saved(1, 1, CheckpointOutcome::kFailed), "save over 1; held 1; ");
  EXPECT_THAT(taken(1), ElementsAre("checkpoint failed"));
  EXPECT_EQ(said("checkpoint failed: failed, a.pt"), 1);
  EXPECT_EQ(seconds_pass(1), "move out 1; ") << "a failed measure leads to the next";
}

TEST_F(LadderTest, WhatCannotBeDoneIsSaidAndTheNextIsDoneAtItsTime) {
  use_settings({.over_budget = {{Measure::kNotify},
                                {Measure::kCleanup, seconds(5)},
                                {Measure::kCheckpoint, seconds(10)},
                                {Measure::kSuspend, seconds(20)}}});
  hold(over(gib(4)));
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(19), "");
  EXPECT_THAT(taken(1), ElementsAre("cleanup refused", "checkpoint refused"));
  EXPECT_EQ(said("cleanup was refused: nothing in it can be asked"), 1);
  EXPECT_EQ(said("checkpoint was refused: lease 1 was started without --checkpoint"), 1);
  EXPECT_EQ(seconds_pass(1), "move out 1; ");
}

/// A lease of 4 GiB that uses 6, whose program listens and is asked to clean up after 5 s.
class Cleaning : public LadderTest {
 protected:
  Cleaning() {
    use_settings({.critical_percent = 1'000'000,
                  .over_budget = {{Measure::kNotify},
                                  {Measure::kCleanup, seconds(5)},
                                  {Measure::kSuspend, seconds(60)}}});
    Request request = saves(over(gib(4)));
    request.checkpoint->kind = CheckpointKind::kLibrary;
    hold(request);
    (void)use(1, gib(6));
  }
  std::string detail() const { return lease(1).measures.back().detail; }
};

TEST_F(Cleaning, WhoListensIsAskedAndLessUseConfirmsIt) {
  story.tells_measures = true;
  EXPECT_EQ(seconds_pass(5), "measure 1; ");
  EXPECT_THAT(taken(1), ElementsAre("cleanup"));
  EXPECT_EQ(use(1, gib(6)), "") << "it has not done it yet";
  EXPECT_EQ(use(1, mib(6 * 1024 - 40)), "") << "what comes and goes confirms nothing";
  EXPECT_THAT(use(1, gib(3)), HasSubstr("measure 1; "));
  EXPECT_THAT(taken(1), ElementsAre("cleanup confirmed"));
  EXPECT_EQ(detail(), "3.0 GiB were given back");
  EXPECT_EQ(seconds_pass(120), "") << "nothing harder follows";
}

TEST_F(Cleaning, WhoGivesNothingBackHasNotCleanedUp) {
  (void)seconds_pass(5);
  (void)seconds_pass(14);
  EXPECT_THAT(taken(1), ElementsAre("cleanup"));
  (void)seconds_pass(2);
  EXPECT_THAT(taken(1), ElementsAre("cleanup failed"));
  EXPECT_EQ(detail(), "nothing came of it within 15 s");
  EXPECT_THAT(seconds_pass(60), HasSubstr("move out 1")) << "the next measure follows";
}

TEST_F(Cleaning, AWordOfTheDriverFromBeforeConfirmsNothing) {
  (void)seconds_pass(5);
  story.use(1, gib(3));
  (void)story.feed(Sampled{
      {Instant{story.now.instant.ns - 1}, story.now.instant, true, "", "", story.hardware}});
  EXPECT_THAT(taken(1), ElementsAre("cleanup"));
  (void)seconds_pass(1);
  EXPECT_THAT(taken(1), ElementsAre("cleanup confirmed"));
}

TEST_F(Cleaning, WhatASuspensionMovesWasNotGivenBack) {
  (void)seconds_pass(5);
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  story.use(1, {});
  (void)transfer_done();
  (void)seconds_pass(1);
  EXPECT_THAT(taken(1), ElementsAre("cleanup failed"));
  EXPECT_EQ(detail(), "it was suspended meanwhile");
}

TEST_F(Cleaning, WhoLeavesForAnotherHasItsMeasureEndedInTheSameStep) {
  (void)seconds_pass(2);  // What is to come has to fit when it has left.
  Request yielding = saves(over(gib(6)));
  yielding.checkpoint->kind = CheckpointKind::kLibrary;
  yielding.may_yield = true;
  hold(yielding);
  (void)use(2, gib(8));
  (void)seconds_pass(5);
  ASSERT_THAT(taken(2), ElementsAre("cleanup"));
  EXPECT_THAT(story.ask({.priority = Priority::kUrgent, .vram = gib(9)}),
              HasSubstr("move out 2; "));
  EXPECT_THAT(taken(2), ElementsAre("cleanup failed"));
}

TEST_F(Cleaning, WhoIsFrozenCannotBeAsked) {
  (void)story.feed(Freeze{{71}, {{1000}}, {1}});
  (void)transfer_done();
  (void)seconds_pass(5);
  EXPECT_THAT(taken(1), ElementsAre("cleanup refused"));
  EXPECT_EQ(detail(), "it is frozen");
}

TEST_F(LadderTest, AMoveThatTheDriverRefusesIsAFailureAndTheNextIsTried) {
  use_settings({.over_budget = {{Measure::kNotify},
                                {Measure::kSuspend, seconds(10)},
                                {Measure::kRequeue},
                                {Measure::kKill, seconds(30)}}});
  hold(over(gib(4)));
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(10), "move out 1; ");
  EXPECT_EQ(transfer_done(Outcome::kUndone, "it uses managed memory"), "");
  EXPECT_THAT(taken(1), ElementsAre("suspend failed"));
  EXPECT_EQ(said("suspend failed: it uses managed memory"), 1);
  EXPECT_EQ(seconds_pass(1), "");
  EXPECT_THAT(taken(1), ElementsAre("suspend failed", "requeue refused"));
  EXPECT_EQ(seconds_pass(18), "");
  EXPECT_EQ(seconds_pass(1), "revoke 1; signal 15 to 1; ");
  story.use(1, Bytes{});
  (void)story.end(1);
  EXPECT_EQ(lease(1).result, EndResult::kOverBudget);
  EXPECT_THAT(taken(1), ElementsAre("suspend failed", "requeue refused", "kill confirmed"));
}

TEST_F(LadderTest, ARequeueIsAskedOfWhoCanBeStartedAgain) {
  use_settings({.over_budget = {{Measure::kNotify}, {Measure::kRequeue, seconds(10)}}});
  Request request = over(gib(4));
  request.requeue_grace = seconds(10);
  hold(request);
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(10), "stop 1; ");
  EXPECT_THAT(taken(1), ElementsAre("requeue"));
  EXPECT_THAT(seconds_pass(6), HasSubstr("no requeue 1")) << "its berth run does not answer";
  EXPECT_THAT(taken(1), ElementsAre("requeue failed"));
}

TEST_F(LadderTest, TheBeginningAndTheEndOfAMeasureAreTold) {
  story.tells_measures = true;
  use_settings({.over_budget = {{Measure::kNotify},
                                {Measure::kCheckpoint, seconds(5)},
                                {Measure::kSuspend, seconds(10)}}});
  hold(over(gib(4)));
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(5), "measure 1; ") << "refused";
  EXPECT_EQ(seconds_pass(5), "measure 1; move out 1; ");
  EXPECT_EQ(transfer_done(), "suspend 1; measure 1; ");
}

TEST_F(LadderTest, EachHasWhatItHasAskedFor) {
  hold(over(gib(3), OverBudget::kFail));
  hold(over(gib(3), OverBudget::kNotify));
  hold(over(gib(3), OverBudget::kKill));
  for (const std::uint64_t process : {1U, 2U, 3U}) story.use(process, gib(4));
  EXPECT_EQ(seconds_pass(1), "over 1; over 2; over 3; ");
  EXPECT_EQ(seconds_pass(29), "");
  EXPECT_EQ(said("lease 1 uses"), 0);
  EXPECT_EQ(said("lease 2 uses 4.0 GiB of a GPU, above its budget of 3.0 GiB"), 1);
  EXPECT_EQ(seconds_pass(1), "revoke 3; signal 15 to 3; ");
  EXPECT_THAT(seconds_pass(300), Not(HasSubstr("move out")));
  EXPECT_THAT(taken(1), ElementsAre());
  EXPECT_THAT(taken(2), ElementsAre());
}

TEST_F(LadderTest, NobodyInsideHisBudgetMeetsMoreThanANoticeAndTheSaveHeAllows) {
  use_settings(
      {.on_lease_critical = {{Measure::kNotify}, {Measure::kCleanup}, {Measure::kCheckpoint}},
       .on_device_critical = {{Measure::kNotify}, {Measure::kKill, seconds(1)}},
       .over_budget = {{Measure::kNotify}, {Measure::kKill, seconds(1)}}});
  hold(over(gib(8)));
  hold(saves(over(gib(6))));
  (void)use(1, gib(8));
  EXPECT_EQ(use(2, gib(6)), "save 2; ");
  (void)saved(2, 1, CheckpointOutcome::kSaved);
  EXPECT_EQ(seconds_pass(600), "");
  EXPECT_THAT(taken(1), ElementsAre("cleanup refused"));
  EXPECT_THAT(taken(2), ElementsAre("cleanup refused", "checkpoint confirmed"));
}

TEST_F(LadderTest, NoMeasureIsTakenAgainBeforeItsCoolDownIsOver) {
  use_settings({.over_budget = {{Measure::kNotify}, {Measure::kSuspend, seconds(10)}},
                .cooldown = minutes(2)});
  hold(over(gib(4)));
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(10), "move out 1; ");
  (void)transfer_done(Outcome::kUndone, "the driver is busy");
  EXPECT_EQ(seconds_pass(119), "") << "it goes on, and is left alone for two minutes";
  EXPECT_EQ(seconds_pass(12), "move out 1; ") << "then the ladder begins anew, with its times";
  EXPECT_EQ(said("it has 10 s to use less"), 2);
}

TEST_F(LadderTest, AnEpisodeEndsWhenItWasCalmForAWhileAndNotBefore) {
  hold(over(gib(4)));
  for (int i = 0; i < 20; ++i) {
    (void)use(1, gib(6));
    (void)use(1, gib(6));
    (void)use(1, gib(3));
  }
  EXPECT_EQ(said("above its budget"), 1) << "it comes and goes";
  EXPECT_THAT(taken(1), ElementsAre()) << "and was never above for long";
  (void)seconds_pass(11);
  (void)use(1, gib(6));
  (void)use(1, gib(6));
  EXPECT_EQ(said("above its budget"), 2);
}

TEST_F(LadderTest, TheCauseOfADangerToOthersIsWhoIsAboveHisBudget) {
  use_settings({.on_device_critical = {{Measure::kNotify}, {Measure::kSuspend, seconds(20)}},
                .on_unmanaged = {{Measure::kNotify}, {Measure::kSuspend, seconds(5)}}});
  hold(over(gib(6), OverBudget::kFail));
  hold(over(gib(10), OverBudget::kNotify));
  (void)use(2, gib(1));
  EXPECT_EQ(use(1, gib(9)), "over 1; ") << "6 GiB are free, and lease 2 was granted 9 more";
  EXPECT_EQ(seconds_pass(20), "");
  EXPECT_EQ(said("lease 1 uses 9.0 GiB of a GPU, above its budget of 6.0 GiB, and others on it "
                 "lack memory that they were granted: it has 20 s to use less"),
            1);
  EXPECT_EQ(seconds_pass(1), "move out 1; ") << "whatever it has asked for";
  EXPECT_THAT(taken(2), ElementsAre());
}

TEST_F(LadderTest, WhereUnmanagedProcessesAreTheCauseNothingIsDoneUnlessThatIsConfigured) {
  hold(over(gib(8)));
  hold(over(gib(6)));
  (void)use(1, gib(4));
  (void)use(2, gib(4));
  (void)use(77, gib(8));
  EXPECT_EQ(story.look().pressure, Pressure::kCritical);
  EXPECT_EQ(seconds_pass(600), "");
  EXPECT_THAT(taken(1), ElementsAre());
  EXPECT_THAT(taken(2), ElementsAre());
}

/// Leases of 4, 4 and 3 GiB that use 2, 1 and 3, and unmanaged processes with 9 on a GPU of 16.
class CrowdedGpu : public LadderTest {
 protected:
  void crowd(std::vector<Priority> priorities) {
    use_settings({.on_unmanaged = {{Measure::kNotify}, {Measure::kSuspend, seconds(10)}}});
    const std::vector<Bytes> budgets = {gib(4), gib(4), gib(3)};
    for (std::size_t i = 0; i < 3; ++i) {
      Request request = S::budget(budgets[i]);
      request.priority = priorities[i];
      hold(request);
    }
    story.use(1, gib(2));
    story.use(2, gib(1));
    story.use(3, gib(3));
    (void)seconds_pass(1);
  }
  void intrude(Bytes bytes) { story.use(77, bytes); }
  /// For unmanaged processes, and the driver says that it has left.
  void lease_1_makes_room() {
    crowd({Priority::kLow, Priority::kHigh, Priority::kHigh});
    intrude(gib(9));
    (void)seconds_pass(11);
    (void)transfer_done();
    story.use(1, {});
    (void)seconds_pass(1);
  }
};

TEST_F(CrowdedGpu, TheLowerPriorityMakesRoomThenWhoHasLeast) {
  crowd({Priority::kLow, Priority::kHigh, Priority::kLow});
  intrude(gib(9));
  EXPECT_EQ(seconds_pass(10), "");
  EXPECT_EQ(seconds_pass(1), "move out 1; ") << "as low as lease 3, and less to be moved";
  EXPECT_THAT(taken(1), ElementsAre("suspend"));
}

TEST_F(CrowdedGpu, WhoIsIdleGoesFirst) {
  crowd({Priority::kLow, Priority::kLow, Priority::kUrgent});
  for (int minute = 0; minute < 6; ++minute) {
    story.use(1, gib(2) + mib(static_cast<std::uint64_t>(minute)));
    story.use(2, gib(1) + mib(static_cast<std::uint64_t>(minute)));
    (void)seconds_pass(60);
  }
  intrude(gib(9));
  (void)seconds_pass(10);
  EXPECT_EQ(seconds_pass(1), "move out 3; ") << "its use has not changed for minutes";
}

TEST_F(CrowdedGpu, TheNextMakesRoomOnlyWhereThatDidNotHelp) {
  crowd({Priority::kNormal, Priority::kNormal, Priority::kNormal});
  intrude(gib(9));
  (void)seconds_pass(10);
  EXPECT_EQ(seconds_pass(1), "move out 2; ");
  EXPECT_EQ(seconds_pass(5), "") << "one at a time";
  (void)transfer_done();
  story.use(2, {});
  EXPECT_EQ(seconds_pass(60), "") << "2 GiB are free, and lease 1 may have 2 more";
  intrude(gib(10));
  EXPECT_EQ(seconds_pass(10), "");
  EXPECT_EQ(seconds_pass(1), "move out 1; ");
}

TEST_F(CrowdedGpu, WhoMadeRoomComesBackWhenTheyHaveGone) {
  lease_1_makes_room();
  EXPECT_EQ(seconds_pass(30), "");
  EXPECT_EQ(story.state(1), LeaseState::kSuspended);
  intrude({});
  EXPECT_THAT(seconds_pass(12), HasSubstr("move back 1; "));
}

TEST_F(CrowdedGpu, ARestartForgetsNeitherTheMeasureNorThatItComesBack) {
  lease_1_makes_room();
  story.restart(settings({}));
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_THAT(taken(1), ElementsAre("suspend confirmed"));
  intrude({});
  EXPECT_THAT(seconds_pass(12), HasSubstr("move back 1; "));
}

TEST_F(CrowdedGpu, ARestartBringsBackWhoMadeRoomAndNobodyWhoWasSuspendedSince) {
  lease_1_makes_room();
  intrude({});
  ASSERT_THAT(seconds_pass(12), HasSubstr("move back 1; "));
  (void)transfer_done();
  story.use(1, gib(2));
  (void)seconds_pass(1);
  EXPECT_EQ(story.feed(Suspend{{71}, {{1000}}, {1}}), "move out 1; ");
  (void)transfer_done();
  story.use(1, {});
  (void)seconds_pass(1);
  story.restart(settings({}));
  EXPECT_THAT(taken(1), ElementsAre("suspend confirmed")) << "the one for unmanaged programs";
  EXPECT_EQ(seconds_pass(30), "");
  EXPECT_EQ(story.state(1), LeaseState::kSuspended);
}

TEST_F(LadderTest, AMeasureThatWasUnderWayWhenTheDaemonWasKilledIsOverAllTheSame) {
  hold(over(gib(4)));
  (void)use(1, gib(6));
  EXPECT_EQ(seconds_pass(60), "move out 1; ");
  story.restart(settings({}));
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_THAT(taken(1), ElementsAre("checkpoint refused", "suspend"));
  EXPECT_THAT(seconds_pass(1), HasSubstr("move back 1; "));
  (void)transfer_done();
  EXPECT_THAT(taken(1), ElementsAre("checkpoint refused", "suspend failed"));
  EXPECT_THAT(lease(1).measures.back().detail, HasSubstr("the daemon was started anew"));
  EXPECT_EQ(seconds_pass(120), "") << "the cool-down holds over the restart";
}

TEST_F(LadderTest, OneOfWhichNothingComesIsGivenUp) {
  hold(over(gib(4)));
  (void)use(1, gib(6));
  (void)seconds_pass(60);
  EXPECT_THAT(taken(1), ElementsAre("checkpoint refused", "suspend"));
  (void)story.pass(minutes(5));
  EXPECT_THAT(taken(1), ElementsAre("checkpoint refused", "suspend failed"));
  EXPECT_THAT(lease(1).measures.back().detail, HasSubstr("nothing came of it within 5m"));
}

TEST_F(LadderTest, ASnapshotKeepsWhatWasTaken) {
  hold(over(gib(4)));
  (void)use(1, gib(6));
  (void)seconds_pass(60);
  Coordinator again(settings({}));
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    ASSERT_TRUE(again.apply(record).ok());
  }
  (void)again.step(story.now, Recovered{});
  EXPECT_EQ(again.lease({1}, story.now)->measures, lease(1).measures);
  EXPECT_FALSE(lease(1).measures.empty());
}

}  // namespace
}  // namespace berth::core
