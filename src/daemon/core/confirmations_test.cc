// SPDX-License-Identifier: Apache-2.0
#include "core/confirmations.h"

#include <gtest/gtest.h>

#include "core/decider_for_test.h"
#include "core/limits.h"

namespace berth::core {
namespace {

class ConfirmationsTest : public testing::Test {
 protected:
  Sample sample_asked_at(Instant at) const {
    Sample sample;
    sample.asked_at = at;
    return sample;
  }

  TestDecider core;
  Confirmations confirmations{core};
  LeaseId id = core.queue({.vram = gib(1)});
};

TEST_F(ConfirmationsTest, AnEndIsAwaitedUntilItIsTold) {
  EXPECT_EQ(confirmations.end_awaited_since(id), std::nullopt);
  confirmations.await_end(id);
  EXPECT_EQ(confirmations.end_awaited_since(id), core.now().instant);
  confirmations.end_is_told(id);
  EXPECT_EQ(confirmations.end_awaited_since(id), std::nullopt);
  EXPECT_EQ(confirmations.ending(), std::set{id}) << "whether all is free is told apart from that";
  confirmations.await_no_more(id);
  EXPECT_TRUE(confirmations.ending().empty());
}

TEST_F(ConfirmationsTest, ASampleAskedBeforeItLeftTellsNothing) {
  const Instant before = core.now().instant;
  core.pass(seconds(1));
  confirmations.await_swapped_out(id);
  EXPECT_TRUE(confirmations.take_swapped_out(sample_asked_at(before)).empty());
  EXPECT_TRUE(confirmations.awaits_swapped_out(id));
  EXPECT_EQ(confirmations.take_swapped_out(sample_asked_at(core.now().instant)), std::set{id});
  EXPECT_FALSE(confirmations.awaits_any_swapped_out());
}

TEST_F(ConfirmationsTest, ABudgetThatFellIsAskedAboutAtOnceAndThenSlowly) {
  const Instant before = core.now().instant;
  EXPECT_EQ(confirmations.shrunk_due(before), Instant::never());
  core.pass(seconds(1));
  confirmations.await_shrunk(id);
  EXPECT_EQ(confirmations.shrunk_due(before), core.now().instant);
  EXPECT_EQ(confirmations.shrunk_due(core.now().instant),
            core.now().instant + limits::kProbeSlowEvery);
  confirmations.confirm_shrunk(id);
  EXPECT_EQ(confirmations.shrunk_due(before), Instant::never());
}

TEST_F(ConfirmationsTest, WhatItLeftBehindIsKnownBeforeWhatItMayHaveAgain) {
  confirmations.await_shrunk(id);
  EXPECT_TRUE(confirmations.may_be_above(id));
  confirmations.confirm_left(id);
  EXPECT_FALSE(confirmations.may_be_above(id));
  EXPECT_EQ(confirmations.shrunk(), std::set{id});
  EXPECT_EQ(confirmations.shrunk_due(Instant{}), Instant::never()) << "nothing is asked meanwhile";
  confirmations.await_shrunk(id);
  EXPECT_TRUE(confirmations.may_be_above(id)) << "it fell again";
}

TEST_F(ConfirmationsTest, ALeaseThatIsForgottenAwaitsNothing) {
  confirmations.await_end(id);
  confirmations.await_shrunk(id);
  confirmations.await_swapped_out(id);
  confirmations.free(id);
  confirmations.forget(id);
  EXPECT_TRUE(confirmations.ending().empty());
  EXPECT_TRUE(confirmations.shrunk().empty());
  EXPECT_FALSE(confirmations.awaits_any_swapped_out());
  EXPECT_FALSE(confirmations.is_free(id));
}

}  // namespace
}  // namespace berth::core
