// SPDX-License-Identifier: Apache-2.0
// State that survives a restart, a new configuration, a full disk and another boot.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

std::string effects_of_watch(const std::vector<Effect>& effects) {
  std::string out;
  for (const Effect& effect : effects) {
    if (const auto* watch = std::get_if<Watch>(&effect)) {
      out += "watch " + std::to_string(watch->process.pid) + "; ";
    }
  }
  return out;
}

TEST(Recovery, ARestartLosesNoLeaseAndNoQueuePlace) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(8)));
  (void)story.ask(S::budget(gib(9)));
  story.restart();
  EXPECT_EQ(story.records_refused, 0);
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{2}, {3}}));
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(10));
}

TEST(Recovery, ProcessesOfLeasesAreWatchedAgain) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  story.restart();
  EXPECT_EQ(effects_of_watch(story.effects), "watch 1; watch 1; ");  // Before, and after.
  (void)story.feed(ProcessEnded{S::process(1)});
  (void)story.sample();
  EXPECT_NE(story.state(1), LeaseState::kHeld);
}

TEST(Recovery, WaitersAreOfferedNothingUntilTheyAreBackAndNobodyTakesTheirTurn) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));  // 2
  (void)story.ask(S::budget(gib(10)));  // 3
  story.restart();
  EXPECT_EQ(story.end(1), "held 1; end 1; ");  // 2 has not come back yet.
  EXPECT_EQ(story.feed(Reconnect{{80}, {{1000}}, {0, 3}}), "waiting 3; ");
  EXPECT_EQ(story.feed(Reconnect{{81}, {{1000}}, {0, 2}}), "held 2; ");
}

TEST(Recovery, AWaiterThatDoesNotComeBackLosesItsTurnAndKeepsItsPlace) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  (void)story.ask(S::budget(gib(10)));
  story.restart();
  (void)story.feed(Reconnect{{80}, {{1000}}, {0, 3}});
  EXPECT_EQ(story.end(1), "held 1; end 1; ");
  EXPECT_EQ(story.pass(seconds(5)), "grant 3; ");
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{2}}));
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kNotReconnected);
  EXPECT_EQ(story.feed(Reconnect{{80}, {{1000}}, {0, 2}}), "waiting 2; ");
  EXPECT_FALSE(story.coordinator.lease({2}, story.now)->flags.parked);
}

TEST(Recovery, AWaiterWithoutAProcessToWatchIsForgottenWhenItStaysAway) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.feed(Submit{{50}, {{1000}}, {0, 50}, std::nullopt, S::budget(gib(10))});
  (void)story.ask(S::budget(gib(10)));
  story.restart();
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1002)}), "end 3; ");  // A watched requester died.
  EXPECT_EQ(story.pass(seconds(5)), "end 2; ");
}

TEST(Recovery, AnAnswerThatWasLostIsGivenAgain) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  story.restart();
  EXPECT_EQ(story.feed(Reconnect{{80}, {{1000}}, {0, 1}}), "held 1; ");
  EXPECT_EQ(story.claim(1), "held 1; ");
  EXPECT_EQ(story.claim(1), "held 1; ");  // The same claim again.
  EXPECT_EQ(story.feed(Claim{{9}, {{1000}}, {0, 1}, {S::process(2)}}), "refuse wrong_state; ");
  (void)story.end(1);
  EXPECT_EQ(story.feed(Reconnect{{82}, {{1000}}, {0, 1}}), "ended 1; ");
}

TEST(Recovery, TheSameLeasesUnderEveryPolicy) {
  for (const Order order : {Order::kFifo, Order::kPriority, Order::kFair, Order::kValue}) {
    Story story({.order = Order::kFifo, .reserve = {}});
    (void)story.ask(S::budget(gib(10)));
    (void)story.claim(1);
    Request urgent = S::budget(gib(8));
    urgent.priority = Priority::kUrgent;
    (void)story.ask(S::budget(gib(8)));
    (void)story.ask(urgent);
    story.restart({.order = order});
    EXPECT_EQ(story.records_refused, 0);
    EXPECT_EQ(story.state(1), LeaseState::kHeld);
    EXPECT_EQ(story.coordinator.queue(story.now).size(), 2u);
  }
}

TEST(Recovery, AnotherBootEndsWhatTheOldOneHeld) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  story.restart({.order = Order::kFifo}, false);
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kLost);
  EXPECT_EQ(story.state(2), LeaseState::kEnded);
  (void)story.sample();
  EXPECT_EQ(story.ask(S::budget(gib(15))), "held 3; ");
}

