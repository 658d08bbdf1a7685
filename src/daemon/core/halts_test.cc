// SPDX-License-Identifier: Apache-2.0
// Reasons that the owner of a granted lease that does not run is given: by whom, for whom and until
// when.
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using Reason = WhyView::Reason;

class Halts : public StoryTest {
 protected:
  WhyView why(std::uint64_t id = 1) const { return *story.coordinator.why({id}, story.now); }
};

TEST_F(Halts, APauseNamesWhoAskedForIt) {
  (void)story.ask(Story::budget(gib(8)));
  run(1, gib(4));
  EXPECT_EQ(why().reason, Reason::kNotWaiting);
  EXPECT_FALSE(lease().halt);
  (void)story.feed(Suspend{{9}, {{0}, true}, {1}, {.lasts = minutes(5), .reason = "lunch"}});
  (void)transfer_done();
  EXPECT_EQ(why().reason, Reason::kPaused);
  EXPECT_EQ(why().expected_start, UnixMs{story.now.wall.value + 300'000});
  ASSERT_TRUE(lease().halt);
  EXPECT_EQ(lease().halt->reason, Halt::Reason::kPaused);
  EXPECT_EQ(lease().pause->by, UserId{0});
  story.restart();
  EXPECT_EQ(lease().pause->by, UserId{0});
}

// A pause has a length; the clock on the wall may be set meanwhile.
TEST_F(Halts, APauseEndsWhenItSaysByTheClockAsItIs) {
  (void)story.ask(Story::budget(gib(8)));
  run(1, gib(4));
  (void)story.feed(Suspend{{9}, {{1000}}, {1}, {.lasts = minutes(5)}});
  (void)transfer_done();
  story.now.wall.value += 3'600'000;
  EXPECT_EQ(why().expected_start, UnixMs{story.now.wall.value + 300'000});
  EXPECT_EQ(lease().pause.value().until, UnixMs{story.now.wall.value + 300'000});
  (void)story.pass(minutes(5));
  EXPECT_EQ(why().reason, Reason::kReturns);
}

TEST_F(Halts, WhoIsFrozenIsPausedToo) {
  (void)story.ask(Story::budget(gib(8)));
  run(1, gib(4));
  (void)story.feed(Freeze{{9}, {{1000}}, {1}});
  (void)transfer_done();
  EXPECT_EQ(why().reason, Reason::kPaused);
  EXPECT_EQ(lease().pause->by, UserId{1000});
}

TEST_F(Halts, WhoMadeRoomIsToldForWhomAndUntilWhen) {
  Request yields = Story::budget(gib(12));
  yields.may_yield = true;
  (void)story.ask(yields);
  run(1, gib(4));
  Request urgent = Story::budget(gib(12));
  urgent.priority = Priority::kUrgent;
  urgent.name = "deadline";
  urgent.eta = minutes(10);
  (void)story.ask(urgent, 1001);
  ASSERT_TRUE(lease().halt);
  (void)transfer_done();
  story.use(1, Bytes{});
  (void)story.second();
  ASSERT_EQ(story.state(2), LeaseState::kHeld);
  (void)story.claim(2);
  EXPECT_EQ(why().reason, Reason::kYields);
  const Halt halt = why().halt.value();
  EXPECT_EQ(halt.lease, LeaseId{2});
  EXPECT_EQ(halt.user, UserId{1001});
  EXPECT_EQ(halt.name, "deadline");
  EXPECT_EQ(halt.priority, Priority::kUrgent);
  EXPECT_EQ(why().expected_start, UnixMs{story.now.wall.value + 600'000});
  (void)story.end(2);
  EXPECT_EQ(why().reason, Reason::kReturns);
  (void)story.second();
  (void)transfer_done();
  EXPECT_EQ(why().reason, Reason::kNotWaiting);
}

// Nobody tries again unasked, so it does not say that it waits for room.
TEST_F(Halts, WhoCouldNotBeBroughtBackSaysSo) {
  for (const Outcome outcome : {Outcome::kUndone, Outcome::kStuck}) {
    const std::uint64_t id = story.handles + 1;
    (void)story.ask(Story::budget(gib(6)));
    run(id, gib(4));
    (void)story.feed(Suspend{{9}, {{1000}}, {id}});
    (void)transfer_done();
    story.use(id, Bytes{});
    (void)story.second();
    (void)story.feed(Resume{{9}, {{1000}}, {id}});
    EXPECT_EQ(why(id).reason, Reason::kReturns);
    (void)story.second();
    (void)transfer_done(outcome, "no");
    (void)seconds_pass(120);
    EXPECT_EQ(why(id).reason, Reason::kNotReturned);
    EXPECT_EQ(lease(id).halt.value().reason, Halt::Reason::kNotReturned);
    (void)story.feed(Resume{{9}, {{1000}}, {id}});
    EXPECT_EQ(why(id).reason, Reason::kReturns);
    (void)story.second();
    (void)transfer_done();
    EXPECT_EQ(why(id).reason, Reason::kNotWaiting);
  }
}

class HaltsOnTwo : public StoryTest {
 protected:
  HaltsOnTwo() : StoryTest({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)}) {}
};

TEST_F(HaltsOnTwo, WhoMovesIsNotPaused) {
  Request zero = Story::budget(gib(8));
  zero.devices = {std::uint32_t{0}};
  (void)story.ask(zero);
  run(1, gib(4));
  (void)story.feed(Migrate{{9}, {{1000}}, {1}, {{DeviceName{std::uint32_t{1}}}}});
  EXPECT_EQ(story.coordinator.why({1}, story.now)->reason, Reason::kMoves);
  (void)transfer_done();
  ASSERT_TRUE(lease().halt);
  EXPECT_EQ(lease().halt->reason, Halt::Reason::kMoves);
}

TEST_F(HaltsOnTwo, WhoIsPutElsewhereAndNotWantedBackDoesNotMove) {
  Request zero = Story::budget(gib(8));
  zero.devices = {std::uint32_t{0}};
  (void)story.ask(zero);
  run(1, gib(4));
  (void)story.feed(Suspend{{9}, {{1000}}, {1}});
  (void)transfer_done();
  story.use(1, Bytes{});
  (void)story.second();
  (void)story.feed(Resume{{9}, {{1000}}, {1}});
  (void)story.second();
  (void)transfer_done(Outcome::kUndone, "no");
  (void)story.feed(Migrate{{9}, {{1000}}, {1}, {{DeviceName{std::uint32_t{1}}}}});
  EXPECT_EQ(story.coordinator.why({1}, story.now)->reason, Reason::kNotReturned);
  (void)story.feed(Resume{{9}, {{1000}}, {1}});
  EXPECT_EQ(story.coordinator.why({1}, story.now)->reason, Reason::kMoves);
}

}  // namespace
}  // namespace berth::core
