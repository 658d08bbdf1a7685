// SPDX-License-Identifier: Apache-2.0
#include "keeper/next_act.h"

#include <gtest/gtest.h>

namespace berth::keeper {
namespace {

using jobs::Attempt;
using jobs::JobResult;

LeaseView lease(LeaseState state, bool unclaimed = false) {
  LeaseView view;
  view.state = state;
  view.flags.unclaimed = unclaimed;
  return view;
}
LeaseView ended(EndResult result, std::optional<ExitStatus> exit = {}) {
  LeaseView view = lease(LeaseState::kEnded);
  view.result = result;
  view.exit = exit;
  return view;
}
constexpr Attempt kKilled{.starter = 7};
constexpr Attempt kRefused{.starter = 7, .over = true, .code = 127};
constexpr Attempt kRan{.starter = 7, .ran = true, .over = true, .code = 3};

TEST(NextAct, WhileAStarterLivesNothingIsDone) {
  EXPECT_EQ(next_act({.starter_lives = true}).act, Act::kNothing);
  EXPECT_EQ(next_act({.starter_lives = true, .lease = lease(LeaseState::kHeld, true)}).act,
            Act::kNothing);
}

TEST(NextAct, TheDaemonIsAskedWhereNothingIsKnown) {
  EXPECT_EQ(next_act({}).act, Act::kAsk);
  EXPECT_EQ(next_act({.ended = kRan}).act, Act::kAsk);
}

TEST(NextAct, WhatWaitsIsListenedToOnce) {
  EXPECT_EQ(next_act({.lease = lease(LeaseState::kWaiting)}).act, Act::kListen);
  EXPECT_EQ(next_act({.listens = true, .lease = lease(LeaseState::kWaiting)}).act, Act::kNothing);
}

TEST(NextAct, WhatIsOfferedIsStarted) {
  EXPECT_EQ(next_act({.lease = lease(LeaseState::kHeld, true)}).act, Act::kStart);
  EXPECT_EQ(next_act({.lease = lease(LeaseState::kHeld, true), .ended = kKilled}).act, Act::kStart);
}

TEST(NextAct, WhatRunsWithoutItsStarterIsLookedAtUntilItEnds) {
  for (const LeaseState state :
       {LeaseState::kHeld, LeaseState::kSuspended, LeaseState::kReleasing}) {
    EXPECT_EQ(next_act({.lease = lease(state), .ended = kKilled}).act, Act::kLook);
  }
}

TEST(NextAct, TheResultIsTheLeases) {
  const Next next =
      next_act({.lease = ended(EndResult::kFailed, ExitStatus{.code = 3}), .ended = kRan});
  EXPECT_EQ(next.act, Act::kFinish);
  EXPECT_EQ(next.result, (JobResult{.result = EndResult::kFailed, .code = 3}));
  EXPECT_EQ(next_act({.lease = ended(EndResult::kKilled, ExitStatus{.signal = 9})}).result,
            (JobResult{.result = EndResult::kKilled, .signal = 9}));
  EXPECT_EQ(next_act({.lease = ended(EndResult::kCancelled)}).result,
            (JobResult{.result = EndResult::kCancelled}));
}

TEST(NextAct, WhatTheDaemonDidNotHearIsInTheFileOfTheAttempt) {
  EXPECT_EQ(next_act({.lease = ended(EndResult::kLost), .ended = kRan}).result,
            (JobResult{.result = EndResult::kFailed, .code = 3}));
  EXPECT_EQ(next_act({.is_forgotten = true, .ended = kRan}).result,
            (JobResult{.result = EndResult::kFailed, .code = 3}));
  const Attempt shot{.starter = 7, .ran = true, .over = true, .signal = 9};
  EXPECT_EQ(next_act({.is_forgotten = true, .ended = shot}).result,
            (JobResult{.result = EndResult::kKilled, .signal = 9}));
}

TEST(NextAct, LostIsToldOnlyWhereNobodyKnows) {
  EXPECT_EQ(next_act({.is_forgotten = true, .ended = kKilled}).result.result, EndResult::kLost);
  EXPECT_EQ(next_act({.lease = ended(EndResult::kLost)}).result.result, EndResult::kLost);
}

TEST(NextAct, WhatCannotBeStartedIsNotTriedAgain) {
  for (const LeaseView& view : {lease(LeaseState::kWaiting), lease(LeaseState::kHeld, true)}) {
    const Next next = next_act({.lease = view, .ended = kRefused});
    EXPECT_EQ(next.act, Act::kGiveUp);
    EXPECT_EQ(next.result, (JobResult{.result = EndResult::kFailed, .code = 127}));
  }
}

TEST(NextAct, StartersThatAreKilledAreTriedAgainButNotForEver) {
  Sight sight{.lease = lease(LeaseState::kHeld, true), .ended = kKilled, .false_starts = 2};
  EXPECT_EQ(next_act(sight).act, Act::kStart);
  sight.false_starts = 3;
  EXPECT_EQ(next_act(sight).act, Act::kGiveUp);
  EXPECT_EQ(next_act(sight).result.trouble, "it could not be started 3 times");
}

}  // namespace
}  // namespace berth::keeper
