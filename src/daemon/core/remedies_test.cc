// SPDX-License-Identifier: Apache-2.0
// Proposals to waiting requests: each story carries out what is proposed, and the request starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using Kind = Remedy::Kind;

class Remedies : public StoryTest {
 protected:
  Remedies() = default;
  explicit Remedies(Settings settings, std::vector<Bytes> devices = {gib(16)})
      : StoryTest(std::move(settings), std::move(devices)) {}

  std::vector<Remedy> remedies(std::uint64_t id) const {
    return story.coordinator.remedies({id}, story.now);
  }
  std::optional<Remedy> remedy(std::uint64_t id, Kind kind) const {
    const std::vector<Remedy> all = remedies(id);
    const auto found = std::ranges::find(all, kind, &Remedy::kind);
    return found == all.end() ? std::nullopt : std::optional(*found);
  }
  static Token token() { return {99}; }
  static Actor admin() { return {{0}, true}; }
};

TEST_F(Remedies, APauseMakesRoom) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(4));
  (void)story.ask(Story::budget(gib(8)));
  const auto pause = remedy(2, Kind::kPauseLease);
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->lease, LeaseId{1});
  (void)story.feed(Suspend{token(), admin(), pause->lease});
  (void)transfer_done();
  story.use(1, Bytes{});
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

TEST_F(Remedies, WhatCannotBeMovedIsNotPaused) {
  (void)story.ask(Story::budget(gib(12)));
  (void)story.claim(1);  // It uses nothing.
  (void)story.ask(Story::budget(gib(8)));
  EXPECT_FALSE(remedy(2, Kind::kPauseLease));
  story.use(1, gib(4));
  (void)story.second();
  ASSERT_TRUE(remedy(2, Kind::kPauseLease));
  (void)story.feed(Suspend{token(), admin(), {1}});
  (void)transfer_done(Outcome::kUndone, "it uses memory that cannot be moved");
  EXPECT_FALSE(remedy(2, Kind::kPauseLease));
  EXPECT_TRUE(remedy(2, Kind::kCancelLease));
}

TEST_F(Remedies, AnOldDriverPausesNothing) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(4));
  (void)story.ask(Story::budget(gib(8)));
  const auto sample_of = [&](const std::string& driver) {
    (void)story.feed(
        Sampled{{story.now.instant, story.now.instant, false, driver, "", story.hardware}});
  };
  sample_of("560.35");
  EXPECT_FALSE(remedy(2, Kind::kPauseLease));
  sample_of("570.86");
  EXPECT_TRUE(remedy(2, Kind::kPauseLease));
}

TEST_F(Remedies, ShrinkingToThePeakMakesRoom) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(7));
  (void)story.ask(Story::budget(gib(8)));
  const auto shrink = remedy(2, Kind::kShrinkLease);
  ASSERT_TRUE(shrink);
  EXPECT_EQ(shrink->bytes, gib(7));
  (void)story.feed(Resize{
      .token = token(), .actor = admin(), .lease = shrink->lease, .body = {.vram = shrink->bytes}});
  EXPECT_NE(story.second().find("grant 2"), std::string::npos);
}

TEST_F(Remedies, WhoDidNotAgreeToItIsNotRequeued) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(7));
  (void)story.ask(Story::budget(gib(8)));
  EXPECT_FALSE(remedy(2, Kind::kRequeueLease));
}

TEST_F(Remedies, ARequeueMakesRoom) {
  Request again = Story::budget(gib(12));
  again.requeue_grace = seconds(5);
  (void)story.ask(again);
  run(1, gib(7));
  (void)story.ask(Story::budget(gib(12)));
  const auto requeue = remedy(2, Kind::kRequeueLease);
  ASSERT_TRUE(requeue);
  EXPECT_EQ(requeue->lease, LeaseId{1});
  (void)story.feed(AskRequeue{token(), admin(), {1}, {false}});
  (void)story.feed(BeginRequeue{{1}, {{1000}}, {0, 1}});
  (void)story.feed(Reconnect{{1}, {{1000}}, {0, 1}, {1}});
  (void)story.feed(ProcessEnded{Story::process(1)});
  story.use(1, Bytes{});
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
  EXPECT_EQ(story.state(1), LeaseState::kWaiting);
}

