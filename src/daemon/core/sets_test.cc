// SPDX-License-Identifier: Apache-2.0
// Sets of jobs: one request with a count, whose members are asked for one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// Lease 1 is a set of three.
class Sets : public StoryTest {
 protected:
  Sets() {
    (void)story.sample();
    Request set = S::budget(gib(4));
    set.members = 3;
    (void)story.ask(set);
  }
  /// Its number of a lease, from 2.
  std::string begin(std::uint32_t number, Bytes vram = gib(4), std::uint32_t user = 1000) {
    Request member = S::budget(vram);
    member.member = SetMember{{1}, number};
    return story.ask(member, user);
  }
  std::string ends(std::uint64_t lease, std::int32_t code = 0) {
    std::string out =
        story.feed(ReportExit{{lease}, {{1000}}, {0, lease}, {.exit = {.code = code}}});
    return out + story.feed(ProcessEnded{S::process(lease)}) + story.sample();
  }
  void runs(std::uint32_t number, std::int32_t code = 0) {
    (void)begin(number);
    (void)story.claim(story.handles);
    (void)ends(story.handles, code);
  }
  /// Lease 2 runs, 3 is a set that waits for a good end of it, and 4 its member.
  void ask_for_set_after_another() {
    (void)story.ask(S::budget(gib(1)));
    (void)story.claim(2);
    Request set = S::budget(gib(1));
    set.members = 1;
    set.after = {{{2}, Ends::kOk}};
    (void)story.ask(set);
    Request member = S::budget(gib(1));
    member.member = SetMember{{3}, 1};
    (void)story.ask(member);
  }
  LeaseView view(std::uint64_t lease) { return *story.coordinator.lease({lease}, story.now); }
  SetProgress progress() { return *view(1).set; }
  std::optional<LeaseId> found(const char* text) {
    const auto id = story.coordinator.find(text, {{1000}});
    const auto* known = std::get_if<LeaseId>(&id);
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
};

TEST_F(Sets, AMemberStaysWhenWhoAskedForItIsKilledAtOnce) {
  (void)story.ask(S::whole());
  (void)story.claim(2);
  EXPECT_EQ(begin(1), "waiting 3; ");
  EXPECT_EQ(story.feed(RequesterGone{{3}}), "");
  EXPECT_EQ(view(3).state, LeaseState::kWaiting);
  EXPECT_TRUE(view(3).job);
  EXPECT_EQ(progress(), (SetProgress{.begun = 1})) << "and its number is not lost";
}

TEST_F(Sets, IsGrantedNothingAndSaysHowFarItIs) {
  EXPECT_EQ(view(1).state, LeaseState::kWaiting);
  EXPECT_EQ(progress(), SetProgress{});
  EXPECT_EQ(story.coordinator.why({1}, story.now)->reason, WhyView::Reason::kMembers);
  EXPECT_EQ(story.coordinator.why({1}, story.now)->expected_start, std::nullopt);
  (void)begin(1);
  EXPECT_EQ(progress(), (SetProgress{.begun = 1}));
  EXPECT_EQ(view(1).state, LeaseState::kWaiting);
  (void)story.claim(2);
  (void)ends(2, 3);
  EXPECT_EQ(progress(), (SetProgress{.begun = 1, .ended = 1, .failed = 1}));
  EXPECT_EQ(view(2).request.member, (SetMember{{1}, 1}));
}

TEST_F(Sets, EndsWithItsLastMember) {
  runs(1);
  runs(2);
  (void)begin(3);
  (void)story.claim(4);
  EXPECT_EQ(view(1).state, LeaseState::kWaiting);
  EXPECT_THAT(ends(4), HasSubstr("end 1; "));
  EXPECT_EQ(view(1).result, EndResult::kOk);
  EXPECT_EQ(view(1).set, (SetProgress{.begun = 3, .ended = 3}));
}

TEST_F(Sets, FailsWhereOneOfThemDidAndGoesOnAfterIt) {
  runs(1);
  runs(2, 9);
  EXPECT_EQ(view(1).state, LeaseState::kWaiting);
  runs(3);
  EXPECT_EQ(view(1).result, EndResult::kFailed);
  EXPECT_EQ(view(1).set, (SetProgress{.begun = 3, .ended = 3, .failed = 1}));
}

TEST_F(Sets, AMemberThatIsCancelledWhileItWaitsIsOneThatFailed) {
  runs(1);
  runs(2);
  (void)begin(3);
  (void)story.feed(Cancel{{9}, {{1000}}, {4}});
  EXPECT_EQ(view(1).result, EndResult::kFailed);
}

TEST_F(Sets, HasItsPlaceWhenAMemberIsAskedForLater) {
  (void)begin(1, gib(16));
  (void)story.claim(2);
  (void)story.pass(minutes(1));
  (void)story.ask(S::budget(gib(10)));
  (void)story.pass(minutes(1));
  (void)begin(2, gib(10));
  EXPECT_EQ(view(4).queue_position, 2U) << "the set itself is before it";
  EXPECT_EQ(view(3).queue_position, 3U);
  EXPECT_THAT(ends(2), HasSubstr("grant 4; "));
}

TEST_F(Sets, IsInNobodysWay) {
  (void)story.ask(S::budget(gib(10)));
  EXPECT_EQ(view(2).state, LeaseState::kHeld);
  (void)story.claim(2);
  (void)story.ask(S::budget(gib(5)));
  EXPECT_EQ(view(3).state, LeaseState::kHeld);
}

TEST_F(Sets, CancelledItTakesItsMembersAlong) {
  (void)begin(1, gib(10));
  (void)story.claim(2);
  (void)begin(2, gib(10));
  (void)story.ask(S::budget(gib(10)));
  (void)story.feed(Cancel{{9}, {{1000}}, {1}});
  EXPECT_EQ(view(1).result, EndResult::kCancelled);
  EXPECT_EQ(view(3).result, EndResult::kCancelled);
  EXPECT_TRUE(view(2).flags.revoking);
  EXPECT_EQ(view(4).state, LeaseState::kWaiting) << "not of the set";
  EXPECT_THAT(ends(2), HasSubstr("grant 4; "));
}

TEST_F(Sets, OnHoldItHoldsItsMembers) {
  (void)begin(1, gib(10));
  (void)story.claim(2);
  (void)begin(2, gib(10));
  (void)story.feed(Hold{{71}, {{1000}}, {1}, {}});
  EXPECT_EQ(ends(2), "held 2; end 2; ");
  EXPECT_EQ(story.coordinator.why({3}, story.now)->reason, WhyView::Reason::kOnHold);
  EXPECT_THAT(story.feed(Hold{{71}, {{1000}}, {1}, {.off = true}}), HasSubstr("grant 3; "));
}

TEST_F(Sets, WaitsForOthersWithItsMembers) {
  ask_for_set_after_another();
  EXPECT_EQ(view(4).state, LeaseState::kWaiting);
  EXPECT_EQ(story.coordinator.why({4}, story.now)->reason, WhyView::Reason::kAfter);
  EXPECT_THAT(ends(2), HasSubstr("grant 4; "));
}

TEST_F(Sets, WhatNeverStartsTakesItsMembersAlong) {
  ask_for_set_after_another();
  (void)ends(2, 1);
  EXPECT_EQ(view(3).result, EndResult::kRefused);
  EXPECT_EQ(view(4).result, EndResult::kCancelled);
}

TEST_F(Sets, MembersAreFoundByTheirNumberInIt) {
  runs(1);
  (void)begin(2);
  EXPECT_EQ(found("1.2"), LeaseId{3});
  EXPECT_EQ(found("1.1"), LeaseId{2}) << "it has ended";
  EXPECT_EQ(found("1.3"), std::nullopt);
  EXPECT_EQ(found("2.1"), std::nullopt);
  EXPECT_EQ(found("1."), std::nullopt);
}

TEST_F(Sets, MembersThatAreNoneAreRefused) {
  EXPECT_EQ(begin(4), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(), "set 1 has 3 members, and 0 of them were asked for");
  EXPECT_EQ(begin(1, gib(4), 2000), "refuse not_found; ");
  EXPECT_EQ(story.refusal(), "lease 1 is no set of yours that waits");
  for (std::uint32_t number = 1; number <= 3; ++number) (void)begin(number);
  EXPECT_EQ(begin(1), "refuse wrong_state; ");
  Request nested = S::budget(gib(1));
  nested.members = 2;
  nested.wait_max = seconds(5);
  EXPECT_EQ(story.ask(nested), "refuse invalid; ");
}

TEST_F(Sets, WhatComesAfterItWaitsForAllOfIt) {
  Request after = S::budget(gib(1));
  after.after = {{{1}, Ends::kOk}};
  (void)story.ask(after);
  story.handles = 2;
  (void)begin(1);
  (void)story.claim(3);
  (void)ends(3);
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  (void)begin(2);
  (void)story.claim(4);
  (void)ends(4);
  (void)begin(3);
  (void)story.claim(5);
  EXPECT_THAT(ends(5), HasSubstr("grant 2; "));
}

TEST_F(Sets, SurvivesTheDaemonAndASnapshot) {
  runs(1, 3);
  (void)begin(2);
  (void)story.claim(3);
  story.restart();
  EXPECT_EQ(progress(), (SetProgress{.begun = 2, .ended = 1, .failed = 1}));
  story.restart_from_snapshot();
  EXPECT_EQ(progress(), (SetProgress{.begun = 2, .ended = 1, .failed = 1}));
  EXPECT_EQ(view(3).request.member, (SetMember{{1}, 2}));
  EXPECT_EQ(story.records_refused, 0);
  (void)ends(3);
  EXPECT_EQ(progress(), (SetProgress{.begun = 2, .ended = 2, .failed = 1}));
}

}  // namespace
}  // namespace berth::core
