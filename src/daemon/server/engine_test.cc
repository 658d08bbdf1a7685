// SPDX-License-Identifier: Apache-2.0
// Each test is one story: what happens, and what the engine does, in order.
#include "server/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/engine_story_for_test.h"

namespace berth::server {
namespace {

using S = EngineStory;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::size_t count(const std::vector<std::string>& trace, const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count(trace, line));
}

TEST(Engine, GrantIsWrittenBeforeItIsTold) {
  S story;
  story.submit(1, S::budget(gib(8)));
  EXPECT_THAT(story.done(), ElementsAre("append request_queued lease_granted", "item 1 lease 1",
                                        "item 1 granted 1 last"));
}

TEST(Engine, WaitingRequesterHearsTheGrantOfItsOwnStream) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  (void)story.done();
  story.submit(2, S::budget(gib(16)));
  EXPECT_THAT(story.done(),
              ElementsAre("append request_queued", "item 2 lease 2", "item 2 waiting"));
  story.exit(1, 3);
  story.sample();
  const auto trace = story.done();
  EXPECT_THAT(trace, Contains("item 2 granted 2 last"));
  EXPECT_THAT(trace, Contains(HasSubstr("lease_granted")));
}

TEST(Engine, AClientThatSawTheLastProgramEndMayReleaseItsLeaseAtOnce) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 2);
  (void)story.done();
  const core::Release release{.token = {}, .actor = S::kActor, .lease = {1}};
  story.engine.ask(story.now, {3}, release);
  EXPECT_THAT(story.done(), Contains("answer 3 running"));
  story.world.gone.insert(S::process(101));
  story.engine.ask(story.now, {4}, release);
  EXPECT_THAT(story.done(), Contains(HasSubstr("append command_ended")));
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
}

TEST(Engine, PlainRequestIsAnsweredOnceAndItsConnectionIsTheRequesterAllTheSame) {
  S story;
  story.submit(1, S::budget(gib(16)), Engine::Listen::kAnswer);
  story.claim(1, 1);
  (void)story.done();
  story.submit(2, S::budget(gib(16)), Engine::Listen::kAnswer);
  EXPECT_THAT(story.done(), ElementsAre("append request_queued", "answer 2 waiting 2"));
  story.engine.on_disconnect(story.now, {2});
  EXPECT_EQ(story.state(2), LeaseState::kEnded);
}

TEST(Engine, RequesterThatHangsUpWithdrawsWhatWaitsAndWhatIsOnOffer) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.submit(2, S::budget(gib(16)));
  story.engine.on_disconnect(story.now, {2});
  EXPECT_EQ(story.state(2), LeaseState::kEnded);
  story.engine.on_disconnect(story.now, {1});
  EXPECT_EQ(story.state(1), LeaseState::kEnded) << "granted, and not taken up";
}

TEST(Engine, ClaimedLeaseOutlivesItsConnection) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  story.engine.on_disconnect(story.now, {1});
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
}

TEST(Engine, OldConnectionSpeaksNoMoreForARequestThatReconnected) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(16)));
  story.engine.ask(story.now, {3}, core::Reconnect{{}, S::kActor, S::handle(2)},
                   Engine::Listen::kStream);
  story.engine.on_disconnect(story.now, {2});
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
  (void)story.done();
  story.exit(1, 4);
  story.sample();
  EXPECT_THAT(story.done(), Contains("item 3 granted 2 last"));
  story.engine.on_disconnect(story.now, {3});
  EXPECT_EQ(story.state(2), LeaseState::kEnded);
}

TEST(Engine, ReservationNeedsNoConnection) {
  S story;
  Request request = S::budget(gib(8));
  request.ttl = minutes(10);
  story.submit(1, request, Engine::Listen::kAnswer);
  story.engine.on_disconnect(story.now, {1});
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
}

TEST(Engine, ProcessThatIsGoneBeforeItCanBeWatchedHasEnded) {
  S story;
  story.world.gone.insert(S::process(101));
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  EXPECT_THAT(story.done(), Contains("watch 101"));
  story.pass(seconds(5));
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
}

TEST(Engine, GrowthWhoseRequesterHangsUpIsDropped) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(8)));
  story.claim(2, 2);
  (void)story.done();
  story.engine.ask(story.now, {3},
                   core::Resize{{}, S::kActor, {1}, {Share::kBudget, gib(10), minutes(1)}});
  EXPECT_THAT(story.done(), Not(Contains(HasSubstr("answer 3"))));
  story.engine.on_disconnect(story.now, {3});
  story.exit(2, 4);
  story.sample();
  EXPECT_THAT(story.done(), Not(Contains(HasSubstr("lease_resized"))));
}

