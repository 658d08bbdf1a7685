// SPDX-License-Identifier: Apache-2.0
// Leases that go on on other devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Three GPUs of 16 GiB, the last of another model, and a lease of 10 GiB on the first, of which
/// its command uses 8.
class Moving : public StoryTest {
 protected:
  Moving() : StoryTest({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16), gib(16)}) {
    story.hardware[2].model = "Another";
    (void)story.sample();
    Request request = S::budget(gib(10));
    request.devices = {DeviceName(0U)};
    (void)story.ask(request);
    run(1, gib(8));
  }

  std::string move(std::uint32_t to, std::uint64_t token = 73) {
    return move_to({DeviceName(to)}, token);
  }
  std::string move_to(std::vector<DeviceName> to, std::uint64_t token = 73) {
    return story.feed(Migrate{{token}, {{1000}}, {1}, {std::move(to)}});
  }
  /// Another user holds so much of a device.
  void hold(std::uint32_t on, Bytes bytes) {
    Request request = S::budget(bytes);
    request.devices = {DeviceName(on)};
    (void)story.ask(request);
    (void)story.claim(story.handles);
    (void)story.second();
  }
  /// It has left, and the driver says so.
  std::string left() {
    std::string reported = transfer_done();
    story.use(1, {});
    return reported + seconds_pass(2);
  }
  std::string came_back(std::size_t on) {
    story.use(1, gib(8), on);
    return transfer_done();
  }
  DeviceId place() const { return lease().parts.front().device; }
};

TEST_F(Moving, ItLeavesIsPutThereAndReturnsThere) {
  EXPECT_EQ(move(1), "move out 1; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty());
  EXPECT_EQ(left(), "suspend 1; move back 1; ") << "nobody is answered before it runs";
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)}));
  EXPECT_EQ(story.look(0).charged, Bytes{});
  EXPECT_EQ(story.look(1).charged, gib(10));
  EXPECT_EQ(came_back(1), "resume 1; held 1; ");
  EXPECT_EQ(place(), device(1));
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)transfer_done();
  story.use(1, {}, 1);
  (void)story.feed(Resume{{72}, {{1000}}, {1}});
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty()) << "that is where it was";
}

// Two devices changed for one another, and a process of it on one of them that was not moved.
TEST_F(Moving, WhatStayedIsInTheWayOfWhatReturnsThere) {
  story.use(1, {});
  (void)story.end(1);
  Request request = S::budget(gib(12));
  request.devices = {DeviceName(0U), DeviceName(1U)};
  (void)story.ask(request);
  run(2, gib(12));
  (void)story.feed(Join{{75}, {{1000}}, {0, 2}, S::process(20)});
  (void)story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U), DeviceName(0U)}}});
  story.use(20, gib(12), 1);
  (void)story.second();
  (void)transfer_done();
  story.use(2, {}, 0);
  EXPECT_THAT(seconds_pass(60), Not(HasSubstr("move back"))) << "12 GiB of 16 are taken there";
  story.use(20, {}, 1);
  EXPECT_THAT(seconds_pass(2), HasSubstr("move back 2"));
}

// One that was started while it was on its way took memory where it is sent; another is there
// still.
TEST_F(Moving, WhatLeftFromThereComesBackThereBesideTheRest) {
  (void)story.feed(Join{{75}, {{1000}}, {0, 1}, S::process(20)});
  (void)move(1);
  story.use(1, {});
  story.use(20, gib(7), 1);
  const Transfer out = story.last_move().value();
  TransferResult result;
  result.left = {{device(0), gib(8)}, {device(1), gib(2)}};
  (void)story.feed(TransferDone{out.lease, out.number, result});
  EXPECT_THAT(seconds_pass(60), Not(HasSubstr("move back"))) << "8 and 2 are not 9 GiB";
  story.use(20, gib(6), 1);
  EXPECT_THAT(seconds_pass(2), HasSubstr("move back 1; "));
}

