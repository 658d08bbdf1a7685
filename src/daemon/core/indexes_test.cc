// SPDX-License-Identifier: Apache-2.0
#include "core/indexes.h"

#include <gtest/gtest.h>

#include "core/decider_for_test.h"

namespace berth::core {
namespace {

constexpr DeviceId kDevice{0xd0, 0, false};

class IndexesTest : public testing::Test {
 protected:
  LeaseId queue(Bytes vram, UserId user = {1000}) {
    const LeaseId id = core.queue({.vram = vram}, user);
    EXPECT_TRUE(indexes.update(id, core.state().find(id)));
    return id;
  }
  void run(LeaseId id) {
    core.run(id, kDevice);
    indexes.update(id, core.state().find(id));
  }
  void decide(LeaseId id, Fact fact) {
    core.decide(id, std::move(fact));
    indexes.update(id, core.state().find(id));
  }

  TestDecider core{{.order = Order::kFifo}};
  Ledger ledger;
  Indexes indexes{core, ledger};
};

TEST_F(IndexesTest, WhoWaitsStandsInTheQueueUntilItIsGranted) {
  const LeaseId first = queue(gib(1));
  const LeaseId second = queue(gib(2));
  EXPECT_EQ(indexes.queue().size(), 2U);
  EXPECT_EQ(indexes.in_order(core.now().instant).next()->id, first);
  run(first);
  EXPECT_EQ(indexes.queue().size(), 1U);
  EXPECT_EQ(indexes.in_order(core.now().instant).next()->id, second);
  indexes.check();
}

TEST_F(IndexesTest, AnUpdateThatChangesNothingIsNoNews) {
  const LeaseId id = queue(gib(1));
  EXPECT_FALSE(indexes.update(id, core.state().find(id)));
  run(id);
  EXPECT_FALSE(indexes.update(id, core.state().find(id)));
}

TEST_F(IndexesTest, WhatAUserHasIsCountedWhileItIsHeld) {
  const LeaseId id = queue(gib(3));
  EXPECT_EQ(indexes.count_of({1000}).waiting, 1U);
  run(id);
  EXPECT_EQ(indexes.count_of({1000}).waiting, 0U);
  EXPECT_EQ(indexes.count_of({1000}).held, 1U);
  EXPECT_EQ(indexes.count_of({1000}).vram, gib(3));
  EXPECT_EQ(indexes.vram_of(id), gib(3));
  core.decide(id, LeaseReleasing{.id = id});
  EXPECT_TRUE(indexes.update(id, core.state().find(id))) << "its user may hold another one";
  EXPECT_EQ(indexes.count_of({1000}).held, 0U);
  EXPECT_EQ(indexes.count_of({1000}).vram, Bytes{});
  indexes.check();
}

TEST_F(IndexesTest, AUserHasRoomWithinItsBounds) {
  core.set({.order = Order::kFifo, .limits_default = {.leases_max = 2, .vram_max = gib(4)}});
  run(queue(gib(3)));
  const LeaseId fits = queue(gib(1));
  const LeaseId above = queue(gib(2));
  EXPECT_TRUE(indexes.user_has_room(*core.state().find(fits)));
  EXPECT_FALSE(indexes.user_has_room(*core.state().find(above)));
  run(fits);
  const LeaseId third = queue(Bytes{1});
  EXPECT_FALSE(indexes.user_has_room(*core.state().find(third))) << "two is the most";
}

TEST_F(IndexesTest, WhoWantsBackIsAmongTheGrowingUnlessItIsToBeAway) {
  const LeaseId id = queue(gib(1));
  run(id);
  decide(id, SuspendBegun{.id = id, .used = {gib(1)}, .yields_to = LeaseId{9}});
  EXPECT_TRUE(indexes.yielding().contains(id));
  EXPECT_FALSE(indexes.growing().contains(id));
  decide(id, LeaseSuspended{.id = id, .used = {}});
  decide(id, ResumeQueued{.id = id});
  EXPECT_TRUE(indexes.growing().contains(id));
  decide(id, ResumeQueued{.id = id, .queued = false});
  EXPECT_FALSE(indexes.growing().contains(id));
}

TEST_F(IndexesTest, ASliceThatIsFrozenSkipsItsTurnAndABudgetDoesNot) {
  for (const Share share : {Share::kBudget, Share::kSlice}) {
    const LeaseId id = core.queue({.share = share, .vram = gib(1)});
    indexes.update(id, core.state().find(id));
    run(id);
    decide(id, SuspendBegun{.id = id, .used = {gib(1)}});
    decide(id, LeaseSuspended{.id = id, .used = {}});
    decide(id, LeaseFrozen{.id = id});
    decide(id, ResumeQueued{.id = id});
    EXPECT_EQ(indexes.growing().contains(id), share == Share::kBudget);
  }
}

TEST_F(IndexesTest, OfOneThatHasEndedNothingIsLeft) {
  const LeaseId id = queue(gib(1));
  decide(id, LeaseEnded{.id = id});
  EXPECT_EQ(indexes.queue().size(), 0U);
  EXPECT_EQ(indexes.count_of({1000}).waiting, 0U);
  indexes.check();
}

TEST_F(IndexesTest, AnotherOrderRanksAllAgain) {
  const LeaseId first = queue(gib(1));
  const LeaseId urgent = core.queue({.priority = Priority::kHigh, .vram = gib(1)});
  indexes.update(urgent, core.state().find(urgent));
  EXPECT_EQ(indexes.in_order(core.now().instant).next()->id, first);
  core.set({.order = Order::kPriority});
  indexes.rank_again();
  EXPECT_EQ(indexes.in_order(core.now().instant).next()->id, urgent);
  EXPECT_EQ(indexes.queue().size(), 2U);
}

}  // namespace
}  // namespace berth::core
