// SPDX-License-Identifier: Apache-2.0
// Reservations: leases without a command, for a time. With while_used that time counts from the end
// of the last program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// Lease 1 is reserved for ten minutes, counted from its last use.
class ReservationWhileUsed : public StoryTest {
 protected:
  ReservationWhileUsed() {
    (void)story.sample();
    Request request = S::budget(gib(8));
    request.ttl = minutes(10);
    request.while_used = true;
    EXPECT_EQ(story.ask(request), "held 1; ");
  }
  std::string join(std::uint64_t pid) {
    return story.feed(Join{{70}, {{1000}}, {0, 1}, S::process(pid)});
  }
  std::string ends(std::uint64_t pid) { return story.feed(ProcessEnded{S::process(pid)}); }
  LeaseState state() { return story.state(1); }
};

TEST_F(ReservationWhileUsed, EndsAsOthersDoIfNobodyUsesIt) {
  (void)story.pass(minutes(9));
  EXPECT_EQ(state(), LeaseState::kHeld);
  (void)story.pass(minutes(2));
  (void)story.sample();
  EXPECT_EQ(state(), LeaseState::kEnded);
}

TEST_F(ReservationWhileUsed, LastsWhileAProcessOfItLives) {
  EXPECT_EQ(join(80), "held 1; ");
  (void)story.pass(hours(3));
  EXPECT_EQ(state(), LeaseState::kHeld);
  EXPECT_EQ(lease().result, std::nullopt);
}

TEST_F(ReservationWhileUsed, ItsTimeBeginsAnewWhenTheLastProcessHasEnded) {
  (void)join(80);
  (void)join(81);
  (void)story.pass(minutes(4));
  (void)ends(80);
  (void)story.pass(minutes(5));
  (void)ends(81);
  (void)story.pass(minutes(9));
  EXPECT_EQ(state(), LeaseState::kHeld);
  (void)join(82);
  (void)ends(82);
  (void)story.pass(minutes(9));
  EXPECT_EQ(state(), LeaseState::kHeld);
  (void)story.pass(minutes(2));
  (void)story.sample();
  EXPECT_EQ(state(), LeaseState::kEnded);
}

TEST_F(ReservationWhileUsed, AReleaseOrACancelEndsItAllTheSame) {
  (void)join(80);
  (void)story.feed(Cancel{{71}, {{1000}}, {1}});
  (void)story.pass(hours(1));
  (void)ends(80);
  (void)story.sample();
  EXPECT_EQ(state(), LeaseState::kEnded);
}

TEST_F(ReservationWhileUsed, LastsOnAfterARestartOfTheDaemon) {
  (void)join(80);
  (void)story.pass(minutes(9));
  story.restart();
  EXPECT_EQ(story.records_refused, 0);
  (void)story.pass(minutes(9));
  EXPECT_EQ(state(), LeaseState::kHeld);
}

TEST_F(ReservationWhileUsed, IsOfReservations) {
  Request request = S::budget(gib(1));
  request.while_used = true;
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
  EXPECT_EQ(story.refusal(), "while_used is of a reservation, whose time it is about");
}

TEST(Reservation, WithoutItTheTimeIsThatOfTheRequestHoweverItIsUsed) {
  Story story;
  Request request = S::budget(gib(8));
  request.ttl = minutes(10);
  (void)story.ask(request);
  (void)story.feed(Join{{70}, {{1000}}, {0, 1}, S::process(80)});
  (void)story.pass(minutes(11));
  EXPECT_NE(story.state(1), LeaseState::kHeld);
}

}  // namespace
}  // namespace berth::core