TEST(Engine, AnswerToADisconnectedClientIsPassedOver) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(8)));
  story.claim(2, 2);
  story.engine.ask(story.now, {3},
                   core::Resize{{}, S::kActor, {1}, {Share::kBudget, gib(10), minutes(1)}});
  story.engine.on_disconnect(story.now, {3});
  (void)story.done();
  story.pass(minutes(2));
  EXPECT_THAT(story.done(), Not(Contains(HasSubstr("answer"))));
}

// The journal fails.

TEST(Engine, NewRequestOnAFullDiskIsToldSoAndEnds) {
  S story;
  story.world.full = true;
  story.submit(1, S::budget(gib(8)));
  const auto trace = story.done();
  EXPECT_THAT(trace, Contains("answer 1 disk_full"));
  EXPECT_THAT(trace, Not(Contains(HasSubstr("item"))));
  EXPECT_THAT(story.outbox.last_message,
              AllOf(HasSubstr("/state/leases.db"), HasSubstr("no space left")));
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  story.submit(2, S::budget(gib(8)));
  EXPECT_THAT(story.done(), ElementsAre("answer 2 disk_full"));
}

TEST(Engine, GrantThatCannotBeWrittenIsTakenBackAndGivenWhenItCan) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(16)));
  story.world.full = true;
  (void)story.done();
  story.exit(1, 3);
  story.sample();
  EXPECT_EQ(story.state(1), LeaseState::kEnded) << "releasing works on a full disk";
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
  EXPECT_THAT(story.done(), AllOf(Contains("answer 3 held 1"), Not(Contains(HasSubstr("item")))));
  story.world.full = false;
  story.pass(seconds(2));
  EXPECT_THAT(story.done(), Contains("item 2 granted 2 last"));
}

// A lease that is told that this was refused has the budget that it had, now and when the disk has
// room.
TEST(Engine, ResizeThatCannotBeWrittenIsRefusedAndTakesNoEffect) {
  for (const Bytes vram : {gib(8), gib(2)}) {
    S story;
    story.submit(1, S::budget(gib(4)));
    story.claim(1, 1);
    story.world.full = true;
    (void)story.done();
    const auto budget = [&] {
      return story.engine.coordinator().lease({1}, story.now)->parts[0].granted;
    };
    // The first finds out that the disk is full, the second knows.
    for (const std::uint64_t connection : {2U, 3U}) {
      story.engine.ask(story.now, {connection},
                       core::Resize{{}, S::kActor, {1}, {Share::kBudget, vram}});
      EXPECT_THAT(story.done(), Contains("answer " + std::to_string(connection) + " disk_full"));
      EXPECT_THAT(story.outbox.last_message, HasSubstr("/state/leases.db"));
      EXPECT_EQ(budget(), gib(4));
      EXPECT_EQ(story.world.held_to.at(S::handle(1)), gib(4));
    }
    story.world.full = false;
    story.pass(seconds(2));
    EXPECT_FALSE(story.engine.journal_behind());
    EXPECT_EQ(budget(), gib(4));
    EXPECT_EQ(story.world.held_to.at(S::handle(1)), gib(4));
    core::Coordinator next({.order = Order::kFifo});
    for (const Record& record : story.world.written) EXPECT_TRUE(next.apply(record).ok());
    (void)next.step(story.now, core::Recovered{});
    EXPECT_EQ(next.lease({1}, story.now)->parts[0].granted, gib(4)) << "as a restart finds it";
  }
}

TEST(Engine, GrowthThatWaitedAndCannotBeWrittenIsTakenBack) {
  S story;
  for (const std::uint64_t n : {1U, 2U}) {
    story.submit(n, S::budget(gib(8)));
    story.claim(n, n);
  }
  story.engine.ask(story.now, {3},
                   core::Resize{{}, S::kActor, {1}, {Share::kBudget, gib(12), minutes(10)}});
  story.world.full = true;
  (void)story.done();
  story.exit(2, 4);
  story.sample();
  EXPECT_THAT(story.done(), Not(Contains("answer 3 held 1")));
  EXPECT_EQ(story.engine.coordinator().lease({1}, story.now)->parts[0].granted, gib(8));
}

TEST(Engine, ClaimThatCouldNotBeWrittenIsRefusedWheneverItIsRepeated) {
  S story;
  story.submit(1, S::budget(gib(4)));
  story.world.full = true;
  (void)story.done();
  story.claim(1, 2);
  EXPECT_THAT(story.done(), Contains("answer 2 disk_full"));
  story.claim(1, 3);
  EXPECT_THAT(story.done(), Contains("answer 3 disk_full"));
}

