// SPDX-License-Identifier: Apache-2.0
// In which order the driver is asked, and what is left when one of its calls fails.
#include "gpu/mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace berth::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Outcome = TransferResult::Outcome;
using State = CheckpointCalls::State;

/// A driver that keeps the states that the real one documents, and fails where it is told to.
class FakeCalls final : public CheckpointCalls {
 public:
  bool uses_cuda(std::int32_t pid) override { return states.contains(pid); }
  Result<State> state(std::int32_t pid) override { return states.at(pid); }
  Status lock(std::int32_t pid, Duration) override {
    return go(pid, "lock", State::kRunning, State::kLocked);
  }
  Status checkpoint(std::int32_t pid) override {
    return go(pid, "checkpoint", State::kLocked, State::kCheckpointed);
  }
  Status restore(std::int32_t pid, std::span<const DevicePair> pairs) override {
    answer = {pairs.begin(), pairs.end()};
    if (ruins.contains(pid)) {
      states[pid] = State::kFailed;
      return Error{Errc::kUnavailable, "out of memory"};
    }
    return go(pid, "restore", State::kCheckpointed, State::kLocked);
  }
  Status unlock(std::int32_t pid) override {
    return go(pid, "unlock", State::kLocked, State::kRunning);
  }
  std::optional<Bytes> host_room(std::int32_t) override { return room; }

  std::map<std::int32_t, State> states;
  std::set<std::string> failing;  // "lock 1"
  std::set<std::int32_t> ruins;   // At restore.
  std::optional<Bytes> room;
  std::vector<std::string> done;
  std::vector<DevicePair> answer;  // With the last restore.

 private:
  Status go(std::int32_t pid, const std::string& what, State from, State to) {
    const std::string call = what + " " + std::to_string(pid);
    if (failing.contains(call)) return Error{Errc::kUnavailable, call + " failed"};
    if (states.at(pid) != from) return Error{Errc::kUnavailable, call + " in a wrong state"};
    states[pid] = to;
    done.push_back(call);
    return Unit{};
  }
};

const std::vector<Process> kThree = {{1, 11}, {2, 12}, {3, 13}};

TEST(Mover, AllAreLockedBeforeOneIsMovedAndAllAreBackBeforeOneGoesOn) {
  FakeCalls calls;
  calls.states = {{1, State::kRunning}, {3, State::kRunning}};  // 2 does not use CUDA.
  EXPECT_EQ(move_out(calls, kThree, gib(1)).outcome, Outcome::kDone);
  EXPECT_THAT(calls.done, ElementsAre("lock 1", "lock 3", "checkpoint 1", "checkpoint 3"));
  calls.done.clear();
  EXPECT_EQ(move_back(calls, kThree).outcome, Outcome::kDone);
  EXPECT_THAT(calls.done, ElementsAre("restore 1", "restore 3", "unlock 1", "unlock 3"));
}

TEST(Mover, WhatLeavesIsMeasuredWhenAllAreLockedAndNoneIsMoved) {
  FakeCalls calls;
  calls.states = {{1, State::kRunning}, {3, State::kRunning}};
  const Measure measure = [&](std::span<const std::int32_t> pids) {
    EXPECT_THAT(pids, ElementsAre(1, 3));
    EXPECT_THAT(calls.done, ElementsAre("lock 1", "lock 3"));
    return std::optional<std::vector<DeviceUse>>({{{1, 2}, gib(3)}});
  };
  const TransferResult result = move_out(calls, kThree, gib(1), {}, measure);
  EXPECT_EQ(result.outcome, Outcome::kDone);
  EXPECT_THAT(result.left.value(), ElementsAre(DeviceUse{{1, 2}, gib(3)}));
  EXPECT_EQ(calls.done.size(), 4U);
}

TEST(Mover, WithoutAProcessThatUsesTheGpuThereIsNothingToMove) {
  FakeCalls calls;
  const TransferResult result = move_out(calls, kThree, gib(1));
  EXPECT_EQ(result.outcome, Outcome::kUndone);
  EXPECT_THAT(result.trouble, HasSubstr("none of its processes"));
}

TEST(Mover, WhateverFailsOnTheWayOutIsUndone) {
  for (const char* failing :
       {"lock 1", "lock 2", "lock 3", "checkpoint 1", "checkpoint 2", "checkpoint 3"}) {
    FakeCalls calls;
    calls.states = {{1, State::kRunning}, {2, State::kRunning}, {3, State::kRunning}};
    calls.failing = {failing};
    const TransferResult result = move_out(calls, kThree, gib(1));
    EXPECT_EQ(result.outcome, Outcome::kUndone) << failing;
    EXPECT_THAT(result.trouble, HasSubstr(failing));
    for (const auto& [pid, state] : calls.states) EXPECT_EQ(state, State::kRunning) << failing;
  }
}

TEST(Mover, WhatCannotBeUndoneIsSaid) {
  FakeCalls calls;
  calls.states = {{1, State::kRunning}, {2, State::kRunning}};
  calls.failing = {"checkpoint 2", "restore 1"};
  const TransferResult result = move_out(calls, kThree, gib(1));
  EXPECT_EQ(result.outcome, Outcome::kStuck);
  EXPECT_THAT(result.trouble, HasSubstr("checkpoint 2 failed"));
  EXPECT_THAT(result.trouble, HasSubstr("restore 1 failed"));
}

