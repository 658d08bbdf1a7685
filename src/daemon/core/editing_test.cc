// SPDX-License-Identifier: Apache-2.0
// Requests that are changed while they wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

constexpr UserId kBounded{1002};
constexpr Actor kRoot{.user = {0}, .admin = true};

Settings settings() {
  return {.order = Order::kPriority,
          .reserve = {},
          .limits = {{kBounded,
                      {.waiting_max = 1,
                       .leases_max = 64,
                       .vram_max = gib(4),
                       .priority_max = Priority::kNormal}}}};
}

/// The GPU is held by lease 1; leases 2 and 3 wait for all of it.
class Editing : public StoryTest {
 protected:
  Editing() : StoryTest(settings()) {
    (void)story.sample();
    (void)story.ask(S::whole());
    run(1, gib(8));
    (void)story.ask(S::whole());
    (void)story.ask(S::whole());
  }
  std::string edit(std::uint64_t lease, RequestEdit edit, Actor actor = {{1000}}) {
    return story.feed(Edit{{71}, actor, {lease}, std::move(edit)});
  }
  std::string first_ends() {
    story.use(1, {});
    return story.end(1);
  }
  LeaseView view(std::uint64_t lease) { return *story.coordinator.lease({lease}, story.now); }
  /// As `berth edit` can change it.
  RequestEdit asked(std::uint64_t lease) {
    const Request request = view(lease).request;
    return {.name = request.name,
            .priority = request.priority,
            .share = request.share,
            .vram = request.vram,
            .eta = request.eta,
            .limit = request.limit,
            .not_before = request.not_before,
            .command = request.command};
  }
};