TEST_F(Remedies, CancellingMakesRoom) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(7));
  (void)story.ask(Story::budget(gib(8)));
  const auto cancel = remedy(2, Kind::kCancelLease);
  ASSERT_TRUE(cancel);
  EXPECT_FALSE(remedy(2, Kind::kReleaseLease));  // It would run on without a lease.
  (void)story.feed(Cancel{token(), admin(), cancel->lease});
  story.use(1, Bytes{});
  EXPECT_NE(story.end(1).find("grant 2"), std::string::npos);
}

TEST_F(Remedies, AReservationThatNobodyUsesIsGivenBack) {
  Request kept = Story::budget(gib(12));
  kept.ttl = hours(1);
  (void)story.ask(kept);
  (void)story.ask(Story::budget(gib(8)));
  const auto release = remedy(2, Kind::kReleaseLease);
  ASSERT_TRUE(release);
  EXPECT_FALSE(remedy(2, Kind::kCancelLease));
  (void)story.feed(Release{token(), admin(), release->lease});
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

TEST_F(Remedies, EndingTheProgramsOfALeaseThatHasEndedMakesRoom) {
  (void)story.ask(Story::budget(gib(16)));
  run(1, gib(12));
  (void)story.ask(Story::budget(gib(8)));
  EXPECT_FALSE(remedy(2, Kind::kEndPrograms));
  (void)story.feed(
      Release{.token = token(), .actor = admin(), .lease = {1}, .body = {.detach = true}});
  (void)story.second();
  const auto end = remedy(2, Kind::kEndPrograms);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->lease, LeaseId{1});
  EXPECT_FALSE(remedy(2, Kind::kCancelLease));
  EXPECT_THAT(
      story.feed(Release{.token = token(), .actor = admin(), .lease = {1}, .body = {.kill = true}}),
      testing::HasSubstr("signal 15 to 1; "));
  (void)story.feed(ProcessEnded{Story::process(1)});
  story.use(1, Bytes{});
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

// It is charged to the lease, and `berth cancel` does not reach it.
TEST_F(Remedies, EndingProgramsIsNotProposedWhereOneThatCameAfterTheEndRunsOn) {
  (void)story.ask(Story::budget(gib(16)));
  run(1, gib(6));
  (void)story.ask(Story::budget(gib(12)));
  (void)story.feed(
      Release{.token = token(), .actor = admin(), .lease = {1}, .body = {.detach = true}});
  (void)story.second();
  EXPECT_TRUE(remedy(2, Kind::kEndPrograms));
  story.use(50, gib(6));
  story.hardware[0].processes->back().ancestors = {Story::process(1)};
  (void)story.second();
  EXPECT_EQ(story.look().charged, gib(12));
  EXPECT_FALSE(remedy(2, Kind::kEndPrograms));
  story.use(50, {});
  (void)story.second();
  EXPECT_TRUE(remedy(2, Kind::kEndPrograms));
}

TEST_F(Remedies, AskingLessIsForTheFirstOfTheQueue) {
  (void)story.ask(Story::budget(gib(10)));
  run(1, gib(10));
  (void)story.ask(Story::budget(gib(12)));
  const auto less = remedy(2, Kind::kAskLess);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->bytes, gib(6));
  (void)story.ask(Story::budget(gib(8)));
  EXPECT_FALSE(remedy(3, Kind::kAskLess));  // 4 GiB may pass the second, and not 6.
  (void)story.feed(Cancel{token(), admin(), {3}});
  (void)story.feed(Cancel{token(), admin(), {2}});
  (void)story.ask(Story::budget(less->bytes));
  EXPECT_EQ(story.state(4), LeaseState::kHeld);
}

