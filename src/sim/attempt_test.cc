// SPDX-License-Identifier: Apache-2.0
#include "sim/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/advice.h"
#include "sim/context.h"

namespace berth::sim {
namespace {

/// Two leases on one GPU, as the coordinator, the judge and the driver know them.
class AttemptTest : public testing::Test {
 protected:
  static constexpr LeaseId kFirst{1};
  static constexpr LeaseId kSecond{2};
  static constexpr UserId kUser{1000};
  static constexpr DeviceId kGpu{1, 2, false};

  explicit AttemptTest(std::uint64_t gpus = 1)
      : devices(context, processes, devices_of(gpus), {}) {}

  static std::vector<Device> devices_of(std::uint64_t gpus) {
    std::vector<Device> all;
    for (std::uint64_t i = 0; i < gpus; ++i) {
      all.push_back({.id = {kGpu.high + i, kGpu.low, false},
                     .model = "GPU",
                     .capacity = gib(16),
                     .figures = {},
                     .lost = false,
                     .uses = {}});
    }
    return all;
  }
  static Handle handle_of(LeaseId id) { return {7, id.value}; }

  void write(Fact fact) {
    const Record record{++sequence, context.clock.instant(), {5}, std::move(fact)};
    EXPECT_EQ(observations.journal.apply(record, context.coverage), "");
    EXPECT_TRUE(coordinator.apply(record).ok());
  }
  Process spawn(LeaseId lease, Process parent = {}) {
    return processes.spawn({.parent = parent,
                            .user = kUser,
                            .name = "",
                            .lease = handle_of(lease),
                            .outer = {},
                            .on_end = {}});
  }
  Process hold(LeaseId id, std::optional<Process> supervisor = {}) {
    write(RequestQueued{id, handle_of(id), kUser, supervisor, {.vram = gib(4)}});
    write(LeaseGranted{id, {{kGpu, gib(4)}}});
    const Process command = spawn(id);
    write(LeaseClaimed{id, command});
    EXPECT_TRUE(devices.allocate(command, 0, gib(2)));
    return command;
  }
  void pass(Duration time) {
    const Instant end = context.clock.instant() + time;
    context.clock.at(end, [] {});
    while (context.clock.instant() < end) context.clock.step();
  }
  LeaseState state_of(const Attempt& attempt, LeaseId id) const {
    const std::optional<LeaseView> view = attempt.coordinator().lease(id, attempt.now());
    return view ? view->state : LeaseState::kEnded;
  }

