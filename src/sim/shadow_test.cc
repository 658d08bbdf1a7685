// SPDX-License-Identifier: Apache-2.0
// That what is wrong in a journal is seen; tests/mutants shows the same of whole worlds.
#include "sim/shadow.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::sim {
namespace {

using testing::Test;

constexpr LeaseId kOne{1};
const DeviceId kDevice{1, 1, false};

class ShadowTest : public Test {
 protected:
  std::string write(Fact fact) {
    return shadow.apply({++sequence, {5}, {5}, std::move(fact)}, coverage);
  }
  void hold() {
    EXPECT_EQ(write(RequestQueued{kOne, {0, 1}, {1000}, {}, {.vram = gib(4)}}), "");
    EXPECT_EQ(write(LeaseGranted{kOne, {{kDevice, gib(4)}}, false}), "");
    EXPECT_EQ(write(LeaseClaimed{kOne, Process{7, 7}}), "");
  }

  Shadow shadow;
  Coverage coverage;
  std::uint64_t sequence = 0;
};

TEST_F(ShadowTest, BudgetsOfHeldLeasesAddUpAndGoWithThem) {
  hold();
  EXPECT_EQ(shadow.budgets_on(kDevice), gib(4));
  EXPECT_EQ(write(LeaseReleasing{kOne, EndResult::kOk}), "");
  EXPECT_EQ(shadow.budgets_on(kDevice), Bytes{});
}

TEST_F(ShadowTest, ALeaseIsReleasedOnce) {
  hold();
  EXPECT_EQ(write(LeaseReleasing{kOne, EndResult::kOk}), "");
  EXPECT_NE(write(LeaseReleasing{kOne, EndResult::kOk}), "");
}

TEST_F(ShadowTest, OnlyWhatWaitsIsGranted) {
  hold();
  EXPECT_NE(write(LeaseGranted{kOne, {{kDevice, gib(4)}}, false}), "");
  EXPECT_NE(write(LeaseGranted{{2}, {{kDevice, gib(4)}}, false}), "");
}

TEST_F(ShadowTest, NobodyIsEndedForHisUseWhoHasNotAskedForThat) {
  hold();
  EXPECT_NE(write(LeaseRevoked{kOne, EndResult::kOverBudget, {6}}), "");
}

TEST_F(ShadowTest, RecordsAreNumberedWithoutGaps) {
  hold();
  ++sequence;
  EXPECT_NE(write(LeaseReleasing{kOne, EndResult::kOk}), "");
}

TEST_F(ShadowTest, ANumberIsNeverUsedAgain) {
  hold();
  EXPECT_EQ(write(LeaseEnded{kOne, EndResult::kLost}), "");
  EXPECT_NE(write(RequestQueued{kOne, {0, 2}, {1000}, {}, {.vram = gib(4)}}), "");
}

TEST_F(ShadowTest, SavesComeOneByOneAndOnlyWhereTheyWereNamed) {
  hold();
  EXPECT_NE(write(CheckpointAsked{kOne, 1, CheckpointReason::kAsked}), "");
  Request request{.vram = gib(4)};
  request.checkpoint = CheckpointWay{};
  EXPECT_EQ(write(RequestQueued{{2}, {0, 2}, {1000}, {}, request}), "");
  EXPECT_EQ(write(LeaseGranted{{2}, {{kDevice, gib(4)}}, false}), "");
  EXPECT_NE(write(CheckpointAsked{{2}, 1, CheckpointReason::kAsked}), "");
  EXPECT_EQ(write(LeaseClaimed{{2}, Process{8, 8}}), "");
  EXPECT_NE(write(CheckpointAsked{{2}, 2, CheckpointReason::kAsked}), "");
  EXPECT_EQ(write(CheckpointAsked{{2}, 1, CheckpointReason::kAsked}), "");
  EXPECT_NE(write(CheckpointAsked{{2}, 2, CheckpointReason::kAsked}), "");
  EXPECT_NE(write(CheckpointEnded{{2}, 2, CheckpointOutcome::kSaved, ""}), "");
  EXPECT_EQ(write(CheckpointEnded{{2}, 1, CheckpointOutcome::kSaved, ""}), "");
  EXPECT_EQ(write(CheckpointAsked{{2}, 2, CheckpointReason::kAsked}), "");
}

TEST_F(ShadowTest, ASnapshotThatLacksALeaseIsSeen) {
  hold();
  EXPECT_NE(shadow.replace({}, sequence), "");
}

}  // namespace
}  // namespace berth::sim