const std::vector<DevicePair> kElsewhere = {{.from = {1, 1}, .to = {2, 2}}};

TEST(Mover, ToAnotherDeviceAllAreToldTheSame) {
  FakeCalls calls;
  calls.states = {{1, State::kCheckpointed}, {2, State::kCheckpointed}};
  EXPECT_EQ(move_back(calls, kThree, kElsewhere).outcome, Outcome::kDone);
  EXPECT_EQ(calls.answer, kElsewhere);
  EXPECT_THAT(calls.done, ElementsAre("restore 1", "restore 2", "unlock 1", "unlock 2"));
}

TEST(Mover, WhereTheDriverRefusesAnotherDeviceToTheFirstNothingHasHappened) {
  FakeCalls calls;
  calls.states = {{1, State::kCheckpointed}, {2, State::kCheckpointed}};
  calls.failing = {"restore 1"};
  const TransferResult result = move_back(calls, kThree, kElsewhere);
  EXPECT_EQ(result.outcome, Outcome::kUndone);
  EXPECT_THAT(result.trouble, HasSubstr("restore 1 failed"));
  for (const auto& [pid, state] : calls.states) EXPECT_EQ(state, State::kCheckpointed);
}

TEST(Mover, WhenOneIsOnAnotherDeviceAlreadyTheOthersAreNotBroughtBackToWhereTheyWere) {
  FakeCalls calls;
  calls.failing = {"restore 2"};
  for (const State first : {State::kCheckpointed, State::kLocked}) {
    calls.states = {{1, first}, {2, State::kCheckpointed}};
    EXPECT_EQ(move_back(calls, kThree, kElsewhere).outcome, Outcome::kStuck);
  }
  calls.failing = {};
  calls.ruins = {1};
  calls.states = {{1, State::kCheckpointed}};
  EXPECT_EQ(move_back(calls, kThree, kElsewhere).outcome, Outcome::kStuck) << "it is ruined";
}

TEST(Mover, ItGoesBackFromAnyStateInWhichItsCallerWasKilled) {
  const std::vector<State> states = {State::kRunning, State::kLocked, State::kCheckpointed};
  for (const State first : states) {
    for (const State second : states) {
      FakeCalls calls;
      calls.states = {{1, first}, {2, second}};
      EXPECT_EQ(move_back(calls, kThree).outcome, Outcome::kDone);
      EXPECT_EQ(calls.states[1], State::kRunning);
      EXPECT_EQ(calls.states[2], State::kRunning);
    }
  }
}

TEST(Mover, NobodyGoesOnBesideOneThatIsRuined) {
  FakeCalls calls;
  calls.states = {{1, State::kCheckpointed}, {2, State::kCheckpointed}};
  calls.ruins = {2};
  const TransferResult result = move_back(calls, kThree);
  EXPECT_EQ(result.outcome, Outcome::kStuck);
  EXPECT_THAT(result.trouble, HasSubstr("process 2: out of memory"));
  EXPECT_EQ(calls.states[1], State::kLocked);
  EXPECT_THAT(move_back(calls, kThree).trouble, HasSubstr("process 2 is ruined"));
}

TEST(Mover, HostMemoryIsLookedAtBeforeAnythingIsLocked) {
  FakeCalls calls;
  calls.states = {{1, State::kRunning}};
  calls.room = gib(8);
  const TransferResult result = move_out(calls, kThree, gib(8), {.host_margin = gib(1)});
  EXPECT_EQ(result.outcome, Outcome::kUndone);
  EXPECT_THAT(result.trouble,
              testing::AllOf(HasSubstr("8.0 GiB of GPU memory"), HasSubstr("8.0 GiB are left")));
  EXPECT_THAT(calls.done, IsEmpty());
  EXPECT_EQ(move_out(calls, kThree, gib(7), {.host_margin = gib(1)}).outcome, Outcome::kDone);
}

TEST(MoveResultText, IsALineThatIsReadBack) {
  for (const Outcome outcome : {Outcome::kUndone, Outcome::kStuck}) {
    for (const std::string trouble : {"", "process 1: no\nsuch thing"}) {
      const std::string line = encode({outcome, trouble});
      const Result<TransferResult> read = decode_move_result(line);
      ASSERT_TRUE(read.ok()) << line;
      EXPECT_EQ(read->outcome, outcome);
      EXPECT_EQ(read->trouble.empty(), trouble.empty());
    }
  }
  EXPECT_FALSE(decode_move_result(encode({}))->left);
  const std::vector<DeviceUse> left = {{{1, 2}, gib(3)}, {{3, 4}, Bytes{5}}};
  EXPECT_EQ(decode_move_result(encode({.left = left}))->left, left);
  const Result<TransferResult> some =
      decode_move_result(encode({.left = left, .left_alone = {7, 8}}));
  EXPECT_EQ(some->left, left);
  EXPECT_THAT(some->left_alone, ElementsAre(7, 8));
  EXPECT_FALSE(decode_move_result(encode({.left_alone = {7}}))->left);
  for (const char* wrong :
       {"", "\n", "done left-alone=", "done left-alone=x", "don\n", "done\ndone\n", "doneish x",
        "done well", "done x=1", "done GPU-00000000-0000-0001-0000-000000000002=x"}) {
    EXPECT_FALSE(decode_move_result(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace berth::gpu
