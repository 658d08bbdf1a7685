// SPDX-License-Identifier: Apache-2.0
// Sizes that are learnt from earlier runs of a command.
#include "core/run_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

constexpr UserId kAna{1000};
constexpr UserId kBert{1001};
constexpr const char* kTrain = "python train.py --layers 12";

TEST(RunHistory, AsksForTheHighestOfTheLastRunsAndALittleMore) {
  RunHistory runs;
  EXPECT_EQ(runs.budget_for(kAna, kTrain), std::nullopt);
  runs.add(kAna, kTrain, {.peak = mib(1600)});
  EXPECT_EQ(runs.budget_for(kAna, kTrain), mib(1728));  // A sixteenth: 100 MiB.
  runs.add(kAna, kTrain, {.peak = mib(100)});
  EXPECT_EQ(runs.budget_for(kAna, kTrain), mib(1728));
  for (std::size_t i = 0; i < limits::kRunsKept; ++i) runs.add(kAna, kTrain, {.peak = mib(100)});
  EXPECT_EQ(runs.budget_for(kAna, kTrain), mib(192));
}

TEST(RunHistory, KnowsEachUsersCommandsByTheirWholeLine) {
  RunHistory runs;
  runs.add(kAna, kTrain, {.peak = gib(1)});
  EXPECT_EQ(runs.budget_for(kBert, kTrain), std::nullopt);
  EXPECT_EQ(runs.budget_for(kAna, std::string(kTrain) + "0"), std::nullopt);
}

TEST(RunHistory, ARunThatWasRefusedMemoryTellsWhatIsTooLittle) {
  RunHistory runs;
  runs.add(kAna, kTrain, {.peak = gib(1)});
  runs.add(kAna, kTrain, {.peak = gib(2), .refused = true});
  EXPECT_EQ(runs.budget_for(kAna, kTrain), std::nullopt);
  runs.add(kAna, kTrain, {.peak = gib(3)});
  EXPECT_EQ(runs.budget_for(kAna, kTrain), gib(3) + mib(192));
}

TEST(RunHistory, ForgetsTheCommandsThatWereNotRunForLongest) {
  RunHistory runs;
  runs.add(kAna, kTrain, {.peak = gib(1)});
  for (std::size_t i = 1; i < limits::kCommandsKept; ++i) {
    runs.add(kAna, "command " + std::to_string(i), {.peak = gib(1)});
  }
  runs.add(kAna, kTrain, {.peak = gib(1)});
  runs.add(kAna, "one more", {.peak = gib(1)});
  EXPECT_EQ(runs.all().size(), limits::kCommandsKept);
  EXPECT_NE(runs.budget_for(kAna, kTrain), std::nullopt);
  EXPECT_EQ(runs.budget_for(kAna, "command 1"), std::nullopt);
}

TEST(RunHistory, ForgetsCommandsOfWhoeverHasMost) {
  constexpr UserId kEve{4};
  RunHistory runs;
  runs.add(kAna, kTrain, {.peak = gib(1)});
  for (std::size_t i = 0; i < 2 * limits::kCommandsKept; ++i) {
    runs.add(kEve, "command " + std::to_string(i), {.peak = gib(1)});
  }
  EXPECT_EQ(runs.all().size(), limits::kCommandsKept);
  EXPECT_NE(runs.budget_for(kAna, kTrain), std::nullopt);
}

class Learning : public testing::Test {
 protected:
  static Request learned() {
    return {.command = kTrain, .share = Share::kExclusive, .learned = true};
  }
  /// The n-th lease runs, uses so much, and its command ends so.
  void run(std::uint64_t n, Bytes peak, int code = 0, std::uint64_t refused = 0) {
    (void)story.ask({.command = kTrain, .vram = gib(4)});
    (void)story.claim(n);
    const ChargeSample charge{
        .lease = {0, n}, .device = device(0), .peak = peak, .refused = refused};
    const auto sample = [&] {
      Sample taken{story.now.instant, story.now.instant, true, "", "", story.hardware, {charge}};
      (void)story.feed(Sampled{std::move(taken)});
    };
    sample();
    (void)story.feed(ReportExit{{n}, {{1000}, true}, {0, n}, {{.code = code}}});
    (void)story.feed(ProcessEnded{S::process(n)});
    sample();
    ASSERT_EQ(story.state(n), LeaseState::kEnded);
  }
  FitView fit() { return std::get<FitView>(story.coordinator.fit(learned(), {{1000}}, story.now)); }
  Request asked(std::uint64_t n) { return story.coordinator.lease({n}, story.now)->request; }

  Story story{{.order = Order::kFifo, .reserve = {}}};
};

TEST_F(Learning, ARequestGetsWhatItsCommandUsedBefore) {
  run(1, gib(1));
  EXPECT_EQ(fit().learned, gib(1) + mib(64));
  (void)story.ask(learned());
  EXPECT_EQ(asked(2).vram, gib(1) + mib(64));
  EXPECT_EQ(asked(2).share, Share::kBudget);
  EXPECT_TRUE(asked(2).learned);
}

// A user who asks for so little is refused.
TEST_F(Learning, WhatIsLearnedMayBeBelowWhatAContextCosts) {
  run(1, mib(64));
  EXPECT_EQ(fit().learned, mib(128));
  EXPECT_EQ(story.ask(learned()), "held 2; ");
}

TEST_F(Learning, WhereNothingIsKnownItIsAsItSays) {
  EXPECT_EQ(fit().learned, std::nullopt);
  (void)story.ask(learned());
  EXPECT_EQ(asked(1).share, Share::kExclusive);
  EXPECT_FALSE(asked(1).learned);
}

TEST_F(Learning, ARunThatFailedTeachesNothing) {
  run(1, gib(1), 1);
  EXPECT_EQ(fit().learned, std::nullopt);
  run(2, {});
  EXPECT_EQ(fit().learned, std::nullopt);
}

TEST_F(Learning, ARunThatWasRefusedMemoryLeadsToAWholeGpu) {
  run(1, gib(1));
  run(2, gib(4), 1, 3);
  EXPECT_EQ(fit().learned, std::nullopt);
}

TEST_F(Learning, SurvivesARestartByRecordsAndBySnapshot) {
  run(1, gib(1));
  const std::vector<Record> snapshot = story.coordinator.snapshot(story.now);
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_EQ(fit().learned, gib(1) + mib(64));

  Coordinator fresh{Settings{}};
  for (const Record& record : snapshot) ASSERT_TRUE(fresh.apply(record).ok());
  const auto again = fresh.fit(learned(), {{1000}}, story.now);
  EXPECT_EQ(std::get<FitView>(again).learned, gib(1) + mib(64));
}

}  // namespace
}  // namespace berth::core
