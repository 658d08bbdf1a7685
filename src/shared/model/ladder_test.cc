// SPDX-License-Identifier: Apache-2.0
#include "model/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

using ::testing::HasSubstr;

Result<Ladder> parse(const std::vector<std::string>& ladder_steps,
                     Cause cause = Cause::kOverBudget) {
  return parse_ladder(ladder_steps, cause);
}

std::string trouble(const std::vector<std::string>& ladder_steps,
                    Cause cause = Cause::kOverBudget) {
  const Result<Ladder> ladder = parse(ladder_steps, cause);
  return ladder.ok() ? "" : ladder.error().message;
}

TEST(LadderText, HasMeasuresInTheirOrderAndTheirTimes) {
  const Result<Ladder> ladder =
      parse({"notify", "cleanup", "checkpoint@30s", "suspend@1m", "requeue@2h", "kill@3h"});
  ASSERT_TRUE(ladder.ok());
  const Ladder expected = {{Measure::kNotify},
                           {Measure::kCleanup},
                           {Measure::kCheckpoint, seconds(30)},
                           {Measure::kSuspend, minutes(1)},
                           {Measure::kRequeue, hours(2)},
                           {Measure::kKill, hours(3)}};
  EXPECT_EQ(*ladder, expected);
}

TEST(LadderText, ReadsBackAsItIsWritten) {
  for (const std::string text :
       {"checkpoint", "checkpoint@30s", "checkpoint@90s", "checkpoint@1500ms", "checkpoint@60s",
        "checkpoint@2m", "checkpoint@5h"}) {
    const Result<Ladder> ladder = parse({"notify", text});
    ASSERT_TRUE(ladder.ok()) << text;
    EXPECT_EQ(to_text(ladder->back()), text);
  }
}

TEST(LadderText, AWordThatIsNoMeasureIsNamedWithTheNearest) {
  EXPECT_EQ(trouble({"notify", "suspned@60s"}),
            "'suspned' is no measure: notify, cleanup, checkpoint, suspend, requeue or kill; did "
            "you mean 'suspend'?");
}

TEST(LadderText, ATimeIsADurationAboveNothing) {
  for (const std::string text :
       {"suspend@", "suspend@soon", "suspend@0s", "suspend@25h", "suspend@1s@2s"}) {
    EXPECT_THAT(trouble({"notify", text}), HasSubstr("has no time such as \"suspend@30s\""))
        << text;
  }
}

TEST(LadderText, BeginsWithANotice) {
  EXPECT_THAT(trouble({"suspend@60s"}), HasSubstr("must begin with \"notify\""));
  EXPECT_THAT(trouble({"notify@5s", "suspend@60s"}), HasSubstr("must begin with \"notify\""));
  EXPECT_THAT(trouble({}), HasSubstr("must not be empty"));
  EXPECT_EQ(trouble({"notify"}), "");
}

TEST(LadderText, TheHarderComesAfterTheMilder) {
  EXPECT_THAT(trouble({"notify", "suspend@30s", "checkpoint@60s"}),
              HasSubstr("has 'checkpoint' after 'suspend', which is harder"));
  EXPECT_EQ(trouble({"notify", "suspend@30s", "suspend@60s"}), "'suspend' is in it twice");
}

TEST(LadderText, NoTimeComesTwiceOrBeforeAnEarlierOne) {
  EXPECT_EQ(trouble({"notify", "checkpoint@30s", "suspend@30s"}),
            "has 'suspend@30s' at the time of the one before it");
  EXPECT_EQ(trouble({"notify", "checkpoint@30s", "suspend@20s"}),
            "has 'suspend@20s' before what stands in front of it");
  EXPECT_EQ(trouble({"notify", "checkpoint@30s", "suspend", "requeue@30s"}),
            "has 'requeue@30s' at the time of the one before it");
  EXPECT_EQ(trouble({"notify", "checkpoint", "suspend"}), "") << "one after the other";
}

TEST(LadderText, KillSaysWhen) {
  EXPECT_THAT(trouble({"notify", "kill"}), HasSubstr("'kill' needs a time"));
  EXPECT_THAT(trouble({"notify", "kill@999ms"}), HasSubstr("'kill' needs a time"));
  EXPECT_EQ(trouble({"notify", "kill@1s"}), "");
}

TEST(LadderText, ALeaseInsideItsBudgetIsNeitherMovedNorStopped) {
  for (const std::string text : {"suspend@30s", "requeue@30s", "kill@30s"}) {
    EXPECT_THAT(trouble({"notify", text}, Cause::kLeaseCritical),
                HasSubstr("a lease inside its budget harms nobody"));
  }
  EXPECT_EQ(trouble({"notify", "cleanup", "checkpoint"}, Cause::kLeaseCritical), "");
}

TEST(LadderText, NobodyIsEndedForWhatUnmanagedProcessesDo) {
  EXPECT_THAT(trouble({"notify", "kill@30s"}, Cause::kUnmanaged),
              HasSubstr("no lease is ended for what programs without a lease do"));
  EXPECT_EQ(trouble({"notify", "suspend@30s", "requeue@60s"}, Cause::kUnmanaged), "");
  EXPECT_EQ(trouble({"notify", "kill@30s"}, Cause::kDeviceCritical), "");
}

TEST(LadderText, WhatIsBuiltInMakesSenseAndEndsNobody) {
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    std::vector<std::string> ladder_steps;
    for (const LadderStep& ladder_step : default_ladder(cause))
      ladder_steps.push_back(to_text(ladder_step));
    const Result<Ladder> read = parse(ladder_steps, cause);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, default_ladder(cause));
    for (const LadderStep& ladder_step : *read) EXPECT_NE(ladder_step.measure, Measure::kKill);
  }
}

TEST(LadderText, EachWordReadsBack) {
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const auto measure = static_cast<Measure>(i);
    EXPECT_EQ(parse_word<Measure>(to_text(measure)), measure);
  }
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(parse_word<Cause>(to_text(cause)), cause);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto outcome = static_cast<MeasureOutcome>(i);
    EXPECT_EQ(parse_word<MeasureOutcome>(to_text(outcome)), outcome);
  }
}

}  // namespace
}  // namespace berth
