// SPDX-License-Identifier: Apache-2.0
// Leases with a whole device whose memory is moved to the host and back.
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

/// A device of 16 GiB, which one lease has whole.
class SuspendingWhole : public StoryTest {
 protected:
  SuspendingWhole() : StoryTest({.order = Order::kFifo, .reserve = {}}, {gib(16)}) {
    (void)story.ask(S::whole());
    (void)story.claim(1);
  }

  std::string suspend() { return story.feed(Suspend{{71}, {{1000}}, {1}}); }
  std::string resume() { return story.feed(Resume{{72}, {{1000}}, {1}}); }
};

TEST_F(SuspendingWhole, AWholeDeviceIsGivenUpAndComesBackAlone) {
  story.use(1, gib(3));
  (void)story.second();
  (void)suspend();
  (void)transfer_done();
  story.use(1, {});
  (void)story.second();
  EXPECT_THAT(story.ask(S::budget(gib(1))), HasSubstr("held 2"));
  (void)story.claim(2);
  EXPECT_EQ(resume(), "");
  (void)story.second();
  EXPECT_THAT(story.second(), Not(HasSubstr("move back")));
  (void)story.end(2);
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
}

TEST_F(SuspendingWhole, AWholeDeviceComesBackBesideAnUnmanagedProcessThatLeavesItRoom) {
  story.use(1, gib(3));
  (void)story.second();
  (void)suspend();
  EXPECT_TRUE(story.last_move()->measure);
  (void)left(gib(5));
  story.use(1, {});
  story.use(77, mib(700));
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
  EXPECT_EQ(lease().parts.at(0).granted, Bytes{gib(16).value - mib(700).value});
}

TEST_F(SuspendingWhole, WhatAWholeDeviceTookBetweenTheLastSampleAndTheLockIsWaitedFor) {
  story.use(1, gib(3));
  (void)story.second();
  (void)suspend();
  (void)left(gib(12));
  story.use(1, {});
  story.use(77, gib(8));
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  story.use(77, gib(3));
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
  EXPECT_EQ(lease().parts.at(0).granted, gib(13));
}

TEST_F(SuspendingWhole, OfWhichNobodyKnowsWhatLeftReturnsWhenAllItMayHaveIsFree) {
  story.use(1, gib(3));
  (void)story.second();
  (void)suspend();
  (void)transfer_done();
  story.use(1, {});
  story.use(77, mib(700));
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  story.use(77, {});
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
}

TEST_F(SuspendingWhole, WhatWasMeasuredHoldsUntilItIsTriedToBringItBack) {
  (void)suspend();
  (void)left(gib(5));
  story.use(77, gib(9));
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
  (void)transfer_done(Outcome::kUndone, "cannot start berth-mover");
  story.use(77, gib(10));
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  story.use(77, gib(9));
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
}

// Else it would never come back.
TEST_F(SuspendingWhole, WhatItHadBesideASmallerReserveItHasAgainAlone) {
  story.use(1, gib(15));
  (void)story.second();
  (void)suspend();
  (void)left(gib(15));
  story.use(1, {});
  story.restart({.order = Order::kFifo, .reserve = gib(4)});
  (void)resume();
  story.use(77, gib(2));
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  story.use(77, {});
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
  EXPECT_EQ(lease().parts.at(0).granted, gib(12));
}

// All that it may have had is more than its driver leaves of this device for anybody.
TEST_F(SuspendingWhole, OfWhichNobodyKnowsWhatLeftReturnsToAnEmptyDevice) {
  (void)suspend();
  (void)transfer_done();
  story.hardware[0].figures.driver_reserved = mib(300);
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
  EXPECT_EQ(lease().parts.at(0).granted, Bytes{gib(16).value - mib(300).value});
}

TEST_F(SuspendingWhole, WhatAProcessHasThatWasNotMovedIsNotOfWhatLeft) {
  story.use(1, gib(3));
  (void)story.second();
  (void)suspend();
  (void)left(gib(12));
  story.use(1, gib(6));  // By one that came too late to be moved.
  (void)story.second();
  (void)resume();
  EXPECT_THAT(story.second() + story.second(), Not(HasSubstr("move back")));
  story.use(1, gib(3));
  EXPECT_THAT(story.second() + story.second(), HasSubstr("move back 1"));
}

}  // namespace
}  // namespace berth::core