TEST(Recovery, ASnapshotRebuildsEverything) {
  Story story({.order = Order::kFair, .reserve = {}});
  Request labelled = S::budget(gib(6));
  labelled.name = "train";
  labelled.labels = {{"team", "vision"}};
  labelled.eta = minutes(5);
  (void)story.ask(labelled);
  (void)story.claim(1);
  Request reservation = S::budget(gib(2));
  reservation.ttl = hours(2);
  (void)story.ask(reservation);
  (void)story.ask(S::budget(gib(12)));
  (void)story.ask(S::budget(gib(1)));  // Passes 3.
  (void)story.claim(4);
  (void)story.end(4);
  (void)story.pass(minutes(1));
  (void)story.feed(Release{{9}, {{1000}}, {1}, {.detach = true}});

  const std::vector<Record> snapshot = story.coordinator.snapshot(story.now);
  Coordinator fresh({.order = Order::kFair, .reserve = {}});
  for (const Record& record : snapshot) EXPECT_TRUE(fresh.apply(record).ok());
  EXPECT_EQ(fresh.last_sequence(), story.coordinator.last_sequence());
  (void)fresh.step(story.now, Recovered{});
  fresh.check_everything();
  const auto before = story.coordinator.leases(story.now);
  const auto after = fresh.leases(story.now);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].id, after[i].id);
    EXPECT_EQ(before[i].handle, after[i].handle);
    EXPECT_EQ(before[i].state, after[i].state);
    EXPECT_EQ(before[i].request.name, after[i].request.name);
    EXPECT_EQ(before[i].request.labels, after[i].request.labels);
    EXPECT_EQ(before[i].command, after[i].command);
    EXPECT_EQ(before[i].expires_at, after[i].expires_at);
    EXPECT_EQ(before[i].parts.size(), after[i].parts.size());
  }
  EXPECT_EQ(fresh.ended(story.now).size(), 1u);
  // Ids are never used again.
  (void)fresh.step(story.now, Submit{{1}, {{1000}}, {7, 7}, {}, S::budget(gib(1))});
  EXPECT_EQ(fresh.find(Handle{7, 7}), LeaseId{5});
}

std::vector<std::pair<double, Instant>> shares_of(const Coordinator& coordinator, Now now) {
  std::vector<std::pair<double, Instant>> shares;
  for (const Record& record : coordinator.snapshot(now)) {
    if (const auto* usage = std::get_if<UsageRestored>(&record.fact)) {
      shares.emplace_back(usage->byte_seconds, usage->at);
    }
  }
  return shares;
}