TEST_F(Remedies, WhoIsBehindOthersIsToldNothingThatHelpsThem) {
  (void)story.ask(Story::budget(gib(16)));
  run(1, gib(10));
  (void)story.ask(Story::budget(gib(16)));
  (void)story.ask(Story::budget(gib(16)));
  EXPECT_TRUE(remedy(2, Kind::kCancelLease));
  EXPECT_TRUE(remedies(3).empty());
}

TEST_F(Remedies, OfARequestThatIsNotMadeYet) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(7));
  const auto found = story.coordinator.remedies(Story::budget(gib(8)), {{1000}}, story.now);
  EXPECT_TRUE(
      std::ranges::any_of(found, [](const Remedy& one) { return one.kind == Kind::kPauseLease; }));
  EXPECT_EQ(story.coordinator.queue(story.now).size(), 0u);
}

TEST_F(Remedies, WhoMadeRoomForItComesBackWhenItAsksAnew) {
  for (const Bytes vram : {gib(3), gib(4)}) {
    Request yields = Story::budget(vram);
    yields.may_yield = true;
    (void)story.ask(yields);
    run(story.handles, gib(2));
  }
  (void)story.ask(Story::budget(gib(5)));
  run(3, gib(5));
  Request urgent = Story::budget(gib(11));
  urgent.priority = Priority::kUrgent;
  (void)story.ask(urgent);
  for (const Effect& effect : std::vector(story.effects)) {
    const auto* move = std::get_if<Transfer>(&effect);
    if (move != nullptr && move->lease == LeaseId{1}) {
      (void)story.feed(TransferDone{move->lease, move->number, {}});
    }
  }
  story.use(1, Bytes{});
  (void)story.second();
  ASSERT_EQ(story.state(1), LeaseState::kSuspended);
  ASSERT_EQ(story.look().grantable, gib(7));
  EXPECT_FALSE(remedy(4, Kind::kAskLess));
  (void)story.feed(Cancel{token(), admin(), {4}});
  (void)story.ask(Story::budget(gib(7)));
  EXPECT_EQ(story.state(5), LeaseState::kWaiting);
}

// Its end is near, and one that takes longer would keep the first waiting.
TEST_F(Remedies, NobodyPassesWhileMemoryIsOnTheWayOut) {
  Request first = Story::budget(gib(12));
  first.leftovers = Leftovers::kRelease;
  (void)story.ask(first);
  run(1, gib(12));
  (void)story.ask(Story::whole());
  Request brief = Story::budget(gib(2));
  brief.limit = seconds(5);
  (void)story.ask(brief);
  ASSERT_EQ(story.state(3), LeaseState::kWaiting);
  EXPECT_TRUE(remedy(2, Kind::kCancelLease));
  (void)story.feed(Cancel{token(), admin(), {1}});
  (void)story.ask(brief);
  EXPECT_EQ(story.state(4), LeaseState::kWaiting) << "1 was told to end";
  (void)story.end(1);
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.state(3), LeaseState::kWaiting);
  story.use(1, Bytes{});
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
}

TEST_F(Remedies, NobodyPassesWhileWhatIsLeftOfACancelledLeaseEnds) {
  Request first = Story::budget(gib(9));
  first.eta = minutes(10);
  first.leftovers = Leftovers::kRelease;
  (void)story.ask(first);
  run(1, gib(9));
  (void)story.ask(Story::budget(gib(3)));
  (void)story.claim(2);
  (void)story.ask(Story::budget(gib(10)));
  (void)story.ask(Story::budget(gib(4)));
  (void)story.feed(Join{token(), {{1000}}, {0, 1}, Story::process(50)});
  (void)story.feed(Cancel{token(), admin(), {1}});
  (void)story.end(1);
  (void)story.second();
  ASSERT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.state(4), LeaseState::kWaiting);
  story.use(1, Bytes{});
  (void)story.feed(ProcessEnded{Story::process(50)});
  (void)story.second();
  EXPECT_EQ(story.state(3), LeaseState::kHeld);
}

