// SPDX-License-Identifier: Apache-2.0
#include "core/presence.h"

#include <gtest/gtest.h>

#include "core/decider_for_test.h"

namespace berth::core {
namespace {

class PresenceTest : public testing::Test {
 protected:
  const Lease& lease() const { return *core.state().find(id); }

  TestDecider core;
  Ledger ledger;
  Indexes indexes{core, ledger};
  Dependencies dependencies{core};
  Presence presence{core, indexes, dependencies};
  LeaseId id = core.queue({.vram = gib(1)});
};

TEST_F(PresenceTest, WhoAsksIsThereUntilTheConnectionIsGone) {
  EXPECT_TRUE(presence.is_connected(id));
  EXPECT_TRUE(presence.is_offerable(lease()));
  presence.disconnected(id);
  EXPECT_FALSE(presence.is_offerable(lease()));
  EXPECT_FALSE(presence.keeps_place(lease())) << "nobody is expected back";
  EXPECT_FALSE(presence.takes_part(lease()));
}

TEST_F(PresenceTest, ThePlaceIsKeptForSoLong) {
  presence.disconnected(id, core.now().instant + seconds(10));
  EXPECT_TRUE(presence.keeps_place(lease()));
  EXPECT_TRUE(presence.takes_part(lease()));
  core.pass(seconds(10));
  EXPECT_FALSE(presence.keeps_place(lease()));
  presence.connected(id);
  EXPECT_TRUE(presence.is_offerable(lease()));
  EXPECT_EQ(presence.reconnect_until(id), std::nullopt);
}

TEST_F(PresenceTest, WhatIsSetAsideIsNeitherOfferedNorKept) {
  core.decide(id, RequestParked{.id = id});
  EXPECT_FALSE(presence.is_offerable(lease()));
  presence.disconnected(id, core.now().instant + seconds(10));
  EXPECT_FALSE(presence.keeps_place(lease()));
}

TEST_F(PresenceTest, WhoseUserHasAsMuchAsAllowedTakesNoPart) {
  core.set({.limits_default = {.leases_max = 1}});
  indexes.update(id, &lease());
  const LeaseId other = core.queue({.vram = gib(1)});
  core.run(other, {0xd0, 0, false});
  indexes.update(other, core.state().find(other));
  EXPECT_TRUE(presence.is_offerable(lease()));
  EXPECT_FALSE(presence.takes_part(lease()));
}

TEST_F(PresenceTest, AnOfferWaitsForSoLong) {
  EXPECT_EQ(presence.claim_until(id), Instant::never());
  presence.offered(id, core.now().instant + seconds(5));
  EXPECT_EQ(presence.claim_until(id), core.now().instant + seconds(5));
  presence.forget(id);
  EXPECT_EQ(presence.claim_until(id), Instant::never());
}

}  // namespace
}  // namespace berth::core
