// SPDX-License-Identifier: Apache-2.0
#include "trainer/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "trainer/libtorch.h"
#include "trainer/memory.h"

namespace berth::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vram::Action;

class MemoryWatchTest : public testing::Test {
 protected:
  MemoryWatchTest() { count_tensor_memory(); }

  MemoryWatch watch_with(std::optional<Bytes> budget) {
    return {train::Device::kCpu,
            budget,
            {.act =
                 [this](Action action) {
                   acts.push_back(action);
                   if (action == helps) held = at::Tensor();
                   return vram::Outcome::kDone;
                 },
             .say = [this](const std::string& text) { said.push_back(text); }}};
  }
  static at::Tensor of(Bytes bytes) {
    return torch::zeros({static_cast<std::int64_t>(bytes.value / sizeof(float))});
  }
  at::Tensor held;
  std::optional<Action> helps;
  std::vector<Action> acts;
  std::vector<std::string> said;
};

constexpr Bytes kBudget = mib(100);
constexpr Bytes kNearly = mib(95);

TEST_F(MemoryWatchTest, WhereThereIsRoomNothingIsSaidAndNothingDone) {
  MemoryWatch watch = watch_with(kBudget);
  held = of(mib(10));
  for (int i = 0; i < 100; ++i) watch.step();
  EXPECT_THAT(acts, ElementsAre());
  EXPECT_THAT(said, ElementsAre());
}

TEST_F(MemoryWatchTest, WhatAStepHasHeldCountsThoughItIsGoneBetweenThem) {
  MemoryWatch watch = watch_with(kBudget);
  (void)of(kNearly);
  watch.step();
  EXPECT_THAT(acts, ElementsAre(Action::kCheckpoint));
  watch.step();
  EXPECT_GE(watch.peak(), kNearly) << "of all steps";
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said[0], HasSubstr("memory: critical: "));
}

TEST_F(MemoryWatchTest, WhileItIsCriticalOneMeasureAStepIsTakenAndOneSaveInAll) {
  MemoryWatch watch = watch_with(kBudget);
  held = of(kNearly);
  for (int i = 0; i < 10; ++i) watch.step();
  EXPECT_THAT(acts,
              ElementsAre(Action::kCheckpoint, Action::kShrink, Action::kOffload, Action::kPause));
  EXPECT_THAT(said, testing::Contains(HasSubstr("all that could be done was done")));
}

TEST_F(MemoryWatchTest, WhatHasHelpedIsNotFollowedByMore) {
  MemoryWatch watch = watch_with(kBudget);
  held = of(kNearly);
  helps = Action::kShrink;
  for (int i = 0; i < 10; ++i) watch.step();
  EXPECT_THAT(acts, ElementsAre(Action::kCheckpoint, Action::kShrink));
}

TEST_F(MemoryWatchTest, MemoryThatGrowsWithEachStepIsTold) {
  MemoryWatch watch = watch_with(mib(4000));
  std::vector<at::Tensor> leak;
  for (int i = 0; i < 60; ++i) {
    leak.push_back(of(kib(256)));
    watch.step();
  }
  EXPECT_THAT(said, ElementsAre(HasSubstr("host memory leaks: it grows by 256.0 KiB a step")));
}

TEST_F(MemoryWatchTest, WithoutABudgetTheMachinesMemoryIsTheWhole) {
  MemoryWatch watch = watch_with(std::nullopt);
  for (int i = 0; i < 3; ++i) watch.step();
  EXPECT_THAT(acts, ElementsAre());
}

}  // namespace
}  // namespace berth::trainer
