// SPDX-License-Identifier: Apache-2.0
// Faults in a journal are seen; tests/mutants shows the same of whole worlds.
#include "sim/reference_model.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/coordinator.h"

namespace berth::sim {
namespace {

using testing::Test;

constexpr LeaseId kOne{1};
constexpr LeaseId kTwo{2};
constexpr LeaseId kThree{3};
const DeviceId kDevice{1, 1, false};

class ReferenceModelTest : public Test {
 protected:
  std::string write(Fact fact) {
    return model.apply({++sequence, {5}, {5}, std::move(fact)}, coverage);
  }
  void hold() {
    EXPECT_EQ(write(RequestQueued{kOne, {0, 1}, {1000}, {}, {.vram = gib(4)}}), "");
    EXPECT_EQ(write(LeaseGranted{kOne, {{kDevice, gib(4)}}, false}), "");
    EXPECT_EQ(write(LeaseClaimed{kOne, Process{7, 7}}), "");
  }

  ReferenceModel model;
  Coverage coverage;
  std::uint64_t sequence = 0;
};

TEST_F(ReferenceModelTest, BudgetsOfHeldLeasesAddUpAndGoWithThem) {
  hold();
  EXPECT_EQ(model.budgets_on(kDevice), gib(4));
  EXPECT_EQ(write(LeaseReleasing{kOne, EndResult::kOk}), "");
  EXPECT_EQ(model.budgets_on(kDevice), Bytes{});
}

TEST_F(ReferenceModelTest, ALeaseIsReleasedOnce) {
  hold();
  EXPECT_EQ(write(LeaseReleasing{kOne, EndResult::kOk}), "");
  EXPECT_NE(write(LeaseReleasing{kOne, EndResult::kOk}), "");
}

TEST_F(ReferenceModelTest, OnlyWhatWaitsIsGranted) {
  hold();
  EXPECT_NE(write(LeaseGranted{kOne, {{kDevice, gib(4)}}, false}), "");
  EXPECT_NE(write(LeaseGranted{{2}, {{kDevice, gib(4)}}, false}), "");
}

TEST_F(ReferenceModelTest, NobodyIsEndedForHisUseWhoHasNotAskedForThat) {
  hold();
  EXPECT_NE(write(LeaseRevoked{kOne, EndResult::kOverBudget, {6}}), "");
}

TEST_F(ReferenceModelTest, RecordsAreNumberedWithoutGaps) {
  hold();
  ++sequence;
  EXPECT_NE(write(LeaseReleasing{kOne, EndResult::kOk}), "");
}

TEST_F(ReferenceModelTest, ANumberIsNeverUsedAgain) {
  hold();
  EXPECT_EQ(write(LeaseEnded{kOne, EndResult::kLost}), "");
  EXPECT_NE(write(RequestQueued{kOne, {0, 2}, {1000}, {}, {.vram = gib(4)}}), "");
}

TEST_F(ReferenceModelTest, SavesComeOneByOneAndOnlyWhereTheyWereNamed) {
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

// On a full disk what was decided is in the next snapshot alone: one lease that is not as its
// records said takes nothing from what is known of the others.
TEST_F(ReferenceModelTest, ASnapshotAfterRecordsThatWereNotWrittenLeavesWhatIsKnownOfTheOthers) {
  const DeviceId other{2, 2, false};
  core::Coordinator coordinator{core::Settings{}};
  const auto both = [&](Fact fact) {
    EXPECT_EQ(write(fact), "");
    EXPECT_TRUE(coordinator.apply({sequence, {5}, {5}, std::move(fact)}).ok());
  };
  for (const LeaseId id : {kOne, kTwo, kThree}) {
    both(RequestQueued{id, {0, id.value}, {1000}, {}, {.vram = gib(4)}});
    both(LeaseGranted{id, {{kDevice, gib(4)}}, false});
    both(LeaseClaimed{id, Process{static_cast<std::int32_t>(id.value), 7}});
    both(SuspendBegun{.id = id, .used = {gib(1)}});
    both(LeaseSuspended{id});
  }
  both(LeaseMoved{kTwo, {other}});
  for (const Fact& fact : {Fact{LeasePaused{kOne}}, Fact{LeaseMoved{kThree, {other}}}}) {
    EXPECT_TRUE(coordinator.apply({++sequence, {6}, {6}, fact}).ok());
  }
  EXPECT_NE(model.replace(coordinator.snapshot({{7}, {7}}), sequence), "");
  EXPECT_TRUE(model.find(kOne)->pause.paused);
  EXPECT_FALSE(model.find(kOne)->absence.migrated);
  EXPECT_TRUE(model.find(kTwo)->absence.migrated);
  EXPECT_EQ(model.find(kTwo)->stands_since(), Instant{5});
  EXPECT_TRUE(model.find(kThree)->absence.migrated);
}

TEST_F(ReferenceModelTest, AUserHasOneOpenMessageOfALease) {
  hold();
  EXPECT_EQ(write(MessageSent{kOne, 1, UserId{1001}}), "");
  EXPECT_EQ(write(MessageSent{kOne, 2, UserId{1002}}), "");
  EXPECT_EQ(write(MessageAnswered{kOne, 1, MessageAnswer::kRefused, "", UserId{1000}}), "");
  EXPECT_EQ(write(MessageSent{kOne, 3, UserId{1001}}), "");
  EXPECT_NE(write(MessageSent{kOne, 4, UserId{1002}}), "");
  EXPECT_NE(write(MessageSent{kOne, 4, UserId{1003}}), "") << "a number comes once";
}

TEST_F(ReferenceModelTest, AMessageIsAnsweredByItsHolderOrARuleOfTheirs) {
  Request request{.vram = gib(4)};
  request.on_message = MessageRule{.answer = OnMessage::kRefuse, .users = {1001}};
  EXPECT_EQ(write(RequestQueued{kOne, {0, 1}, {1000}, {}, request}), "");
  EXPECT_EQ(write(LeaseGranted{kOne, {{kDevice, gib(4)}}, false}), "");
  std::uint64_t number = 0;
  const auto answered = [&](UserId from, MessageAnswer answer, std::optional<UserId> by) {
    EXPECT_EQ(write(MessageSent{kOne, ++number, from}), "");
    return write(MessageAnswered{kOne, number, answer, "", by});
  };
  EXPECT_EQ(answered({1001}, MessageAnswer::kAgreed, UserId{1000}), "");
  EXPECT_EQ(answered({1001}, MessageAnswer::kRefused, std::nullopt), "");
  EXPECT_NE(answered({1001}, MessageAnswer::kAgreed, UserId{1001}), "") << "by who asks";
  EXPECT_NE(answered({1001}, MessageAnswer::kAgreed, std::nullopt), "") << "the rule refuses";
  EXPECT_NE(answered({1002}, MessageAnswer::kRefused, std::nullopt), "") << "it is for another";
  EXPECT_NE(answered({1001}, MessageAnswer::kLapsed, std::nullopt), "") << "within the hour";
}

TEST_F(ReferenceModelTest, OnlyAJobIsQueuedAgainAndItKeepsItsTurn) {
  hold();
  EXPECT_NE(write(JobQueuedAgain{kOne}), "") << "nobody keeps it";
  EXPECT_EQ(write(RequestQueued{kTwo, {0, 2}, {1000}, {}, {.vram = gib(4)}}), "");
  EXPECT_EQ(write(RequestKept{kTwo}), "");
  EXPECT_NE(write(RequestKept{kTwo}), "") << "once";
  const std::uint64_t turn = model.find(kTwo)->place.sequence;
  EXPECT_EQ(write(LeaseGranted{kTwo, {{kDevice, gib(4)}}, false}), "");
  EXPECT_EQ(write(LeaseClaimed{kTwo, Process{8, 8}}), "");
  EXPECT_EQ(write(JobQueuedAgain{kTwo}), "");
  EXPECT_EQ(model.find(kTwo)->state, ReferenceLease::State::kWaiting);
  EXPECT_EQ(model.find(kTwo)->place.sequence, turn);
  EXPECT_EQ(model.find(kTwo)->requeue.restarts, 1U);
  EXPECT_EQ(model.budgets_on(kDevice), gib(4)) << "of lease 1 alone";
}

TEST_F(ReferenceModelTest, AfterARebootNoTimeSaysAnythingAnyMore) {
  hold();
  EXPECT_EQ(model.find(kOne)->queued_at(), Instant{5});
  model.rebooted();
  EXPECT_EQ(model.find(kOne)->queued_at(), Instant{});
}

TEST_F(ReferenceModelTest, ASnapshotThatLacksALeaseIsSeen) {
  hold();
  EXPECT_NE(model.replace({}, sequence), "");
}

}  // namespace
}  // namespace berth::sim
