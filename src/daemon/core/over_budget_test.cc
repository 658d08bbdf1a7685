// SPDX-License-Identifier: Apache-2.0
// Leases whose processes use more than their budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/story_for_test.h"

namespace berth::core {
namespace {

using ::testing::HasSubstr;

// A lease of 4 GiB that says what shall become of it, and a tolerance of 64 MiB.
class OverBudgetTest : public ::testing::Test {
 protected:
  void hold(OverBudget measure) {
    Request request = Story::budget(gib(4));
    request.over_budget = measure;
    (void)story_.ask(std::move(request));
    (void)story_.claim(1);
  }
  std::string sample_after(Duration time) {
    std::string reported = story_.pass(time);
    return reported + story_.sample();
  }
  int said(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(story_.effects, [&](const Effect& effect) {
      const auto* say = std::get_if<Say>(&effect);
      return say != nullptr && say->text.find(part) != std::string::npos;
    }));
  }
  std::optional<EndResult> result() const {
    const std::optional<LeaseView> lease = story_.coordinator.lease({1}, story_.now);
    return lease ? lease->result : std::nullopt;
  }

  Story story_;
};

TEST_F(OverBudgetTest, IsToldAndLoggedOnceAndEndedByNobody) {
  hold(OverBudget::kNotify);
  story_.use(1, gib(6));
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(said("above its budget"), 0);  // One look may be wrong.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sample_after(seconds(10)), "");
  EXPECT_EQ(said("lease 1 uses 6.0 GiB of a GPU, above its budget of 4.0 GiB"), 1);
  EXPECT_EQ(story_.state(1), LeaseState::kHeld);
}

TEST_F(OverBudgetTest, IsEndedAfterItsGraceWhereItAskedForThat) {
  hold(OverBudget::kKill);
  story_.use(1, gib(6));
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(sample_after(seconds(1)), "");
  EXPECT_EQ(said("it has 30 s to use less"), 1);
  EXPECT_EQ(sample_after(milliseconds(28'999)), "");
  EXPECT_EQ(sample_after(milliseconds(1)), "revoke 1; signal 15 to 1; ");
  EXPECT_EQ(result(), EndResult::kOverBudget);
  EXPECT_EQ(sample_after(seconds(9)), "");
  EXPECT_EQ(sample_after(seconds(1)), "signal 9 to 1; ");
  story_.use(1, Bytes{});
  EXPECT_EQ(story_.feed(ReportExit{{1}, {{1000}, true}, {0, 1}, {{.code = 0, .signal = 9}}}),
            "held 1; ");
  EXPECT_THAT(sample_after(milliseconds(1)), HasSubstr("end 1; "));
  EXPECT_EQ(result(), EndResult::kOverBudget);
}

TEST_F(OverBudgetTest, OneSampleWithinTheBudgetBeginsTheGraceAnew) {
  hold(OverBudget::kKill);
  story_.use(1, gib(6));
  (void)story_.sample();
  EXPECT_EQ(sample_after(seconds(29)), "");
  story_.use(1, gib(3));
  EXPECT_EQ(sample_after(seconds(2)), "in budget 1; ");
  story_.use(1, gib(6));
  EXPECT_EQ(sample_after(seconds(2)), "over 1; ");
  EXPECT_EQ(sample_after(seconds(29)), "");
  EXPECT_EQ(said("to use less"), 1) << "it is the same matter";
  EXPECT_EQ(sample_after(seconds(1)), "revoke 1; signal 15 to 1; ");
}

TEST_F(OverBudgetTest, NoTimeEndsALeaseOfWhichNothingIsTold) {
  hold(OverBudget::kKill);
  story_.use(1, gib(6));
  (void)story_.sample();
  EXPECT_EQ(story_.pass(hours(1)), "");  // No sample came.
  story_.hardware[0].processes = {
      {.process = Story::process(1), .used = {}, .user = {1000}, .alive = true}};
  EXPECT_EQ(story_.sample(), "in budget 1; ");
  EXPECT_EQ(sample_after(hours(1)), "");
  EXPECT_EQ(story_.state(1), LeaseState::kHeld);
}

TEST_F(OverBudgetTest, WithinTheToleranceNobodyIsEnded) {
  hold(OverBudget::kKill);
  story_.use(1, gib(4) + mib(64));
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(sample_after(hours(1)), "");
  story_.use(1, gib(4) + mib(65));
  EXPECT_EQ(sample_after(seconds(1)), "");
  EXPECT_EQ(sample_after(seconds(30)), "revoke 1; signal 15 to 1; ");
}

TEST_F(OverBudgetTest, ASecondDeviceCountsAsWellAndTheNeighbourIsNotTouched) {
  story_ = Story({.order = Order::kFifo}, {gib(16), gib(16)});
  Request request = Story::budget(gib(4));
  request.over_budget = OverBudget::kKill;
  request.device_count = 2;
  (void)story_.ask(std::move(request));
  (void)story_.claim(1);
  Request neighbour = Story::budget(gib(4));
  neighbour.over_budget = OverBudget::kKill;
  (void)story_.ask(std::move(neighbour));
  (void)story_.claim(2);
  story_.use(1, gib(1), 0);
  story_.use(1, gib(6), 1);
  story_.use(2, gib(4), 0);
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(sample_after(seconds(30)), "revoke 1; signal 15 to 1; ");
}

TEST_F(OverBudgetTest, AShrunkLeaseIsEndedOnlyIfItAskedForThat) {
  hold(OverBudget::kNotify);
  story_.use(1, gib(4));
  (void)story_.sample();
  (void)story_.feed(Resize{{9}, {{1000}, true}, {1}, {Share::kBudget, gib(2)}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sample_after(minutes(1)), "");
  EXPECT_EQ(story_.state(1), LeaseState::kHeld);
}

TEST_F(OverBudgetTest, FailLeavesItToTheGuardAndSaysNothingInTheLog) {
  hold(OverBudget::kFail);
  story_.use(1, gib(6));
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(sample_after(hours(1)), "");
  EXPECT_EQ(said("above its budget"), 0);
}

TEST_F(OverBudgetTest, ARestartOfTheDaemonGivesTheWholeGraceAgain) {
  hold(OverBudget::kKill);
  story_.use(1, gib(6));
  (void)story_.sample();
  (void)sample_after(seconds(29));
  story_.restart();
  EXPECT_EQ(story_.records_refused, 0);
  EXPECT_EQ(story_.sample(), "over 1; ");
  EXPECT_EQ(sample_after(seconds(29)), "");
  EXPECT_EQ(sample_after(seconds(1)), "revoke 1; signal 15 to 1; ");
  story_.restart();
  EXPECT_EQ(result(), EndResult::kOverBudget);  // That much was decided.
}

}  // namespace
}  // namespace berth::core
