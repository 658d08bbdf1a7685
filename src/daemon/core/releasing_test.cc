// SPDX-License-Identifier: Apache-2.0
// Leases that a user releases or cancels.
#include <gtest/gtest.h>

#include "core/story_for_test.h"

namespace berth::core {
namespace {

using ReleaseStory = Story;

TEST(Releasing, ALeaseWhoseCommandRunsIsReleasedOnlyWhereItIsToRunOn) {
  ReleaseStory story;
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  EXPECT_EQ(story.feed(Release{{9}, {{1000}}, {1}}), "refuse running; ");
  for (const char* cure : {"berth cancel 1", "berth pause 1", "berth release --detach 1"}) {
    EXPECT_NE(story.refusal().find(cure), std::string::npos) << story.refusal();
  }
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  // Its child is another process; it may not know what its parent does.
  EXPECT_EQ(story.feed(Release{.token = {9},
                               .actor = {.user = {1000}, .process = ReleaseStory::process(2)},
                               .lease = {1}}),
            "refuse running; ");
}

TEST(Releasing, ADetachedLeaseHasEndedWhenItWasReleased) {
  ReleaseStory story;
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  story.use(1, gib(3));
  (void)story.pass(seconds(5));
  (void)story.sample();
  const UnixMs released = story.now.wall;
  (void)story.feed(Release{{9}, {{0}, true}, {1}, {.detach = true}});
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->ended_by, UserId{0});
  story.restart();
  (void)story.sample();
  (void)story.pass(seconds(40));
  (void)story.sample();
  const LeaseView ended = *story.coordinator.lease({1}, story.now);
  EXPECT_EQ(ended.state, LeaseState::kEnded);
  EXPECT_EQ(ended.result, EndResult::kDetached);
  EXPECT_EQ(ended.ended_at, released);
  EXPECT_EQ(ended.ended_by, UserId{0});
}

/// A detached lease whose programs use so much, and listen to no SIGTERM.
void detach(ReleaseStory& story, Bytes used) {
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  story.use(1, used);
  (void)story.second();
  (void)story.feed(
      Release{.token = {9}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
}
const Release kKills{.token = {9}, .actor = {{0}, true}, .lease = {1}, .body = {.kill = true}};

TEST(Releasing, ProgramsThatWereDetachedAreKilledTenSecondsAfterTheyWereToEnd) {
  ReleaseStory story;
  detach(story, gib(3));
  EXPECT_EQ(story.feed(kKills), "signal 15 to 1; releasing 1; ");
  EXPECT_EQ(story.seconds_pass(9), "");
  story.restart();
  (void)story.sample();
  EXPECT_EQ(story.feed(kKills), "signal 15 to 1; releasing 1; ") << "that changes nothing";
  EXPECT_EQ(story.seconds_pass(1), "signal 9 to 1; ");
  story.use(1, {});
  (void)story.feed(ProcessEnded{ReleaseStory::process(1)});
  (void)story.seconds_pass(2);
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kDetached);
}

TEST(Releasing, TheKillOfWhatWasDetachedIsNotForgottenWhenItsMemoryIs) {
  ReleaseStory late;
  detach(late, gib(3));
  (void)late.seconds_pass(25);
  (void)late.feed(kKills);
  EXPECT_EQ(late.seconds_pass(9), "");
  EXPECT_EQ(late.seconds_pass(1), "signal 9 to 1; end 1; ");

  ReleaseStory freed;
  (void)freed.ask(ReleaseStory::budget(gib(8)));
  (void)freed.claim(1);
  (void)freed.feed(Join{{8}, {{1000}}, {0, 1}, ReleaseStory::process(21)});
  (void)freed.feed(
      Release{.token = {9}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
  EXPECT_EQ(freed.feed(kKills), "signal 15 to 1; signal 15 to 21; releasing 1; ");
  (void)freed.end(1);
  EXPECT_EQ(freed.seconds_pass(9), "") << "its memory is free, and it runs";
  EXPECT_EQ(freed.look().charged, Bytes{});
  EXPECT_EQ(freed.pass(seconds(1)), "signal 9 to 21; end 1; ");
}

TEST(Releasing, WhatIsDetachedAfterItWasToldToEndRunsOn) {
  ReleaseStory story;
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  story.use(1, gib(3));
  (void)story.second();
  (void)story.feed(Cancel{.token = {9}, .actor = {{1000}}, .lease = {1}});
  (void)story.feed(
      Release{.token = {9}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
  EXPECT_EQ(story.seconds_pass(20), "");
}

TEST(Releasing, AProgramThatHasItsOwnLeaseReleasesIt) {
  ReleaseStory story;
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  EXPECT_EQ(story.feed(Release{.token = {9},
                               .actor = {.user = {1000}, .process = ReleaseStory::process(1)},
                               .lease = {1}}),
            "releasing 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kOk);
}

TEST(Releasing, TheLastProgramOfAReservationReleasesIt) {
  ReleaseStory story;
  Request reservation = ReleaseStory::budget(gib(8));
  reservation.ttl = hours(1);
  (void)story.ask(std::move(reservation));
  const auto join = [&](std::uint64_t pid) {
    (void)story.feed(Join{.token = {8},
                          .actor = {{1000}},
                          .handle = story.coordinator.lease({1}, story.now)->handle,
                          .body = ReleaseStory::process(pid)});
  };
  const Release release{
      .token = {9}, .actor = {.user = {1000}, .process = ReleaseStory::process(21)}, .lease = {1}};
  join(21);
  join(22);
  EXPECT_EQ(story.feed(release), "refuse running; ");
  (void)story.feed(ProcessEnded{ReleaseStory::process(22)});
  EXPECT_EQ(story.feed(release), "releasing 1; ");
}

TEST(Releasing, WhoCancelsIsKnownUntilTheEndAndAfterARestart) {
  ReleaseStory story;
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  (void)story.ask(ReleaseStory::budget(gib(12)));
  (void)story.feed(Cancel{{9}, {{0}, true}, {2}});
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->ended_by, UserId{0});
  (void)story.feed(Cancel{{9}, {{0}, true}, {1}});
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->ended_by, UserId{0});
  story.restart();
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->ended_by, UserId{0});
  (void)story.end(1);
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kCancelled);
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->ended_by, UserId{0});
}

// A program with 3 GiB below the process that asked counts for the offer, although nobody took that
// up.
void offer_with_a_program(ReleaseStory& story, Bytes budget) {
  (void)story.ask(ReleaseStory::budget(budget));
  story.use(50, gib(3));
  story.hardware[0].processes->front().ancestors = {ReleaseStory::process(1001)};
  (void)story.second();
}

TEST(Releasing, WhatWasCountedForAnOfferStaysWhereItIsWhenThatEnds) {
  ReleaseStory story;
  offer_with_a_program(story, gib(12));
  (void)story.ask(ReleaseStory::budget(gib(14)));
  EXPECT_EQ(story.feed(Release{{9}, {{1000}}, {1}}), "end 1; ended 1; ");
  story.use(50, {});
  EXPECT_EQ(story.second(), "grant 2; ");
}

TEST(Releasing, WhatWasCountedForAnOfferStaysWhereItIsWhenThatLapses) {
  const auto grants_beside = [](const auto& lapse) {
    ReleaseStory story;
    offer_with_a_program(story, gib(12));
    (void)story.ask(ReleaseStory::budget(gib(14)));
    std::string told = lapse(story);
    EXPECT_EQ(story.look().unmanaged, gib(3));
    story.use(50, {});
    return told + story.second();
  };
  EXPECT_EQ(grants_beside([](Story& story) { return story.pass(seconds(60)); }),
            "park 1; grant 2; ");
  EXPECT_EQ(grants_beside(
                [](Story& story) { return story.feed(Park{{9}, {{1000}, true}, {0, 1}, {true}}); }),
            "waiting 1; grant 2; ");
}

// Nothing is granted again before the journal can be written, and the sample counts it by then.
TEST(Releasing, WhatWasCountedForAnOfferStaysWhereItIsWhenItsGrantCannotBeKept) {
  ReleaseStory story;
  offer_with_a_program(story, gib(12));
  (void)story.feed(JournalFailed{"/state/leases.db", {}, {{1}}});
  EXPECT_EQ(story.look().unmanaged, gib(3));
}

TEST(Releasing, WhatWasCountedForAnOfferStaysWhereItIsOnceHoweverOftenThatLapses) {
  ReleaseStory story{{.order = Order::kFifo, .reserve = {}}};
  offer_with_a_program(story, gib(8));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(story.feed(Park{{9}, {{1000}, true}, {0, 1}, {true}}), "waiting 1; ");
    EXPECT_EQ(story.look().unmanaged, gib(3));
    EXPECT_EQ(story.feed(Park{{9}, {{1000}, true}, {0, 1}, {false}}), "grant 1; held 1; ");
  }
}

TEST(Releasing, WhatWasCountedForAnOfferStaysWhereItIsThoughItsFigureIsMissing) {
  ReleaseStory story;
  offer_with_a_program(story, gib(12));
  story.hardware[0].processes->front().used.reset();
  (void)story.second();
  (void)story.ask(ReleaseStory::budget(gib(14)));
  EXPECT_EQ(story.feed(Release{{9}, {{1000}}, {1}}), "end 1; ended 1; ");
  EXPECT_EQ(story.second(), "") << "the total tells of it";
  story.use(50, {});
  EXPECT_EQ(story.second(), "grant 2; ");
}

// What it was to have again is none of it.
TEST(Releasing, ALeaseThatEndsOnItsWayBackIsChargedWhatItLeft) {
  ReleaseStory story{{.order = Order::kFifo, .reserve = {}}};
  (void)story.ask(ReleaseStory::budget(gib(8)));
  (void)story.claim(1);
  story.use(1, gib(7));
  (void)story.second();
  (void)story.feed(Suspend{{9}, {{1000}}, {1}});
  (void)story.feed(TransferDone{{1}, story.last_move()->number, {}});
  story.use(1, {});
  (void)story.second();
  (void)story.feed(Resume{{9}, {{1000}}, {1}});
  (void)story.sample();
  ASSERT_EQ(story.last_move()->direction, Direction::kSwapIn);
  (void)story.ask(ReleaseStory::budget(gib(13)));
  (void)story.feed(ReportExit{{9}, {{1000}, true}, {0, 1}});
  story.use(1, gib(2), 0, false);
  (void)story.second();
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
  EXPECT_EQ(story.look().charged, gib(15));
}

}  // namespace
}  // namespace berth::core
