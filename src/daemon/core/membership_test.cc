// SPDX-License-Identifier: Apache-2.0
#include "core/membership.h"

#include <gtest/gtest.h>

#include "core/decider_for_test.h"

namespace berth::core {
namespace {

class MembershipTest : public testing::Test {
 protected:
  static constexpr DeviceId kGpu{0xd0, 0, false};

  /// Its command has pid `pid`.
  LeaseId run(std::int32_t pid) {
    const LeaseId id = core.queue({.vram = gib(1)});
    core.decide(id, LeaseGranted{.id = id, .parts = {{kGpu, gib(1)}}});
    core.decide(id, LeaseClaimed{.id = id, .command = Process{.pid = pid, .start_ticks = 1}});
    update(id);
    return id;
  }
  void update(LeaseId id) { membership.update(id, core.state().find(id)); }
  static ProcessSample process(std::int32_t pid, std::vector<Process> ancestors = {}) {
    return {.process = {.pid = pid, .start_ticks = 1},
            .user = {1000},
            .ancestors = std::move(ancestors),
            .alive = true};
  }
  std::optional<LeaseId> lease_of(const ProcessSample& sample) const {
    return membership.lease_of(sample, kGpu);
  }

  TestDecider core;
  Membership membership{core};
};

TEST_F(MembershipTest, TheNearestAncestorThatBelongsDecides) {
  const LeaseId outer = run(10);
  const LeaseId inner = run(20);
  EXPECT_EQ(lease_of(process(10)), outer);
  EXPECT_EQ(lease_of(process(30, {{.pid = 20, .start_ticks = 1}, {.pid = 10, .start_ticks = 1}})),
            inner);
  EXPECT_EQ(lease_of(process(30)), std::nullopt);
}

TEST_F(MembershipTest, WhatWasLeftBehindCountsWhereNothingElseIsKnown) {
  const LeaseId first = run(10);
  const LeaseId second = run(20);
  const Process left{.pid = 40, .start_ticks = 1};
  membership.set_leftovers(second, {left});
  update(second);
  EXPECT_EQ(lease_of(process(40)), second);
  EXPECT_EQ(lease_of(process(40, {{.pid = 10, .start_ticks = 1}})), first)
      << "an ancestor is certain";
  membership.forget_run(second);
  update(second);
  EXPECT_EQ(lease_of(process(40)), std::nullopt);
}

TEST_F(MembershipTest, TheEnvironmentNamesALeaseOfTheSameUserAlone) {
  const LeaseId id = run(10);
  ProcessSample sample = process(50);
  sample.env_lease = core.state().find(id)->handle;
  EXPECT_EQ(lease_of(sample), id);
  sample.user = {1001};
  EXPECT_EQ(lease_of(sample), std::nullopt);
}

TEST_F(MembershipTest, OfTheDeadThePidIsEnough) {
  const LeaseId id = run(10);
  ProcessSample dead = process(10);
  dead.alive = false;
  dead.process.start_ticks = 0;
  EXPECT_EQ(lease_of(dead), id);
  dead.process.pid = 11;
  EXPECT_EQ(lease_of(dead), std::nullopt);
}

TEST_F(MembershipTest, OneThatWasAskedForBeforeTheGrantIsNoMember) {
  const LeaseId id = run(10);
  const Lease& lease = *core.state().find(id);
  core.take_effects();
  const ProcessSample child = process(60, {{.pid = 10, .start_ticks = 1}});
  membership.note(child, lease, Instant{});
  EXPECT_EQ(core.take_records(), "");
  membership.note(child, lease, lease.held()->granted.at);
  EXPECT_EQ(core.take_records(), "member_seen; ");
  membership.note(child, lease, lease.held()->granted.at);
  EXPECT_EQ(core.take_records(), "") << "it is known by now";
}

TEST_F(MembershipTest, ALeaseThatIsNoMoreHasNoProcesses) {
  const LeaseId id = run(10);
  membership.update(id, nullptr);
  membership.forget(id);
  EXPECT_EQ(lease_of(process(10)), std::nullopt);
}

}  // namespace
}  // namespace berth::core
