// SPDX-License-Identifier: Apache-2.0
#include "core/operations.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/decider_for_test.h"

namespace berth::core {
namespace {

using Stage = Standing::Stage;
using Memory = Standing::Memory;
using Processes = Standing::Processes;
using Run = Standing::Run;

constexpr Operation kAllOperations[] = {
    Operation::kSuspend, Operation::kFreeze,  Operation::kMigrate,  Operation::kResize,
    Operation::kSave,    Operation::kRequeue, Operation::kMakeRoom, Operation::kEndTurn};
constexpr Standing kRunningLease{.stage = Stage::kRuns};

Answer answer_of(Operation operation, const Standing& standing) {
  return verdict(operation, standing).answer;
}

std::string why_of(Operation operation, const Standing& standing) {
  return refusal_text({7}, verdict(operation, standing), "the driver hung");
}

TEST(OperationsTest, ALeaseThatRunsAcceptsAll) {
  for (const Operation each : kAllOperations)
    EXPECT_EQ(answer_of(each, kRunningLease), Answer::kAccept);
}

TEST(OperationsTest, OneThatWaitsOrWasOfferedRefusesAll) {
  for (const Operation each : kAllOperations) {
    for (const Stage stage : {Stage::kWaiting, Stage::kOffered, Stage::kReleasing}) {
      EXPECT_EQ(answer_of(each, {.stage = stage}), Answer::kRefuse);
    }
  }
}

TEST(OperationsTest, ARevokedOneIsResizedAtMost) {
  for (const Operation each : kAllOperations) {
    const Answer expected = each == Operation::kResize ? Answer::kAccept : Answer::kRefuse;
    EXPECT_EQ(answer_of(each, {.stage = Stage::kRevoked}), expected);
    EXPECT_EQ(answer_of(each, {.stage = Stage::kRevoked, .memory = Memory::kSuspended}),
              Answer::kRefuse)
        << "that it is suspended already excuses nothing";
  }
}

TEST(OperationsTest, WhoAsksForWhatIsUnderWayJoins) {
  for (const Memory memory : {Memory::kSwappingOut, Memory::kSuspended}) {
    EXPECT_EQ(answer_of(Operation::kSuspend, {.stage = Stage::kRuns, .memory = memory}),
              Answer::kJoin);
    EXPECT_EQ(answer_of(Operation::kSuspend,
                        {.stage = Stage::kRuns, .memory = memory, .run = Run::kIsSaved}),
              Answer::kJoin)
        << "whatever else is under way";
  }
  EXPECT_EQ(answer_of(Operation::kFreeze, {.stage = Stage::kRuns,
                                           .memory = Memory::kSwappingIn,
                                           .processes = Processes::kFreezing}),
            Answer::kJoin);
  EXPECT_EQ(answer_of(Operation::kSave, {.stage = Stage::kRuns, .run = Run::kIsSaved}),
            Answer::kJoin);
  EXPECT_EQ(answer_of(Operation::kRequeue, {.stage = Stage::kRuns, .run = Run::kIsRequeued}),
            Answer::kJoin);
}

TEST(OperationsTest, OneOnTheWayIsNotAskedForAnotherMove) {
  for (const Memory memory : {Memory::kSwappingOut, Memory::kStuck, Memory::kSwappingIn}) {
    const Standing standing{.stage = Stage::kRuns, .memory = memory};
    for (const Operation each : {Operation::kFreeze, Operation::kMigrate, Operation::kResize,
                                 Operation::kMakeRoom, Operation::kEndTurn}) {
      EXPECT_EQ(answer_of(each, standing), Answer::kRefuse);
    }
  }
}

TEST(OperationsTest, OneThatSavesItselfIsNeitherMovedNorStoppedNorItsTurnEnded) {
  const Standing saving{.stage = Stage::kRuns, .run = Run::kIsSaved};
  for (const Operation each : {Operation::kSuspend, Operation::kFreeze, Operation::kMigrate,
                               Operation::kMakeRoom, Operation::kEndTurn}) {
    EXPECT_EQ(answer_of(each, saving), Answer::kRefuse);
  }
  EXPECT_EQ(answer_of(Operation::kRequeue, saving), Answer::kAccept) << "its save is used for that";
}

TEST(OperationsTest, AFrozenOneMayBeMovedAndNotSaved) {
  const Standing frozen{.stage = Stage::kRuns, .processes = Processes::kFrozen};
  EXPECT_EQ(answer_of(Operation::kSuspend, frozen), Answer::kAccept);
  EXPECT_EQ(answer_of(Operation::kMigrate, frozen), Answer::kAccept);
  EXPECT_EQ(answer_of(Operation::kMakeRoom, frozen), Answer::kAccept);
  EXPECT_EQ(why_of(Operation::kSave, frozen), "lease 7 is frozen");
  EXPECT_EQ(why_of(Operation::kRequeue, frozen), "lease 7 is paused: berth resume 7 first");
}

TEST(OperationsTest, EachRefusalSaysWhy) {
  std::size_t refused = 0;
  for (const Operation each : kAllOperations) {
    for (int stage = 0; stage <= static_cast<int>(Stage::kEmpty); ++stage) {
      for (int memory = 0; memory <= static_cast<int>(Memory::kSwappingIn); ++memory) {
        const Standing standing{.stage = static_cast<Stage>(stage),
                                .memory = static_cast<Memory>(memory)};
        if (answer_of(each, standing) != Answer::kRefuse) continue;
        const std::string why = why_of(each, standing);
        EXPECT_GT(why.size(), std::string("lease 7 ").size());
        EXPECT_EQ(why.find_first_of("#@"), std::string::npos) << why;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_EQ(why_of(Operation::kSuspend, {.stage = Stage::kRuns, .memory = Memory::kStuck}),
            "lease 7 is between two states: the driver hung");
}

class StandingTest : public testing::Test {
 protected:
  static constexpr DeviceId kGpu{0xd0, 0, false};
  static constexpr Process kMember{.pid = 8, .start_ticks = 1};

  Standing standing() const { return standing_of(*core.state().find(id)); }
  Stage stage() const { return standing().stage; }

  TestDecider core;
  LeaseId id = core.queue({.vram = gib(1)});
};

TEST_F(StandingTest, TheStageIsHowFarItHasCome) {
  EXPECT_EQ(stage(), Stage::kWaiting);
  core.decide(id, LeaseGranted{.id = id, .parts = {{kGpu, gib(1)}}});
  EXPECT_EQ(stage(), Stage::kOffered);
  core.decide(id, LeaseClaimed{.id = id, .command = Process{.pid = 7, .start_ticks = 1}});
  EXPECT_EQ(stage(), Stage::kRuns);
  core.decide(id, MemberSeen{id, kMember});
  core.decide(id, CommandEnded{id, std::nullopt});
  EXPECT_EQ(stage(), Stage::kLeftBehind);
  core.decide(id, MemberGone{id, kMember});
  EXPECT_EQ(stage(), Stage::kOver);
  core.decide(id, LeaseRevoked{id, EndResult::kCancelled, core.now().instant, {}});
  EXPECT_EQ(stage(), Stage::kRevoked);
  core.decide(id, LeaseReleasing{id, EndResult::kOk});
  EXPECT_EQ(stage(), Stage::kReleasing);
}

TEST_F(StandingTest, MemoryAndProcessesChangeByThemselves) {
  core.run(id, kGpu);
  EXPECT_EQ(standing().memory, Memory::kOnDevice);
  core.decide(id, LeaseFrozen{id});
  EXPECT_EQ(standing().processes, Processes::kFrozen);
  core.decide(id, SuspendBegun{.id = id, .used = {gib(1)}});
  EXPECT_EQ(standing().memory, Memory::kSwappingOut);
  core.decide(id, LeaseSuspended{.id = id});
  EXPECT_EQ(standing().memory, Memory::kSuspended);
  EXPECT_EQ(standing().processes, Processes::kFrozen);
  core.decide(id, LeaseThawed{id});
  EXPECT_EQ(standing().processes, Processes::kRun);
  EXPECT_EQ(standing().memory, Memory::kSuspended);
  core.decide(id, ResumeQueued{id});
  core.decide(id, ResumeBegun{id});
  EXPECT_EQ(standing().memory, Memory::kSwappingIn);
}

TEST_F(StandingTest, ARequeueCountsBeforeTheSaveThatItAsksFor) {
  core.run(id, kGpu);
  core.decide(id, CheckpointAsked{id, 1, CheckpointReason::kRequeue});
  EXPECT_EQ(standing().run, Run::kIsSaved);
  core.decide(id, RequeueAsked{id, false, {}});
  EXPECT_EQ(standing().run, Run::kIsRequeued);
}

}  // namespace
}  // namespace berth::core