// Shares that differ in the last bit alone would order the queue in another way after a restart.
TEST(Recovery, PastUseIsTheSameToTheLastBitHoweverItIsRestored) {
  Story story({.order = Order::kFair, .reserve = {}});
  (void)story.ask(S::budget(gib(3)), 1000);
  (void)story.claim(1);
  (void)story.pass(Duration{1'234'567'891});
  (void)story.ask(S::budget(gib(5)), 1001);
  (void)story.claim(2);
  (void)story.pass(Duration{7'654'321'987});
  (void)story.end(1);

  const Now later{story.now.instant + milliseconds(333), story.now.wall};
  Coordinator from_snapshot({.order = Order::kFair});
  for (const Record& record : story.coordinator.snapshot(later)) {
    EXPECT_TRUE(from_snapshot.apply(record).ok());
  }
  const auto shares = shares_of(story.coordinator, story.now);
  EXPECT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares_of(from_snapshot, later), shares);
  story.restart({.order = Order::kFair});
  EXPECT_EQ(shares_of(story.coordinator, story.now), shares);
}

TEST(Recovery, UseUpToTheEndOfABootIsNotForgotten) {
  Story story({.order = Order::kFair, .reserve = {}});
  (void)story.ask(S::budget(gib(3)));
  (void)story.claim(1);
  (void)story.pass(minutes(30));
  (void)story.ask(S::budget(gib(1)), 1001);  // A record that tells how late it was.
  const std::vector<Record> snapshot = story.coordinator.snapshot(story.now);

  Coordinator next({.order = Order::kFair});
  for (const Record& record : snapshot) EXPECT_TRUE(next.apply(record).ok());
  const Now booted{{1'000'000'000}, story.now.wall};
  (void)next.step(booted, Recovered{.same_boot = false});
  ASSERT_FALSE(shares_of(next, booted).empty());
  EXPECT_GT(shares_of(next, booted).front().first, 3.0 * 1024 * 1024 * 1024 * 60 * 20);
}

TEST(Recovery, RecordsThatDoNotFitAreSetAsideAndTheRestGoesOn) {
  Coordinator coordinator({.order = Order::kFifo});
  const Instant at{5};
  EXPECT_TRUE(coordinator.apply({1, at, {}, RequestQueued{{1}, {0, 1}, {1000}, {}, {}}}).ok());
  EXPECT_FALSE(coordinator.apply({1, at, {}, RequestQueued{{2}, {0, 2}, {1000}, {}, {}}}).ok());
  const Status unknown = coordinator.apply({2, at, {}, LeaseEnded{{9}, EndResult::kOk}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "record 2 (lease_ended) does not fit what the records before it say");
  EXPECT_TRUE(coordinator.apply({3, at, {}, LeaseEnded{{1}, EndResult::kOk}}).ok());
}

TEST(Recovery, WhatHasLeftMoreDevicesThanItHasIsSetAside) {
  Coordinator coordinator({.order = Order::kFifo});
  const Instant at{5};
  const std::vector<Fact> facts = {RequestQueued{{1}, {0, 1}, {1000}, {}, {.vram = gib(4)}},
                                   LeaseGranted{{1}, {{device(0), gib(4)}}},
                                   LeaseClaimed{{1}, Process{7, 7}}, SuspendBegun{{1}, {gib(3)}}};
  std::uint64_t sequence = 0;
  for (const Fact& fact : facts) {
    ASSERT_TRUE(coordinator.apply({++sequence, at, {}, fact}).ok());
  }
  EXPECT_FALSE(coordinator.apply({5, at, {}, LeaseSuspended{{1}, {gib(3), gib(1)}}}).ok());
  EXPECT_TRUE(coordinator.apply({6, at, {}, LeaseSuspended{{1}, {gib(2)}}}).ok());
}

TEST(Recovery, SafeModeGrantsNothing) {
  Coordinator coordinator({.order = Order::kFifo});
  const Now now{{1}, {1}};
  (void)coordinator.step(now, Recovered{.safe_mode = true});
  const auto effects = coordinator.step(now, Submit{{1}, {{1000}}, {0, 1}, {}, S::budget(gib(1))});
  EXPECT_EQ(std::get<Refusal>(std::get<Reply>(effects.back()).answer).code, RefusalCode::kSafeMode);
}

TEST(Recovery, AFullDiskRefusesGrantsAndLetsReleasesGoOn) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  (void)story.feed(JournalFailed{"/state/leases.db", {}, {}});
  EXPECT_EQ(story.ask(S::budget(gib(1))), "refuse disk_full; ");
  EXPECT_EQ(story.end(1), "held 1; end 1; ");
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kStopped);
  EXPECT_EQ(story.feed(JournalMended{}), "grant 2; ");
}

TEST(Recovery, AGrantThatCouldNotBeWrittenIsTakenBack) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  EXPECT_EQ(story.end(1), "held 1; end 1; grant 2; ");
  (void)story.feed(JournalFailed{"/state/leases.db", {}, {{2}}});
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
  EXPECT_FALSE(story.coordinator.lease({2}, story.now)->flags.parked);
  EXPECT_EQ(story.feed(JournalMended{}), "grant 2; ");
}

TEST(Recovery, ALostDeviceKeepsItsLeasesAndSaysSo) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  Request two = S::budget(gib(10));
  two.device_count = 2;
  (void)story.ask(two);
  (void)story.claim(1);
  story.hardware[1].lost = true;
  EXPECT_EQ(story.sample(), "degraded 1; ");
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.degraded);
  EXPECT_EQ(story.ask(two), "refuse never_fits; ");  // Nobody waits for what may never come back.
  story.hardware[1].lost = false;
  EXPECT_EQ(story.sample(), "");
  EXPECT_FALSE(story.coordinator.lease({1}, story.now)->flags.degraded);
}

TEST(Recovery, ADriverInTroubleStopsNoLease) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.feed(Sampled{{story.now.instant, story.now.instant, true, "", "no answer", {}}});
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_EQ(story.ask(S::budget(gib(4))), "held 2; ");
  EXPECT_EQ(story.look().used, std::nullopt);  // Stale figures are unknown.
}

TEST(Recovery, ProcessFiguresThatTheDriverDoesNotTellAreUnknownNotZero) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  story.hardware[0].processes.reset();
  story.hardware[0].used = gib(10);
  (void)story.sample();
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts[0].used, std::nullopt);
  EXPECT_EQ(story.look().unmanaged, Bytes{});
  EXPECT_EQ(story.look().grantable, gib(6));
}

TEST(Recovery, ReconfiguringReordersTheQueueAndTouchesNoLease) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(16)));
  Request urgent = S::budget(gib(16));
  urgent.priority = Priority::kUrgent;
  (void)story.ask(urgent);
  (void)story.feed(Configured{{.order = Order::kPriority, .reserve = gib(1)}});
  EXPECT_EQ(story.coordinator.queue(story.now).front(), LeaseId{3});
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_TRUE(story.look().overcommitted);  // The reserve was raised under a lease.
}

}  // namespace
}  // namespace berth::core
