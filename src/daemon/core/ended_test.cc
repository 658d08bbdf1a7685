// SPDX-License-Identifier: Apache-2.0
// Retention of leases that have ended, for each user: docs/security.md, «Bounds of one user».
#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

class EndedTest : public StoryTest {
 protected:
  void ask_and_cancel(std::uint32_t user, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      const std::uint64_t id = story.handles + 1;
      (void)story.ask(Story::budget(gib(1)), user);
      (void)story.feed(Cancel{.token = {0}, .actor = {{user}, true}, .lease = {id}});
    }
  }
  std::map<std::uint32_t, std::size_t> kept() const {
    std::map<std::uint32_t, std::size_t> count;
    for (const LeaseView& view : story.coordinator.ended(story.now)) ++count[view.user.value];
    return count;
  }
};

TEST_F(EndedTest, ManyOfOneUserPushOutOnlyHisOwn) {
  ask_and_cancel(1, 70);
  ask_and_cancel(2, 2 * limits::kEndedKept);
  EXPECT_EQ(kept(), (std::map<std::uint32_t, std::size_t>{{1, 70}, {2, limits::kEndedKept - 70}}));
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->state, LeaseState::kEnded);
  EXPECT_FALSE(story.coordinator.lease({71}, story.now).has_value()) << "his oldest goes first";
  EXPECT_TRUE(story.coordinator.lease({story.handles}, story.now).has_value());
}

TEST_F(EndedTest, OfFifteenUsersEachKeepsSixtyFour) {
  for (std::uint32_t user = 1; user <= 15; ++user) ask_and_cancel(user, 100);
  for (const auto& [user, count] : kept()) EXPECT_GE(count, 64U) << user;
  EXPECT_EQ(story.coordinator.ended(story.now).size(), limits::kEndedKept);
}

TEST_F(EndedTest, ARestartKeepsTheSame) {
  ask_and_cancel(1, 10);
  ask_and_cancel(2, limits::kEndedKept + 50);
  const auto before = kept();
  Coordinator fresh({.order = Order::kFifo});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    EXPECT_TRUE(fresh.apply(record).ok());
  }
  story.coordinator = std::move(fresh);
  EXPECT_EQ(kept(), before);
  story.restart();
  EXPECT_EQ(kept(), before);
}

}  // namespace
}  // namespace berth::core