// Room there is its own, and only then a sample tells how little that device can ever hold.
TEST_F(Moving, WhatTurnsOutNeverToFitThereReturnsWhereItWas) {
  story.use(1, {});
  (void)story.end(1);
  Request request = S::whole();
  request.devices = {DeviceName(0U)};
  (void)story.ask(request);
  run(2, gib(15));
  (void)story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U)}}});
  EXPECT_EQ(StoryTest::left(gib(15)), "suspend 2; ");
  story.use(2, {});
  story.hardware[1].figures.driver_reserved = gib(2);
  EXPECT_EQ(story.sample(), "refuse not_moved; ");
  EXPECT_THAT(story.refusal(), HasSubstr("it has 15.0 GiB by now, and GPU 1 has 14.0 GiB"));
  EXPECT_EQ(lease(2).parts.front().device, device(0));
  EXPECT_EQ(story.look(1).charged, Bytes{});
  EXPECT_EQ(seconds_pass(2), "move back 2; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty()) << "that is where it was";
}

// It was sent there while it was away, and has waited for room since.
TEST_F(Moving, WhatNeverFitsByNowReturnsAlsoWhereItHasYetToBegin) {
  story.use(1, {});
  (void)story.end(1);
  for (const std::uint32_t index : {0U, 1U}) {
    Request request = S::whole();
    request.devices = {DeviceName(index)};
    (void)story.ask(request);
  }
  run(2, gib(15));
  run(3, {});
  story.use(3, gib(14), 1);
  (void)story.feed(Suspend{{71}, {{1000}}, {2}});
  (void)StoryTest::left(gib(15));
  story.use(2, {});
  EXPECT_EQ(story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U)}}}), "suspended 2; ");
  EXPECT_EQ(story.feed(Resume{{72}, {{1000}}, {2}}), "");
  EXPECT_EQ(seconds_pass(2), "") << "its place is taken";
  story.hardware[1].figures.driver_reserved = gib(2);
  EXPECT_EQ(story.sample(), "refuse not_moved; ");
  EXPECT_THAT(story.refusal(), HasSubstr("it has 15.0 GiB by now, and GPU 1 has 14.0 GiB"));
  EXPECT_EQ(lease(2).parts.front().device, device(0));
  EXPECT_EQ(seconds_pass(2), "move back 2; ");
}

TEST_F(Moving, WhatIsPausedStaysPausedAndReturnsThere) {
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)left();
  EXPECT_EQ(move(1), "suspended 1; ");
  EXPECT_EQ(seconds_pass(5), "");
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
  (void)story.feed(Resume{{72}, {{1000}}, {1}});
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)}));
}

TEST_F(Moving, WhoPausesItOnTheWayIsHeard) {
  (void)move(1);
  EXPECT_EQ(story.feed(Suspend{{71}, {{1000}}, {1}}), "");
  EXPECT_EQ(transfer_done(), "suspend 1; suspended 1; suspended 1; ");
  EXPECT_EQ(place(), device(1));
  EXPECT_FALSE(lease().flags.resuming);
}

TEST_F(Moving, BackAndForthWhileItIsAwayComesToNothing) {
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)left();
  (void)move(1);
  (void)move(0);
  (void)story.feed(Resume{{72}, {{1000}}, {1}});
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty());
}

TEST_F(Moving, WhatCannotLeaveRunsOnWhereItIs) {
  (void)move(1);
  EXPECT_EQ(transfer_done(Outcome::kUndone, "it has managed memory"), "refuse not_moved; ");
  EXPECT_EQ(place(), device(0));
  EXPECT_EQ(seconds_pass(5), "");
  EXPECT_EQ(story.feed(Suspend{{71}, {{1000}}, {1}}), "move out 1; ");
  (void)left();
  EXPECT_EQ(place(), device(0)) << "where it was to go is forgotten";
}

TEST_F(Moving, WhatTheDriverRefusesToBringThereReturnsWhereItWas) {
  (void)move(1);
  (void)left();
  EXPECT_EQ(transfer_done(Outcome::kUndone, "process 1: invalid argument"), "refuse not_moved; ");
  EXPECT_THAT(story.refusal(), HasSubstr("invalid argument"));
  EXPECT_EQ(place(), device(0));
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty());
  EXPECT_EQ(came_back(0), "resume 1; ");
}

