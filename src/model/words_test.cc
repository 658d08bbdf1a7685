// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/refusal.h"
#include "model/view.h"

namespace berth {
namespace {

TEST(Words, EachWordReadsBackAsItsValue) {
  for (int i = 0; i < 4; ++i) {
    const auto value = static_cast<Priority>(i);
    EXPECT_EQ(parse_priority(to_text(value)), value);
  }
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<LeaseState>(i);
    EXPECT_EQ(parse_lease_state(to_text(value)), value);
  }
  for (int i = 0; i < 7; ++i) {
    const auto value = static_cast<EndResult>(i);
    EXPECT_EQ(parse_end_result(to_text(value)), value);
  }
  for (int i = 0; i < 15; ++i) {
    const auto value = static_cast<RefusalCode>(i);
    EXPECT_EQ(parse_refusal_code(to_text(value)), value);
  }
  for (int i = 0; i < 14; ++i) {
    const auto value = static_cast<WhyView::Reason>(i);
    EXPECT_EQ(parse_why_reason(to_text(value)), value);
  }
  for (int i = 0; i < 4; ++i) {
    const auto value = static_cast<CheckpointKind>(i);
    EXPECT_EQ(parse_checkpoint_kind(to_text(value)), value);
  }
  for (int i = 0; i < 6; ++i) {
    const auto reason = static_cast<CheckpointReason>(i);
    EXPECT_EQ(parse_checkpoint_reason(to_text(reason)), reason);
    const auto outcome = static_cast<CheckpointOutcome>(i);
    EXPECT_EQ(parse_checkpoint_outcome(to_text(outcome)), outcome);
  }
  EXPECT_EQ(parse_share("exclusive"), Share::kExclusive);
  EXPECT_EQ(parse_leftovers("release"), Leftovers::kRelease);
  EXPECT_EQ(parse_over_budget("suspend"), OverBudget::kSuspend);
  EXPECT_EQ(to_text(OverBudget::kKill), "kill");
  EXPECT_EQ(to_text(EndResult::kOverBudget), "over_budget");
  EXPECT_EQ(parse_end_result("detached"), EndResult::kDetached);
  EXPECT_EQ(parse_lease_state("running"), std::nullopt);
}

TEST(Words, FactsAreNamedAfterTheirTypes) {
  EXPECT_EQ(name_of(Fact{RequestQueued{}}), "request_queued");
  EXPECT_EQ(name_of(Fact{LeaseGranted{}}), "lease_granted");
  EXPECT_EQ(name_of(Fact{LeaseEnded{}}), "lease_ended");
  EXPECT_EQ(name_of(Fact{CheckpointEnded{}}), "checkpoint_ended");
  EXPECT_EQ(name_of(Fact{CountersRestored{}}), "counters_restored");
}

}  // namespace
}  // namespace berth
