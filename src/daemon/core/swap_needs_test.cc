// SPDX-License-Identifier: Apache-2.0
// Memory of processes that were not moved with their lease, because nobody knew of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;
using testing::Not;

/// One GPU of 16 GiB, and a lease of 10 GiB that had 8 when it left; 3 are of a process of it that
/// came too late to be moved.
class NotMoved : public StoryTest {
 protected:
  explicit NotMoved(Share share = Share::kBudget) {
    Request request = S::budget(gib(10));
    request.share = share;
    (void)story.ask(request);
    run(1, gib(8));
  }

  std::string suspend() { return story.feed(Suspend{{71}, {{1000}}, {1}}); }
  std::string resume() { return story.feed(Resume{{72}, {{1000}}, {1}}); }
  /// What its command has is away, and so much is there of the other one.
  void stays(Bytes bytes) {
    story.use(1, {});
    story.use(50, bytes);
    if (bytes > Bytes{}) story.hardware[0].processes->back().ancestors = {S::process(1)};
  }
  /// Beside the 3 GiB that stayed, another process has what leaves too little at first.
  void expect_room_for_eight() {
    story.use(77, gib(6));
    EXPECT_THAT(seconds_pass(3), Not(HasSubstr("move back"))) << "7 GiB are free, and 8 come";
    story.use(77, gib(5));
    EXPECT_EQ(seconds_pass(3), "move back 1; ");
  }
  /// Lease 1 is away, and the driver has told what has stayed.
  void put_away() {
    (void)suspend();
    (void)left(gib(8));
    stays(gib(3));
    (void)story.second();
  }
};

TEST_F(NotMoved, WhatHasStayedIsChargedBesideWhatComesBack) {
  put_away();
  EXPECT_EQ(story.look().charged, gib(3));
  (void)resume();
  EXPECT_EQ(story.look().charged, gib(11));
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_THAT(transfer_done(), HasSubstr("resume 1"));
  EXPECT_EQ(story.look().charged, gib(11)) << "no sample has told of it yet";
  EXPECT_EQ(story.ask(S::budget(gib(6))), "waiting 2; ");
  stays(gib(2));
  story.use(1, gib(8));
  EXPECT_THAT(story.second(), HasSubstr("grant 2"));
}

TEST_F(NotMoved, ItReturnsWhereBothFit) {
  put_away();
  (void)story.ask(S::budget(gib(6)));
  EXPECT_EQ(resume(), "");
  EXPECT_EQ(seconds_pass(3), "") << "10 GiB are left, and it will have 11";
  stays(gib(2));
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1"));
}

TEST_F(NotMoved, WhatOnlyTheLastSampleBeforeItsReturnTellsIsChargedToo) {
  (void)suspend();
  (void)left(gib(8));
  (void)resume();
  EXPECT_EQ(story.look().charged, gib(10));
  stays(gib(3));
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_EQ(story.look().charged, gib(11));
}

TEST_F(NotMoved, ItIsChargedToAReturnThatWaitsForRoomToo) {
  (void)suspend();
  (void)left(gib(8));
  (void)resume();
  stays(gib(3));
  story.use(77, gib(6));
  EXPECT_EQ(story.second(), "");
  EXPECT_EQ(story.look().charged, gib(11)) << "or others are granted what it cannot do without";
}

TEST_F(NotMoved, WhereAllItsProcessesAreListedWhatWasMeasuredIsAwayAllTheSame) {
  (void)suspend();
  (void)left(gib(8));
  story.use(1, gib(3));
  (void)story.second();
  (void)resume();
  expect_room_for_eight();
}

// A restore that runs out of memory ruins the process for ever.
TEST_F(NotMoved, WhatHasStayedIsNotTakenForWhatIsBackAfterARestart) {
  put_away();
  story.restart();
  (void)story.second();
  (void)resume();
  expect_room_for_eight();
}

TEST_F(NotMoved, WhereAMoveBackMayHaveBegunWhatIsThereIsOfWhatComes) {
  put_away();
  (void)resume();
  EXPECT_EQ(story.second(), "move back 1; ");
  story.restart();
  stays(gib(6));
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1"));
  EXPECT_EQ(story.look().charged, gib(10));
}

// What is charged to its programs by themselves is all that they have, also of those unknown here.
TEST_F(NotMoved, ItsOwnAccountCountsWhatHasStayed) {
  const auto tell = [&] {
    Sample sample{story.now.instant, story.now.instant, true, "", "", story.hardware};
    sample.charges = {{.lease = {0, 1}, .device = device(0), .charged = gib(9), .peak = gib(9)}};
    return story.feed(Sampled{sample});
  };
  (void)tell();
  (void)suspend();
  (void)transfer_done();
  stays(gib(3));
  (void)tell();
  (void)resume();
  EXPECT_EQ(story.look().charged, gib(10));
}

class NotMovedInTurns : public NotMoved {
 protected:
  NotMovedInTurns() : NotMoved(Share::kSlice) {}
};

TEST_F(NotMovedInTurns, TheTurnOfAnotherEndsWhereBothDoNotFitBesideIt) {
  put_away();
  Request other = S::budget(gib(6));
  other.share = Share::kSlice;
  (void)story.ask(other);
  run(2, gib(5));
  (void)resume();
  std::string told;
  for (int i = 0; i < 600 && told.empty(); ++i) told = seconds_pass(1);
  EXPECT_EQ(told, "move out 2; ");
}

}  // namespace
}  // namespace berth::core