TEST_F(Editing, EachThingThatIsNamedIsChangedAndNothingElse) {
  const UnixMs now = story.now.wall;
  const RequestEdit before = asked(2);
  EXPECT_EQ(edit(2, {.eta = minutes(5)}), "waiting 2; ");
  RequestEdit wanted = before;
  wanted.eta = minutes(5);
  EXPECT_EQ(asked(2), wanted);
  wanted = {.name = "other",
            .priority = Priority::kHigh,
            .share = Share::kSlice,
            .vram = gib(2),
            .eta = minutes(6),
            .limit = minutes(7),
            .not_before = UnixMs{now.value + 1'000},
            .command = "./other"};
  EXPECT_EQ(edit(2, wanted), "waiting 2; ");
  EXPECT_EQ(asked(2), wanted);
  EXPECT_EQ(edit(2, {.vram = gib(3)}), "waiting 2; ");
  EXPECT_EQ(view(2).request.share, Share::kSlice) << "it takes turns with less, too";
  EXPECT_EQ(edit(2, {.share = Share::kExclusive}), "waiting 2; ");
  EXPECT_EQ(view(2).request.vram, Bytes{});
}

TEST_F(Editing, ASizeThatIsSaidIsNotLearnedAnyMore) {
  Request request = S::whole();
  request.learned = true;
  Request now = edited(request, {.eta = minutes(1)});
  EXPECT_TRUE(now.learned);
  now = edited(request, {.vram = gib(1)});
  EXPECT_FALSE(now.learned);
  EXPECT_EQ(now.share, Share::kBudget);
}

TEST_F(Editing, ASmallerOneIsGrantedAtOnceWhereItFits) {
  (void)first_ends();
  (void)story.claim(2);
  EXPECT_EQ(story.feed(Resize{{70}, {{1000}}, {2}, {.vram = gib(4)}}), "resize 2; held 2; ");
  (void)story.second();
  EXPECT_EQ(view(3).state, LeaseState::kWaiting);
  EXPECT_EQ(edit(3, {.vram = gib(8)}), "grant 3; held 3; ");
  EXPECT_EQ(view(3).parts.front().granted, gib(8));
}

TEST_F(Editing, AHigherPriorityGoesFirstAndTheAgeStays) {
  EXPECT_EQ(edit(3, {.priority = Priority::kHigh}), "waiting 3; ");
  EXPECT_EQ(view(3).queue_position, 1U);
  EXPECT_EQ(view(2).queue_position, 2U);
  (void)story.ask(S::whole());
  EXPECT_EQ(edit(4, {.priority = Priority::kHigh}), "waiting 4; ");
  EXPECT_EQ(view(4).queue_position, 2U) << "lease 3 is older";
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
}

TEST_F(Editing, ATimeToStartHoldsItBackAndATimeThatIsPastLetsItGo) {
  const UnixMs later{story.now.wall.value + 60'000};
  EXPECT_EQ(edit(2, {.not_before = later}), "waiting 2; ");
  EXPECT_THAT(first_ends(), HasSubstr("grant 3; "));
  (void)story.claim(3);
  (void)story.end(3);
  EXPECT_EQ(view(2).state, LeaseState::kWaiting);
  EXPECT_THAT(edit(2, {.not_before = story.now.wall}), HasSubstr("grant 2; "));
}

TEST_F(Editing, AtTheTimeThatWasMovedUpItStarts) {
  (void)edit(3, {.not_before = UnixMs{story.now.wall.value + 600'000}});
  (void)edit(2, {.not_before = UnixMs{story.now.wall.value + 600'000}});
  (void)first_ends();
  EXPECT_EQ(edit(2, {.not_before = UnixMs{story.now.wall.value + 20'000}}), "waiting 2; ");
  Instant wakes_at = Instant::never();
  for (const Effect& effect : story.effects) {
    if (const auto* wake = std::get_if<WakeAt>(&effect)) wakes_at = wake->at;
  }
  EXPECT_LE(wakes_at, story.now.instant + seconds(20));
  EXPECT_THAT(story.pass(seconds(20)), HasSubstr("grant 2; "));
}

TEST_F(Editing, WhatIsGrantedIsRefusedWithWhatWouldDo) {
  EXPECT_EQ(edit(1, {.vram = gib(1)}), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(),
            "lease 1 has been granted, and only a request can be edited (berth resize changes its "
            "memory)");
  (void)first_ends();
  EXPECT_EQ(edit(2, {.vram = gib(1)}), "refuse wrong_state; ") << "it is offered";
  EXPECT_EQ(edit(1, {.vram = gib(1)}), "refuse wrong_state; ") << "it has ended";
  EXPECT_EQ(edit(9, {.vram = gib(1)}), "refuse not_found; ");
}

TEST_F(Editing, WhatCouldNotBeAskedForCannotBeEditedTo) {
  const RequestEdit before = asked(2);
  EXPECT_EQ(edit(2, {.vram = gib(400)}), "refuse never_fits; ");
  EXPECT_EQ(edit(2, {.name = "7up"}), "refuse invalid; ");
  EXPECT_EQ(edit(2, {.share = Share::kBudget}), "refuse invalid; ") << "and no size";
  EXPECT_EQ(edit(2, {.not_before = UnixMs{story.now.wall.value + 400LL * 86'400'000}}),
            "refuse invalid; ");
  EXPECT_EQ(asked(2), before);
}

TEST_F(Editing, OfOthersOnlyAdminsMayAndTheSizeIsBoundedByWhoseItIs) {
  EXPECT_EQ(story.ask(S::budget(gib(2)), kBounded.value), "waiting 4; ");
  EXPECT_EQ(edit(4, {.vram = gib(1)}, {{1001}}), "refuse not_yours; ");
  EXPECT_EQ(edit(4, {.vram = gib(6)}, kRoot), "refuse queue_full; ");
  EXPECT_EQ(edit(4, {.vram = gib(3)}, kRoot), "waiting 4; ");
}

TEST_F(Editing, APriorityIsRaisedByWhoMayUseItAndKeptOrLoweredByWhoseItIs) {
  (void)story.ask(S::budget(gib(2)), kBounded.value);
  EXPECT_EQ(edit(4, {.priority = Priority::kHigh}, {kBounded}), "refuse not_yours; ");
  EXPECT_EQ(edit(4, {.priority = Priority::kUrgent}, kRoot), "waiting 4; ");
  EXPECT_EQ(edit(4, {.name = "urgent-still"}, {kBounded}), "waiting 4; ");
  EXPECT_EQ(edit(4, {.priority = Priority::kHigh}, {kBounded}), "waiting 4; ");
}

TEST_F(Editing, WhoHasAsManyWaitingAsTheyMayCanEditThem) {
  (void)story.ask(S::budget(gib(2)), kBounded.value);
  EXPECT_EQ(story.ask(S::budget(gib(2)), kBounded.value), "refuse queue_full; ");
  EXPECT_EQ(edit(4, {.vram = gib(1)}, {kBounded}), "waiting 4; ");
}

TEST_F(Editing, ASetIsRefused) {
  Request set = S::whole();
  set.members = 3;
  (void)story.ask(set);
  EXPECT_EQ(edit(4, {.priority = Priority::kLow}), "refuse wrong_state; ");
  EXPECT_THAT(story.refusal(), HasSubstr("--resume"));
}

TEST_F(Editing, SurvivesTheDaemonAndASnapshot) {
  (void)edit(2, {.name = "other", .priority = Priority::kLow, .vram = gib(2)});
  const RequestEdit before = asked(2);
  for (const bool from_snapshot : {false, true}) {
    if (from_snapshot) {
      story.restart_from_snapshot(settings());
    } else {
      story.restart(settings());
    }
    EXPECT_EQ(asked(2), before);
    EXPECT_EQ(view(2).queue_position, 2U);
  }
  EXPECT_EQ(story.records_refused, 0);
}

}  // namespace
}  // namespace berth::core