TEST(Engine, JournalIsTriedAgainEachSecond) {
  S story;
  story.world.full = true;
  story.submit(1, S::budget(gib(8)));
  const std::uint64_t before = story.world.appends;
  story.pass(seconds(10));
  const std::uint64_t tries = story.world.appends - before;
  EXPECT_GE(tries, 10U);
  EXPECT_LE(tries, 21U) << "beside its own second only with what happens";
  EXPECT_TRUE(story.engine.journal_behind());
  story.world.full = false;
  story.pass(seconds(1));
  EXPECT_FALSE(story.engine.journal_behind());
}

/// A day in a small life: two leases side by side, one that waits, a hang-up, a growth, an end.
void live(S& story) {
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(8)));
  story.claim(2, 2);
  story.submit(3, S::budget(gib(6)));
  story.submit(4, S::budget(gib(6)), Engine::Listen::kAnswer);
  story.engine.on_disconnect(story.now, {4});
  story.pass(seconds(1));
  story.exit(1, 11);
  story.sample();
  story.claim(3, 3);
  story.pass(seconds(1));
  story.engine.ask(story.now, {12}, core::Resize{{}, S::kActor, {2}, {Share::kBudget, gib(9)}});
  story.submit(5, S::budget(gib(1)));
  story.exit(2, 13);
  story.sample();
  story.pass(seconds(2));
}

TEST(Engine, WhicheverAppendFailsNothingIsToldThatWasNotWritten) {
  S healthy;
  const std::uint64_t before = healthy.world.appends;
  live(healthy);
  const std::uint64_t appends = healthy.world.appends - before;
  EXPECT_GT(appends, 10U) << "the story writes something";
  for (std::uint64_t n = 1; n <= appends; ++n) {
    S story;
    story.world.fail_append = before + n;
    live(story);
    for (const LeaseId id : story.outbox.told_held) {
      EXPECT_TRUE(story.world.granted.contains(id)) << "append " << n << ", lease " << id.value;
    }
    EXPECT_FALSE(story.engine.journal_behind()) << "append " << n;

    core::Coordinator recovered({});
    for (const Record& record : story.world.written) {
      EXPECT_TRUE(recovered.apply(record).ok()) << "append " << n;
    }
    (void)recovered.step(story.now, core::Recovered{});
    const auto now_live = story.engine.coordinator().leases(story.now);
    const auto then_live = recovered.leases(story.now);
    ASSERT_EQ(now_live.size(), then_live.size()) << "append " << n;
    for (std::size_t i = 0; i < now_live.size(); ++i) {
      EXPECT_EQ(now_live[i].id, then_live[i].id) << "append " << n;
      EXPECT_EQ(now_live[i].state, then_live[i].state) << "append " << n;
    }
  }
}

// Recovery and snapshots.

TEST(Engine, RestartedEngineKeepsHoldersAndQueue) {
  S before;
  before.submit(1, S::budget(gib(16)));
  before.claim(1, 1);
  before.submit(2, S::budget(gib(16)));

  S after;
  Engine engine({}, after.world, after.outbox);
  engine.recover(after.now, before.world.written, {});
  EXPECT_EQ(engine.coordinator().lease({1}, after.now)->state, LeaseState::kHeld);
  EXPECT_EQ(engine.coordinator().lease({2}, after.now)->state, LeaseState::kWaiting);
  EXPECT_THAT(after.done(), AllOf(Contains("watch 101"), Contains("snapshot")));
}

TEST(Engine, RecordThatDoesNotFitIsSaidAloudAndLeftOut) {
  S story;
  Engine engine({}, story.world, story.outbox);
  engine.recover(story.now, {{.sequence = 7, .fact = LeaseEnded{.id = {99}}}}, {});
  EXPECT_THAT(story.done(), Contains(HasSubstr("say record 7 (lease_ended) is set aside")));
}

TEST(Engine, SnapshotIsWrittenEachTenThousandRecords) {
  S story;
  for (std::uint64_t n = 1; n <= 2'100; ++n) {  // At least five records each.
    story.submit(n, S::budget(gib(8)));
    story.claim(n, n);
    story.exit(n, n);
    story.sample();
  }
  EXPECT_EQ(count(story.done(), "snapshot"), 1U);
}

// News.

TEST(Engine, FollowerHearsAllOfALeaseUpToItsEnd) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  (void)story.done();
  story.engine.follow(story.now, {2}, {1});
  story.engine.ask(story.now, {3}, core::Resize{{}, S::kActor, {1}, {Share::kBudget, gib(4)}});
  story.exit(1, 4);
  story.sample();
  std::vector<std::string> heard;
  for (const std::string& line : story.done()) {
    if (line.starts_with("item 2 ")) heard.push_back(line);
  }
  EXPECT_THAT(heard, ElementsAre("item 2 lease 1", "item 2 resized 1", "item 2 ended 1 last"));
}

