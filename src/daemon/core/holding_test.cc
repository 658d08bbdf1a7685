// SPDX-License-Identifier: Apache-2.0
// Requests on hold: kept from being granted until a user lets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// The GPU is held by lease 1; lease 2 waits for all of it, and then lease 3.
class Holding : public StoryTest {
 protected:
  Holding() {
    (void)story.sample();
    (void)story.ask(S::whole());
    run(1, gib(8));
    (void)story.ask(S::whole());
    (void)story.ask(S::whole());
  }
  std::string hold(std::uint64_t lease, bool off = false, Actor actor = {{1000}}) {
    return story.feed(Hold{{71}, actor, {lease}, {off}});
  }
  std::string first_ends() {
    story.use(1, {});
    return story.end(1);
  }
  LeaseView view(std::uint64_t lease) { return *story.coordinator.lease({lease}, story.now); }
};

TEST_F(Holding, OthersPassItAndItKeepsItsPlace) {
  EXPECT_EQ(hold(2), "waiting 2; ");
  EXPECT_TRUE(view(2).flags.on_hold);
  EXPECT_EQ(view(2).hold, (OnHold{.since = story.now.wall, .by = UserId{1000}}));
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
  (void)story.claim(3);
  (void)story.ask(S::whole());
  EXPECT_EQ(hold(2, true), "waiting 2; ");
  EXPECT_FALSE(view(2).flags.on_hold);
  EXPECT_EQ(view(2).hold, std::nullopt);
  EXPECT_EQ(view(2).queue_position, 1U) << "lease 4 came later";
  EXPECT_THAT(story.end(3), HasSubstr("grant 2; "));
}

TEST_F(Holding, IsGrantedAtOnceWhereThereIsRoomWhenItIsLet) {
  (void)hold(2);
  (void)hold(3);
  EXPECT_EQ(first_ends(), "held 1; end 1; ");
  EXPECT_EQ(story.left_undone(), "");
  EXPECT_EQ(hold(3, true), "grant 3; held 3; ");
}

TEST_F(Holding, WhatWasOfferedGoesToTheNextOne) {
  (void)first_ends();
  ASSERT_TRUE(view(2).flags.unclaimed);
  EXPECT_EQ(hold(2), "grant 3; waiting 2; ");
  EXPECT_EQ(story.claim(2), "refuse wrong_state; ");
}

TEST_F(Holding, WhatWasTakenUpIsRefusedWithWhatWouldDo) {
  EXPECT_EQ(hold(1), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(),
            "lease 1 has been granted, and only a request can be on hold (berth pause 1 makes it "
            "leave the GPU)");
  (void)first_ends();
  EXPECT_EQ(hold(2, true), "refuse wrong_state; ") << "it is offered, and not on hold";
  EXPECT_EQ(hold(1), "refuse wrong_state; ") << "it has ended";
  EXPECT_EQ(hold(9), "refuse not_found; ");
}

TEST_F(Holding, AReleaseEndsNothingAndNamesWhatIsMeant) {
  (void)hold(2);
  EXPECT_EQ(story.feed(Release{{72}, {{1000}}, {2}, {}}), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(),
            "lease 2 is on hold: berth hold --off 2 lets it be granted, and berth cancel 2 takes "
            "it out of the queue");
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  (void)story.feed(Cancel{{73}, {{1000}}, {2}});
  EXPECT_EQ(view(2).state, LeaseState::kEnded);
}

TEST_F(Holding, SaidTwiceItIsDoneOnce) {
  EXPECT_EQ(hold(2, true), "waiting 2; ");
  (void)hold(2);
  const UnixMs since = view(2).hold->since;
  (void)story.pass(seconds(5));
  EXPECT_EQ(hold(2, false, {{0}, true}), "waiting 2; ");
  EXPECT_EQ(view(2).hold, (OnHold{.since = since, .by = UserId{1000}}));
}

TEST_F(Holding, OfOthersOnlyAdminsMay) {
  EXPECT_EQ(hold(2, false, {{2000}}), "refuse not_yours; ");
  EXPECT_EQ(hold(2, false, {{0}, true}), "waiting 2; ");
  EXPECT_EQ(view(2).hold->by, UserId{0});
}

TEST_F(Holding, WhySaysSoAndPromisesNothing) {
  (void)hold(2);
  const WhyView why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kOnHold);
  EXPECT_EQ(why.expected_start, std::nullopt);
  EXPECT_EQ(story.coordinator.why({3}, story.now)->reason, WhyView::Reason::kExclusive);
}

TEST_F(Holding, SurvivesTheDaemonAndASnapshot) {
  (void)hold(2);
  const std::optional<OnHold> before = view(2).hold;
  story.restart();
  EXPECT_EQ(view(2).hold, before);
  story.restart_from_snapshot();
  EXPECT_EQ(view(2).hold, before);
  EXPECT_TRUE(view(2).flags.on_hold);
  EXPECT_EQ(story.records_refused, 0);
  (void)story.feed(Reconnect{{2}, {{1000}}, {0, 2}, {}});
  (void)story.feed(Reconnect{{3}, {{1000}}, {0, 3}, {}});
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
}

TEST_F(Holding, TheTimeThatItMayWaitGoesOn) {
  Request request = S::whole();
  request.wait_max = seconds(30);
  (void)story.ask(request);
  (void)hold(4);
  EXPECT_THAT(story.pass(seconds(31)), HasSubstr("end 4; "));
  EXPECT_EQ(story.refusal(), "lease 4 is on hold, and the 30 s that it may wait are over");
}

// Its offer would lapse, and its wait with it: not what is asked for.
TEST_F(Holding, OfWhatWasOfferedAtTheEndOfItsWaitEndsNothing) {
  Request request = S::whole();
  request.wait_max = seconds(30);
  (void)story.feed(Cancel{{71}, {{1000}}, {2}});
  (void)story.feed(Cancel{{72}, {{1000}}, {3}});
  (void)story.ask(request);
  (void)story.pass(seconds(29));
  EXPECT_THAT(first_ends(), HasSubstr("grant 4; "));
  (void)story.pass(seconds(1));
  EXPECT_EQ(hold(4), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(),
            "lease 4 was granted at the end of the time that it may wait, and on hold it would end "
            "(berth cancel 4 ends it)");
  EXPECT_EQ(story.claim(4), "held 4; ");
}

TEST_F(Holding, WhoSetItAsideTakesItsPlaceAndNothingElse) {
  (void)hold(2);
  (void)story.feed(Park{{2}, {{1000}}, {0, 2}, {true}});
  (void)story.feed(Park{{2}, {{1000}}, {0, 2}, {false}});
  EXPECT_TRUE(view(2).flags.on_hold);
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
}

}  // namespace
}  // namespace berth::core