TEST_F(Moving, WhatHasGrownTooLargeForThatDeviceReturnsWhereItWas) {
  (void)move(1);
  story.hardware[1].figures.driver_reserved = gib(9);
  (void)story.second();
  EXPECT_THAT(transfer_done(), AllOf(HasSubstr("suspend 1"), HasSubstr("refuse not_moved")));
  EXPECT_THAT(story.refusal(), HasSubstr("it has 8.0 GiB by now, and GPU 1 has 7.0 GiB"));
  EXPECT_EQ(place(), device(0));
  story.use(1, {});
  EXPECT_THAT(seconds_pass(2), HasSubstr("move back 1"));
}

TEST_F(Moving, WhoTakesTheRoomMeanwhileIsWaitedFor) {
  (void)move(1);
  hold(1, gib(12));  // Before its room there is its own.
  (void)transfer_done();
  story.use(1, {});
  EXPECT_EQ(seconds_pass(5), "");
  EXPECT_TRUE(lease().flags.resuming);
  (void)story.end(2);
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
}

TEST_F(Moving, WhereItWouldWaitItDoesNotGoUnlessItIsPaused) {
  hold(1, gib(12));
  EXPECT_EQ(move(1), "refuse busy; ");
  EXPECT_THAT(story.refusal(), HasSubstr("GPU 1 has 4.0 GiB left, and lease 1 needs 10.0 GiB"));
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)left();
  EXPECT_EQ(move(1), "suspended 1; ");
}

TEST_F(Moving, WhatMakesNoSenseIsToldWhy) {
  EXPECT_EQ(move(0), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("is there already"));
  EXPECT_EQ(move(2), "refuse invalid; ");
  EXPECT_THAT(story.refusal(),
              HasSubstr("GPU 2 (Another) is of another model than GPU 0 (Simulated)"));
  EXPECT_EQ(move(7), "refuse no_device; ");
  EXPECT_EQ(move_to({DeviceName(0U), DeviceName(1U)}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("name as many"));
  EXPECT_EQ(move_to({DeviceName(1U), DeviceName(1U)}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("named twice"));
  (void)story.ask(S::budget(gib(1)));
  EXPECT_EQ(story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U)}}}), "refuse wrong_state; ");
  (void)move(1);
  EXPECT_EQ(move(1, 74), "refuse wrong_state; ");
  EXPECT_THAT(story.refusal(), HasSubstr("on the way"));
}

TEST_F(Moving, AnOldDriverCannot) {
  const Instant at = story.now.instant;
  (void)story.feed(Sampled{{at, at, true, "575.57", "", story.hardware}});
  EXPECT_EQ(move(1), "refuse not_supported; ");
  EXPECT_THAT(story.refusal(), HasSubstr("driver 575.57"));
}

TEST_F(Moving, OneThatRunsInTurnsIsNotMoved) {
  Request slice = S::budget(gib(4));
  slice.share = Share::kSlice;
  slice.devices = {DeviceName(1U)};
  (void)story.ask(slice);
  (void)story.claim(2);
  EXPECT_EQ(story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(0U)}}}), "refuse not_supported; ");
}

TEST_F(Moving, AWholeDeviceIsExchangedForAnother) {
  story.use(1, {});
  (void)story.end(1);
  Request whole = S::whole();
  whole.devices = {DeviceName(0U)};
  (void)story.ask(whole);
  run(2, gib(8));
  const auto move_2 = [&] { return story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U)}}}); };
  hold(1, gib(1));
  EXPECT_EQ(move_2(), "refuse busy; ");
  EXPECT_THAT(story.refusal(), HasSubstr("needs it for itself"));
  (void)story.end(3);
  EXPECT_EQ(move_2(), "move out 2; ");
  (void)transfer_done();
  story.use(2, {});
  EXPECT_THAT(seconds_pass(2), HasSubstr("move back 2; "));
  EXPECT_EQ(lease(2).parts.front().device, device(1));
  EXPECT_EQ(lease(2).parts.front().granted, gib(16));
}

TEST_F(Moving, TwoPartsChangePlaces) {
  Request two = S::budget(gib(2));
  two.devices = {DeviceName(0U), DeviceName(1U)};
  (void)story.ask(two);
  (void)story.claim(2);
  story.use(2, gib(1), 0);
  (void)story.second();
  EXPECT_EQ(story.feed(Migrate{{73}, {{1000}}, {2}, {{DeviceName(1U), DeviceName(0U)}}}),
            "move out 2; ");
  (void)transfer_done();
  story.use(2, {}, 0);
  (void)seconds_pass(2);
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)},
                          DevicePair{.from = device(1), .to = device(0)}));
}