  SimContext context{1, false};
  Processes processes{context, 1000};  // A pid that is free comes back at once.
  Devices devices;
  Observations observations{
      .devices = devices, .processes = processes, .reserve_least = Bytes::max()};
  core::Coordinator coordinator{core::Settings{}};
  std::uint64_t sequence = 0;
};

TEST_F(AttemptTest, WhatTheDeadHadLeavesWithTheLeaseThatHadTheirPidLast) {
  (void)hold(kFirst);
  const Process child = spawn(kFirst);
  write(MemberSeen{kFirst, child});
  processes.end(child, {});
  processes.reusable(child.pid);
  write(MemberGone{kFirst, child});
  pass(seconds(1));
  const Process again = hold(kSecond);
  ASSERT_EQ(again.pid, child.pid);
  processes.end(again, {});
  write(CommandEnded{kSecond, {}});
  write(LeaseReleasing{kSecond, EndResult::kOk});
  (void)coordinator.step(context.clock.now(), core::Recovered{.same_boot = true});

  Attempt attempt(observations, coordinator, context.clock.now());
  attempt.sample();
  ASSERT_EQ(state_of(attempt, kSecond), LeaseState::kReleasing);
  EXPECT_TRUE(attempt.carry_out(Remedy::Kind::kPauseLease, {kFirst}, {}));
  EXPECT_EQ(state_of(attempt, kFirst), LeaseState::kSuspended);
  EXPECT_EQ(state_of(attempt, kSecond), LeaseState::kReleasing);
  attempt.dead_leave();
  EXPECT_EQ(state_of(attempt, kSecond), LeaseState::kEnded);
}

// Its supervisor told of a child that outlived the command, and which has died since.
TEST_F(AttemptTest, WhatADeadChildHadOfWhichTheSupervisorToldLeavesWithTheLease) {
  const Process command = hold(kFirst);
  const Process child = spawn(kFirst, command);
  EXPECT_TRUE(devices.allocate(child, 0, gib(10)));
  processes.end(command, {});
  const auto now = context.clock.now();
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  (void)coordinator.step(now, core::ReportExit{.token = {1},
                                               .actor = {.user = kUser},
                                               .handle = handle_of(kFirst),
                                               .body = {.leftovers = {child}, .restarts = 0}});
  observations.known[kFirst].leftovers = {child};
  processes.end(child, {});
  Attempt attempt(observations, coordinator, now);
  attempt.sample();
  EXPECT_EQ(attempt.coordinator().devices(now)[0].unmanaged, Bytes{});
  EXPECT_TRUE(attempt.carry_out(Remedy::Kind::kCancelLease, {kFirst}, {}));
  EXPECT_EQ(attempt.coordinator().devices(now)[0].used, Bytes{});
}

// Its processes go on in time, though its memory cannot return to a GPU that is lost.
TEST_F(AttemptTest, APauseOnTheWayToALostDeviceEndsInTime) {
  const Process command = hold(kFirst);
  write(SuspendBegun{kFirst, {gib(2)}});
  devices.move_out(command);
  write(LeaseSuspended{kFirst});
  write(ResumeQueued{kFirst});
  write(LeaseFrozen{kFirst});
  const Instant until = context.clock.instant() + seconds(1);
  const UnixMs until_wall{context.clock.now().wall.value + 1'000};
  write(LeasePaused{.id = kFirst, .until = until, .until_wall = until_wall, .by = kUser});
  write(ResumeBegun{kFirst});
  observations.known[kFirst].pausers = {kUser};
  const auto reported = [&] {
    core::Coordinator asked = coordinator.copy();
    const auto now = context.clock.now();
    observations.moving.clear();
    for (const core::Event& event : {core::Event{core::Recovered{.same_boot = true}},
                                     core::Event{core::Sampled{devices.look()}}}) {
      for (const core::Effect& effect : asked.step(now, event)) {
        const auto* move = std::get_if<core::Transfer>(&effect);
        if (move != nullptr) observations.moving[move->lease] = move->number;
      }
    }
    return check_advice(observations, {.coordinator = asked, .now = now});
  };
  EXPECT_EQ(reported(), "");
  devices.lose(0);
  EXPECT_EQ(reported(), "");
}

// A turn does not end while its program saves itself, which it was asked only since.
TEST_F(AttemptTest, WhoIsAskedToSaveHimselfHasWhenAnotherIsToStart) {
  Request slice{.share = Share::kSlice, .vram = gib(10)};
  slice.checkpoint = CheckpointWay{.every = minutes(5)};
  write(RequestQueued{kFirst, handle_of(kFirst), kUser, std::nullopt, slice});
  write(LeaseGranted{kFirst, {{kGpu, gib(10)}}});
  const Process command = spawn(kFirst);
  write(LeaseClaimed{kFirst, command});
  EXPECT_TRUE(devices.allocate(command, 0, gib(2)));
  slice.checkpoint.reset();
  write(RequestQueued{kSecond, handle_of(kSecond), kUser, spawn(kSecond), slice});
  Attempt attempt(observations, coordinator, context.clock.now());
  attempt.recovers();
  attempt.wait_until(attempt.now().instant + minutes(5));
  attempt.sample();
  const std::optional<LeaseView> asked = attempt.coordinator().lease(kFirst, attempt.now());
  ASSERT_TRUE(asked && asked->checkpoints.asked);
  EXPECT_EQ(asked->state, LeaseState::kHeld);
  EXPECT_EQ(state_of(attempt, kSecond), LeaseState::kWaiting);
  EXPECT_TRUE(Attempt(attempt).has_started(kSecond)) << "a copy knows of it too";
  EXPECT_TRUE(attempt.has_started(kSecond));
  EXPECT_EQ(state_of(attempt, kFirst), LeaseState::kSuspended);
}

// Programs that outlive their lease were told to end, and another starts when they do.
TEST_F(AttemptTest, WhoWasToldToEndHasLeftWhenAnotherIsToStart) {
  const Process command = hold(kFirst);
  const Process child = spawn(kFirst);
  EXPECT_TRUE(devices.allocate(child, 0, gib(10)));
  write(MemberSeen{kFirst, child});
  write(LeaseRevoked{kFirst, EndResult::kCancelled, context.clock.instant() + seconds(10)});
  processes.end(command, {});
  write(CommandEnded{kFirst, {}});
  write(LeaseReleasing{kFirst, EndResult::kCancelled});
  const Process supervisor = spawn(kSecond);
  write(RequestQueued{kSecond, handle_of(kSecond), kUser, supervisor, {.vram = gib(8)}});
  const auto now = context.clock.now();
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  (void)coordinator.step(now, core::Sampled{devices.look()});
  (void)coordinator.step(now, core::Reconnect{{1}, {.user = kUser}, handle_of(kSecond)});
  EXPECT_TRUE(coordinator.why(kSecond, now).value_or(WhyView{}).expected_start);
  EXPECT_EQ(check_advice(observations, {.coordinator = coordinator, .now = now}), "");
}

// A command that ended while no daemon ran; what it held is the next one's as soon as one runs.
TEST_F(AttemptTest, ADaemonThatStartsHearsWhoHasEndedAndWhoWaitsComesBack) {
  const Process command = hold(kFirst);
  const Process supervisor = spawn(kSecond);
  write(RequestQueued{kSecond, handle_of(kSecond), kUser, supervisor, {.vram = gib(14)}});
  processes.end(command, {});
  pass(seconds(1));
  Attempt attempt(observations, coordinator, context.clock.now());
  attempt.recovers();
  attempt.wait_until(attempt.now().instant + minutes(1));
  EXPECT_EQ(state_of(attempt, kFirst), LeaseState::kReleasing) << "nobody tells how it ended";
  attempt.dead_leave();
  EXPECT_TRUE(attempt.has_started(kSecond));
}

TEST_F(AttemptTest, WhatADaemonThatStartsSaysMustHoldAsWell) {
  (void)hold(kFirst);
  write(SuspendBegun{kFirst, {gib(2)}});
  write(LeaseSuspended{kFirst});
  write(LeasePaused{.id = kFirst, .by = kUser});
  const Question question{.coordinator = coordinator, .now = context.clock.now()};
  EXPECT_EQ(check_restart(observations, question), "lease 1 is not paused by whom it says");
  observations.known[kFirst].pausers = {kUser};
  EXPECT_EQ(check_restart(observations, question), "");
}

TEST_F(AttemptTest, WhatCouldBeDecidedAtOnceMustNotWaitForAnotherEvent) {
  write(RequestQueued{kFirst, handle_of(kFirst), kUser, spawn(kFirst), {.vram = gib(14)}});
  write(RequestQueued{kSecond, handle_of(kSecond), kUser, spawn(kSecond), {.vram = gib(14)}});
  const auto now = context.clock.now();
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  (void)coordinator.step(now, core::Sampled{devices.look()});
  (void)coordinator.step(now, core::Reconnect{{1}, {.user = kUser}, handle_of(kSecond)});
  EXPECT_EQ(check_waiting({.coordinator = coordinator, .now = now}), "")
      << "whoever is first in the queue is expected back";
  const core::Now later{now.instant + hours(1), now.wall};
  EXPECT_THAT(check_waiting({.coordinator = coordinator, .now = later}),
              testing::HasSubstr("could be decided at once"));
}

class AttemptOnTwoTest : public AttemptTest {
 protected:
  AttemptOnTwoTest() : AttemptTest(2) {}
};

// Its lease has moved to another GPU since: that ends, and the driver lists the dead all the same.
TEST_F(AttemptOnTwoTest, WhatTheDeadHaveWhereTheirLeaseIsNoLongerStaysWhenThatEnds) {
  (void)hold(kFirst);
  const Process child = spawn(kFirst);
  write(MemberSeen{kFirst, child});
  EXPECT_TRUE(devices.allocate(child, 0, gib(1)));
  EXPECT_TRUE(devices.allocate(child, 1, gib(10)));
  processes.end(child, {});
  write(MemberGone{kFirst, child});
  const auto now = context.clock.now();
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  Attempt attempt(observations, coordinator, now);
  attempt.sample();
  EXPECT_EQ(attempt.coordinator().devices(now)[1].unmanaged, gib(10));
  EXPECT_TRUE(attempt.carry_out(Remedy::Kind::kCancelLease, {kFirst}, {}));
  EXPECT_EQ(state_of(attempt, kFirst), LeaseState::kEnded);
  EXPECT_EQ(attempt.coordinator().devices(now)[0].used, Bytes{});
  EXPECT_EQ(attempt.coordinator().devices(now)[1].unmanaged, gib(10));
  attempt.dead_leave();
  EXPECT_EQ(attempt.coordinator().devices(now)[1].unmanaged, Bytes{});
}

// It was started in a lease inside this one, and came below the outer's supervisor when that ended.
TEST_F(AttemptOnTwoTest, WhatAnInnerLeaseLeftBehindEndsWithTheOuterOne) {
  constexpr LeaseId kGone{9};
  const Process outer = spawn({});
  (void)hold(kFirst, outer);
  EXPECT_TRUE(devices.allocate(spawn(kGone, outer), 1, gib(10)));
  const Process supervisor = spawn(kSecond);
  write(RequestQueued{
      kSecond, handle_of(kSecond), kUser, supervisor, {.vram = gib(14), .device_count = 2}});
  const auto now = context.clock.now();
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  (void)coordinator.step(now, core::Sampled{devices.look()});
  (void)coordinator.step(now, core::Reconnect{{1}, {.user = kUser}, handle_of(kSecond)});
  const std::vector<Remedy> remedies = coordinator.remedies(kSecond, now);
  EXPECT_TRUE(std::ranges::any_of(remedies, [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kCancelLease && remedy.lease == kFirst;
  }));
  EXPECT_EQ(check_advice(observations, {.coordinator = coordinator, .now = now}), "");
}

// The dead leave the other GPU first, and another of its user gets that, who may have no more.
TEST_F(AttemptOnTwoTest, WhoseUserHasAllThatHeMayByThenNeedNotStart) {
  constexpr LeaseId kWaiter{3};
  constexpr LeaseId kNext{4};
  constexpr UserId kOther{1001};
  const auto queue = [&](LeaseId id, UserId user, Request request) {
    write(RequestQueued{id, handle_of(id), user, spawn(id), std::move(request)});
  };
  queue(kFirst, kOther, {.vram = gib(4), .eta = hours(1)});
  write(LeaseGranted{kFirst, {{kGpu, gib(4)}}});
  write(LeaseClaimed{kFirst, spawn(kFirst)});
  queue(kSecond, kOther, {.vram = gib(10)});
  write(LeaseGranted{kSecond, {{{kGpu.high + 1, kGpu.low, false}, gib(10)}}});
  const Process command = spawn(kSecond);
  write(LeaseClaimed{kSecond, command});
  EXPECT_TRUE(devices.allocate(command, 1, gib(10)));
  processes.end(command, {});
  write(CommandEnded{kSecond, {}});
  write(LeaseReleasing{kSecond, EndResult::kOk});
  queue(kWaiter, kUser, {.vram = gib(14), .devices = {0U}});
  queue(kNext, kUser, {.vram = gib(14), .devices = {1U}});
  const auto now = context.clock.now();
  core::Settings settings;
  settings.limits_default.leases_max = 1;
  (void)coordinator.step(now, core::Configured{settings});
  (void)coordinator.step(now, core::Recovered{.same_boot = true});
  (void)coordinator.step(now, core::Sampled{devices.look()});
  for (const LeaseId id : {kWaiter, kNext}) {
    (void)coordinator.step(now, core::Reconnect{{1}, {.user = kUser}, handle_of(id)});
  }
  const WhyView why = coordinator.why(kWaiter, now).value_or(WhyView{});
  EXPECT_EQ(why.reason, WhyView::Reason::kMemory);
  EXPECT_TRUE(why.expected_start);
  EXPECT_EQ(check_advice(observations, {.coordinator = coordinator, .now = now}), "");
}

}  // namespace
}  // namespace berth::sim
