// SPDX-License-Identifier: Apache-2.0
#include "cli/run/waiter.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

LeaseView in_state(LeaseState state, bool started) {
  LeaseView lease{.state = state};
  if (started) lease.started_at = UnixMs{1};
  return lease;
}

TEST(HasReached, StateThatWasLeftWasReached) {
  using enum LeaseState;
  EXPECT_FALSE(has_reached(in_state(kWaiting, false), kHeld));
  EXPECT_TRUE(has_reached(in_state(kHeld, true), kHeld));
  EXPECT_TRUE(has_reached(in_state(kReleasing, true), kHeld));
  EXPECT_TRUE(has_reached(in_state(kEnded, true), kHeld));
  EXPECT_FALSE(has_reached(in_state(kEnded, false), kHeld)) << "cancelled in the queue";
  EXPECT_FALSE(has_reached(in_state(kHeld, true), kReleasing));
  EXPECT_TRUE(has_reached(in_state(kEnded, true), kReleasing));
  EXPECT_FALSE(has_reached(in_state(kEnded, false), kReleasing));
  EXPECT_FALSE(has_reached(in_state(kReleasing, true), kEnded));
  EXPECT_TRUE(has_reached(in_state(kEnded, false), kEnded));
}

TEST(WaitStatus, IsTheCommandsOwnOrSaysWhatHappened) {
  const auto of = [](EndResult result, std::optional<ExitStatus> exit) {
    LeaseView lease{.state = LeaseState::kEnded, .result = result, .exit = exit};
    return exit_status_of(lease);
  };
  EXPECT_EQ(of(EndResult::kOk, ExitStatus{0, 0}), 0);
  EXPECT_EQ(of(EndResult::kFailed, ExitStatus{75, 0}), 75);
  EXPECT_EQ(of(EndResult::kKilled, ExitStatus{0, 9}), 137);
  EXPECT_EQ(of(EndResult::kLimit, ExitStatus{0, 15}), 124);
  EXPECT_EQ(of(EndResult::kOk, std::nullopt), 0) << "a reservation";
  EXPECT_EQ(of(EndResult::kCancelled, std::nullopt), 1);
  EXPECT_EQ(of(EndResult::kLost, std::nullopt), 1);
}

}  // namespace
}  // namespace berth::cli
