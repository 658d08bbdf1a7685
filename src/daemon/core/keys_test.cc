// SPDX-License-Identifier: Apache-2.0
// Requests with a key: asked for twice, they are one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

class Keys : public StoryTest {
 protected:
  Keys() {
    (void)story.sample();
    EXPECT_EQ(ask("k"), "held 1; ");
  }
  std::string ask(const std::string& key, std::uint32_t user = 1000) {
    Request request = S::whole();
    request.key = key;
    return story.ask(request, user);
  }
  std::optional<LeaseId> existing() const {
    for (const Effect& effect : story.effects) {
      const auto* reply = std::get_if<Reply>(&effect);
      const auto* refusal = reply == nullptr ? nullptr : std::get_if<Refusal>(&reply->answer);
      if (refusal != nullptr) return refusal->lease;
    }
    return std::nullopt;
  }
};

TEST_F(Keys, TheSecondIsRefusedWithTheNumberOfTheFirst) {
  EXPECT_EQ(ask("k"), "refuse exists; ");
  EXPECT_EQ(story.refusal(), "lease 1 was asked for with the key 'k'");
  EXPECT_EQ(existing(), LeaseId{1});
  EXPECT_EQ(story.coordinator.leases(story.now).size(), 1U);
}

TEST_F(Keys, AnotherKeyOrUserOrNoneAsksForOneMore) {
  EXPECT_EQ(ask("K"), "waiting 2; ");
  EXPECT_EQ(ask("k", 2000), "waiting 3; ");
  EXPECT_EQ(ask(""), "waiting 4; ");
  EXPECT_EQ(ask(""), "waiting 5; ");
  EXPECT_EQ(ask("K"), "refuse exists; ") << "one that waits counts as well";
}

TEST_F(Keys, OneThatCameToNothingMayBeAskedForAnew) {
  EXPECT_EQ(ask("later"), "waiting 2; ");
  (void)story.feed(Cancel{{70}, {{1000}}, {2}});
  EXPECT_EQ(ask("later"), "waiting 3; ");
}

TEST_F(Keys, OneThatHasRunIsNotRunAgain) {
  run(1, gib(1));
  story.use(1, {});
  (void)story.end(1);
  (void)story.sample();
  ASSERT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(ask("k"), "refuse exists; ");
  EXPECT_EQ(existing(), LeaseId{1});
}

TEST_F(Keys, ASetWhoseMembersHaveRunIsNotRunAgain) {
  Request set = S::budget(gib(1));
  set.members = 1;
  set.key = "sweep";
  EXPECT_EQ(story.ask(set), "waiting 2; ");
  Request member = S::budget(gib(1));
  member.member = SetMember{{2}, 1};
  EXPECT_EQ(story.ask(member), "waiting 3; ");
  (void)story.feed(Cancel{{70}, {{1000}}, {3}});
  ASSERT_EQ(story.state(2), LeaseState::kEnded);
  EXPECT_EQ(story.ask(set), "refuse exists; ");
  EXPECT_EQ(existing(), LeaseId{2});
}

TEST_F(Keys, SurviveTheDaemonAndASnapshot) {
  story.restart();
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_EQ(ask("k"), "refuse exists; ");
  story.restart_from_snapshot();
  EXPECT_EQ(ask("k"), "refuse exists; ");
}

TEST_F(Keys, HaveABound) {
  EXPECT_EQ(ask(std::string(64, 'x')), "waiting 2; ");
  EXPECT_EQ(ask(std::string(65, 'x')), "refuse invalid; ");
  EXPECT_EQ(story.refusal(), "a key has at most 64 bytes");
}

}  // namespace
}  // namespace berth::core