// 2 comes within its user's bound by the shrink, and the turn of 1 ends with that. Nobody has
// looked by then what 1 has, so as much is kept for its return.
TEST_F(Remedies, AShrinkThatEndsATurnIsNotProposed) {
  Settings settings{.order = Order::kFifo, .reserve = {}};
  settings.limits_default.vram_max = gib(14);
  story = Story(settings);
  Request slice = Story::budget(gib(10));
  slice.share = Share::kSlice;
  (void)story.ask(slice);
  run(1, gib(1));
  (void)seconds_pass(300);
  slice.vram = gib(5);
  (void)story.ask(slice);
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kUserLimit);
  EXPECT_TRUE(remedy(2, Kind::kShrinkLease)) << "both fit";
  (void)story.feed(Cancel{token(), admin(), {2}});
  slice.vram = gib(8);
  (void)story.ask(slice);
  EXPECT_FALSE(remedy(3, Kind::kShrinkLease));
  (void)story.feed(Resize{token(), {{1000}}, {1}, {Share::kSlice, gib(1)}});
  EXPECT_EQ(story.last_move().value().direction, Direction::kSwapOut);
}

TEST_F(Remedies, WhatIsOnTheWayBackIsNotPaused) {
  (void)story.ask(Story::budget(gib(12)));
  run(1, gib(4));
  (void)story.ask(Story::budget(gib(8)));
  (void)story.feed(Suspend{token(), admin(), {1}});
  EXPECT_TRUE(remedy(2, Kind::kPauseLease));
  story.restart({.order = Order::kFifo, .reserve = {}});  // What had left is brought back.
  (void)story.feed(Reconnect{{2}, {{1000}}, {0, 2}});
  (void)story.second();
  EXPECT_TRUE(remedy(2, Kind::kCancelLease));
  EXPECT_FALSE(remedy(2, Kind::kPauseLease));
}

class RemediesByPriority : public Remedies {
 protected:
  RemediesByPriority() : Remedies(Settings{.order = Order::kPriority, .reserve = {}}) {}
};

// With 2 the first to wait again, 1 would have to leave it room, and 5 could pass both.
TEST_F(RemediesByPriority, RequeuesOfSeveralHelpInWhicheverOrderTheyStop) {
  for (const Bytes vram : {gib(6), gib(10)}) {
    Request again = Story::budget(vram);
    again.requeue_grace = seconds(5);
    (void)story.ask(again);
    run(story.handles, vram);
  }
  Request ends = Story::budget(gib(5));
  ends.eta = minutes(10);
  (void)story.ask(ends);
  (void)story.ask(Story::budget(gib(3)));
  Request low = Story::budget(gib(3));
  low.priority = Priority::kLow;
  (void)story.ask(low);
  EXPECT_TRUE(remedy(3, Kind::kRequeueLease));
  EXPECT_TRUE(remedy(5, Kind::kCancelLease));
  EXPECT_FALSE(remedy(5, Kind::kRequeueLease));
}

TEST_F(RemediesByPriority, WhoWouldComeStraightBackIsNotRequeued) {
  Request again = Story::budget(gib(12));
  again.requeue_grace = seconds(5);
  again.priority = Priority::kHigh;
  (void)story.ask(again);
  run(1, gib(7));
  (void)story.ask(Story::budget(gib(12)));
  EXPECT_FALSE(remedy(2, Kind::kRequeueLease));
  Request urgent = Story::budget(gib(12));
  urgent.priority = Priority::kUrgent;
  (void)story.ask(urgent);
  EXPECT_TRUE(remedy(3, Kind::kRequeueLease));
}

class RemediesOnSeveral : public Remedies {
 protected:
  RemediesOnSeveral()
      : Remedies(Settings{.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16), gib(16)}) {}
};

TEST_F(RemediesOnSeveral, AnotherDeviceIsFree) {
  Request zero = Story::budget(gib(16));
  zero.devices = {std::uint32_t{0}};
  (void)story.ask(zero);
  run(1, gib(10));
  (void)story.ask(zero);
  ASSERT_TRUE(remedy(2, Kind::kOtherDevice));
  (void)story.feed(Cancel{token(), admin(), {2}});
  (void)story.ask(Story::budget(gib(16)));
  EXPECT_EQ(story.state(3), LeaseState::kHeld);
}