TEST(Engine, FollowerOfWhatHasEndedHearsThatAndNoMore) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.engine.on_disconnect(story.now, {1});
  (void)story.done();
  story.engine.follow(story.now, {2}, {1});
  EXPECT_THAT(story.done(), ElementsAre("item 2 lease 1", "item 2 ended 1 last"));
  story.engine.follow(story.now, {2}, {99});
  EXPECT_THAT(story.done(), ElementsAre("answer 2 not_found"));
}

TEST(Engine, WaitingLineIsToldAgainOnlyIfItReadsDifferently) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(16)));
  EXPECT_EQ(count(story.done(), "item 2 waiting"), 1U);
  story.pass(seconds(30));
  EXPECT_EQ(count(story.done(), "item 2 waiting"), 0U) << "nothing changed";
}

TEST(Engine, WaitingLineIsToldAtMostOnceASecond) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  for (std::uint64_t n = 2; n <= 40; ++n) story.submit(n, S::budget(gib(16)));
  (void)story.done();
  for (std::uint64_t n = 2; n <= 31; ++n) {  // Number 40 moves up ten times a second.
    story.engine.on_disconnect(story.now, {n});
    story.pass(milliseconds(100));
  }
  const std::size_t told = count(story.done(), "item 40 waiting");
  EXPECT_GE(told, 2U);
  EXPECT_LE(told, 4U);
}

TEST(Engine, LineOfAClientThatDoesNotListenIsNotPiledUp) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(16)));
  story.submit(3, S::budget(gib(16)));
  story.outbox.stuck.insert({3});
  story.engine.on_disconnect(story.now, {2});
  (void)story.done();
  story.pass(seconds(5));
  EXPECT_EQ(count(story.done(), "item 3 waiting"), 0U);
  story.outbox.stuck.clear();
  story.pass(seconds(2));
  EXPECT_EQ(count(story.done(), "item 3 waiting"), 1U);
}

TEST(Engine, GrantDoesNotWaitForTheLinesOfTenThousand) {
  S story;
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  for (std::uint64_t n = 2; n <= 1'000; ++n) story.submit(n, S::budget(gib(16)));
  story.exit(1, 5'000);
  (void)story.done();
  story.sample();
  const auto trace = story.done();
  EXPECT_THAT(trace, Contains("item 2 granted 2 last"));
  EXPECT_LE(trace.size(), 10U) << "the others hear of it later";
  story.engine.on_timer(story.now);
  story.pass(milliseconds(1));
  EXPECT_LE(story.done().size(), EventStreams::kSlice) << "and a few at a time";
}

TEST(Engine, FitIsToldAgainWhenItChanges) {
  S story;
  story.submit(1, S::budget(gib(12)));
  story.claim(1, 1);
  (void)story.done();
  story.engine.follow_fit(story.now, {2}, S::kActor, S::budget(gib(8)));
  EXPECT_THAT(story.done(), ElementsAre("item 2 fit"));
  story.pass(seconds(5));
  EXPECT_THAT(story.done(), Not(Contains("item 2 fit")));
  story.exit(1, 3);
  story.sample();
  story.pass(seconds(1));
  EXPECT_EQ(count(story.done(), "item 2 fit"), 1U);
}

TEST(Engine, FitOfWhatNeverFitsIsRefusedAtOnce) {
  S story;
  story.engine.follow_fit(story.now, {2}, S::kActor, S::budget(gib(64)));
  EXPECT_THAT(story.done(), ElementsAre("answer 2 never_fits"));
}

// The probe.

TEST(Engine, ProbeIsAskedEachSecondWhileThereIsALeaseAndSeldomWithout) {
  S story;
  story.pass(minutes(5));  // The look at start, and what came with it, is over.
  int before = story.world.questions;
  story.pass(minutes(5));
  EXPECT_LE(story.world.questions - before, 11);
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  before = story.world.questions;
  story.pass(seconds(60));
  EXPECT_GE(story.world.questions - before, 59);
}

TEST(Engine, ProbeThatFailedIsAskedAgain) {
  S story;
  story.submit(1, S::budget(gib(8)));
  story.claim(1, 1);
  story.now.instant = story.now.instant + seconds(2);
  story.engine.on_timer(story.now);
  const int before = story.world.questions;
  story.now.instant = story.now.instant + minutes(1);
  story.engine.on_timer(story.now);
  EXPECT_EQ(story.world.questions, before) << "one question at a time, however late the answer";
  story.engine.probe_failed(story.now);
  story.now.instant = story.now.instant + seconds(2);
  story.engine.on_timer(story.now);
  EXPECT_EQ(story.world.questions, before + 1);
}

}  // namespace
}  // namespace berth::server
