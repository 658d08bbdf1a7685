// SPDX-License-Identifier: Apache-2.0
// The words of enumerations, facts and flags: each reads back as what it was written for.
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
    EXPECT_EQ(parse_word<Priority>(to_text(value)), value);
  }
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<LeaseState>(i);
    EXPECT_EQ(parse_word<LeaseState>(to_text(value)), value);
  }
  for (int i = 0; i < 7; ++i) {
    const auto value = static_cast<EndResult>(i);
    EXPECT_EQ(parse_word<EndResult>(to_text(value)), value);
  }
  for (int i = 0; i < 15; ++i) {
    const auto value = static_cast<RefusalCode>(i);
    EXPECT_EQ(parse_word<RefusalCode>(to_text(value)), value);
  }
  for (int i = 0; i < 14; ++i) {
    const auto value = static_cast<WhyView::Reason>(i);
    EXPECT_EQ(parse_word<WhyView::Reason>(to_text(value)), value);
  }
  for (int i = 0; i < 4; ++i) {
    const auto value = static_cast<CheckpointKind>(i);
    EXPECT_EQ(parse_word<CheckpointKind>(to_text(value)), value);
  }
  for (int i = 0; i < 6; ++i) {
    const auto reason = static_cast<CheckpointReason>(i);
    EXPECT_EQ(parse_word<CheckpointReason>(to_text(reason)), reason);
    const auto outcome = static_cast<CheckpointOutcome>(i);
    EXPECT_EQ(parse_word<CheckpointOutcome>(to_text(outcome)), outcome);
  }
  EXPECT_EQ(parse_word<Share>("exclusive"), Share::kExclusive);
  EXPECT_EQ(parse_word<Leftovers>("release"), Leftovers::kRelease);
  EXPECT_EQ(parse_word<OverBudget>("suspend"), OverBudget::kSuspend);
  EXPECT_EQ(to_text(OverBudget::kKill), "kill");
  EXPECT_EQ(to_text(EndResult::kOverBudget), "over_budget");
  EXPECT_EQ(parse_word<EndResult>("detached"), EndResult::kDetached);
  EXPECT_EQ(parse_word<LeaseState>("running"), std::nullopt);
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