TEST_F(RemediesOnSeveral, SeveralHaveToGoTogetherWhereOneIsNotEnough) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    Request one = Story::budget(gib(10));
    one.devices = {i};
    (void)story.ask(one);
    (void)story.claim(i + 1);
    story.use(i + 1, gib(5), i);
    (void)story.second();
  }
  Request two = Story::whole();
  two.device_count = 2;
  (void)story.ask(two);
  const auto pause = remedy(4, Kind::kPauseLease);
  ASSERT_TRUE(pause);
  ASSERT_EQ(pause->also.size(), 1u);
  for (const LeaseId id : {pause->lease, pause->also[0]}) {
    (void)story.feed(Suspend{token(), admin(), id});
    (void)transfer_done();
    story.use(id.value, Bytes{}, id.value - 1);
    (void)story.second();
  }
  EXPECT_EQ(story.state(4), LeaseState::kHeld);
}

// What a move leaves behind is in nobody's way once it has been told gone: 3 takes it, not 4.
TEST_F(RemediesOnSeveral, APauseOnTheWayElsewhereFreesWhereItWas) {
  story = Story({.order = Order::kFifo, .reserve = gib(1)}, {gib(16), gib(16), gib(16)});
  Request two = Story::budget(gib(9));
  two.devices = {std::uint32_t{0}, std::uint32_t{1}};
  (void)story.ask(two);
  run(1, gib(8));
  Request other = Story::budget(gib(4));
  other.devices = {std::uint32_t{1}};
  (void)story.ask(other);
  (void)story.claim(2);
  Request brief = Story::budget(gib(10));
  brief.devices = {std::uint32_t{2}};
  brief.eta = minutes(10);
  (void)story.ask(brief);
  (void)story.claim(3);
  Request ahead = Story::budget(gib(10));
  ahead.device_count = 2;
  (void)story.ask(ahead);
  Request behind = Story::budget(gib(3));
  behind.devices = {std::uint32_t{1}};
  (void)story.ask(behind);
  ASSERT_EQ(story.state(5), LeaseState::kWaiting);
  (void)story.feed(Migrate{token(), admin(), {1}, {{DeviceName(1U), DeviceName(0U)}}});
  EXPECT_TRUE(remedy(4, Kind::kPauseLease));
  EXPECT_FALSE(remedy(5, Kind::kPauseLease));
}

TEST_F(RemediesOnSeveral, WhatItHasElsewhereGoesWithIt) {
  Request one = Story::budget(gib(10));
  one.devices = {std::uint32_t{0}};
  (void)story.ask(one);
  run(1, gib(8));
  story.use(1, gib(9), 1);
  (void)story.second();
  ASSERT_EQ(story.look(1).unmanaged, gib(9));
  Request two = Story::budget(gib(10));
  two.devices = {std::uint32_t{0}, std::uint32_t{1}};
  (void)story.ask(two);
  EXPECT_TRUE(remedy(2, Kind::kPauseLease));
  EXPECT_TRUE(remedy(2, Kind::kCancelLease));
}

// What was tried has changed nothing.
TEST_F(RemediesOnSeveral, ACopyDecidesAloneAndAsTheOriginalWould) {
  (void)story.ask(Story::budget(gib(16)));
  run(1, gib(10));
  for (int i = 0; i < 4; ++i) (void)story.ask(Story::budget(gib(16)));
  const std::uint64_t records = story.coordinator.last_sequence();
  Coordinator other = story.coordinator.copy();
  other.check_everything();
  EXPECT_EQ(other.queue(story.now), story.coordinator.queue(story.now));
  (void)other.step(story.now, Cancel{token(), admin(), {1}});
  other.check_everything();
  (void)remedies(4);
  EXPECT_EQ(story.coordinator.last_sequence(), records);
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  story.coordinator.check_everything();
}

}  // namespace
}  // namespace berth::core