TEST_F(Moving, WhatItLeftBehindIsAnUnmanagedProcesssFromThenOn) {
  (void)move(1);
  (void)transfer_done();
  story.use(1, gib(3));  // Not all of it could be moved, or a new process has come.
  (void)story.second();
  EXPECT_EQ(story.look(0).charged, Bytes{});
  EXPECT_EQ(story.look(0).unmanaged, gib(3));
}

// What survives.

TEST_F(Moving, BeforeItHasLeftADaemonThatStartsAnewBringsItBackToWhereItWas) {
  (void)move(1);
  story.restart();
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_THAT(story.last_move()->pairs, IsEmpty());
  EXPECT_EQ(place(), device(0));
}

// A daemon that has just started knows of no device how much it has.
TEST_F(Moving, WhatWaitsForRoomThereWaitsOnWhenTheDaemonStartsAnew) {
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)left();
  hold(1, gib(12));
  EXPECT_EQ(move(1), "suspended 1; ");
  EXPECT_EQ(story.feed(Resume{{72}, {{1000}}, {1}}), "");
  story.restart();
  EXPECT_EQ(place(), device(1));
  EXPECT_EQ(seconds_pass(2), "");
  EXPECT_EQ(place(), device(1)) << "it fits there when the other has gone";
}

TEST_F(Moving, AfterThatItGoesOnThere) {
  (void)move(1);
  (void)transfer_done();
  story.use(1, {});
  story.restart();
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)}));
  story.restart();
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)}));
}

TEST_F(Moving, WhatIsThereAlreadyWhenTheDaemonStartsAnewNeedsNoMoreRoom) {
  (void)move(1);
  EXPECT_THAT(left(), HasSubstr("move back 1; "));
  story.use(1, gib(8), 1);  // And nobody was told.
  story.restart();
  EXPECT_EQ(seconds_pass(3), "move back 1; ") << "8 GiB are free, and it may have had 10";
  EXPECT_EQ(transfer_done(), "resume 1; ");
}

TEST_F(Moving, WhatIsThereOfOneProcessIsNotTakenForWhatOthersHad) {
  (void)story.feed(Join{{75}, {{1000}}, {0, 1}, S::process(20)});
  (void)move(1);
  EXPECT_THAT(left(), HasSubstr("move back 1; "));
  story.use(20, gib(8), 1);
  story.restart();
  EXPECT_EQ(seconds_pass(60), "") << "process 1 is on no GPU, and what it had may be to come";
  story.use(1, gib(1), 1);
  EXPECT_EQ(seconds_pass(3), "move back 1; ");
}

// Nobody had looked since its budget fell, and so it might have had all of it; the driver told when
// it was locked, and that is written down.
TEST_F(Moving, WhatItHadIsKnownWhenTheDaemonStartsAnew) {
  story.hardware[1].figures.driver_reserved = gib(7);
  (void)story.second();
  (void)story.feed(Resize{{80}, {{1000}}, {1}, {Share::kBudget, gib(8)}});
  EXPECT_EQ(move(1), "move out 1; ");
  (void)StoryTest::left(gib(8));
  EXPECT_EQ(place(), device(1));
  story.use(1, {});
  story.restart();
  EXPECT_EQ(seconds_pass(3), "move back 1; ") << "it had 8 GiB, and 9 are there";
  EXPECT_EQ(came_back(1), "resume 1; ");
}

TEST_F(Moving, ASnapshotKeepsWhereItsMemoryWas) {
  (void)move(1);
  (void)transfer_done();
  story.use(1, {});
  Coordinator fresh({.order = Order::kFifo, .reserve = {}});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    EXPECT_TRUE(fresh.apply(record).ok());
  }
  story.coordinator = std::move(fresh);
  (void)story.feed(Recovered{});
  EXPECT_THAT(seconds_pass(3), HasSubstr("move back 1; "));
  EXPECT_THAT(story.last_move()->pairs,
              ElementsAre(DevicePair{.from = device(0), .to = device(1)}));
}

}  // namespace
}  // namespace berth::core
