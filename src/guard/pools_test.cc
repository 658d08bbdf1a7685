// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace berth::guard {
namespace {

// As the guard has them: in memory that is zero.
struct ZeroedPools {
  void* memory = map_memory(sizeof(Pools));
  Pools& pools = *static_cast<Pools*>(memory);
  ZeroedPools() = default;
  ~ZeroedPools() { unmap(memory, sizeof(Pools)); }
  ZeroedPools(const ZeroedPools&) = delete;
  ZeroedPools& operator=(const ZeroedPools&) = delete;
};

std::uint64_t excess(Pools& pools, std::uint64_t reserved) {
  return pools.settle(9, pools.look(9), reserved).excess;
}

TEST(Pools, WhatWasChargedBeyondWhatIsReservedIsGivenBack) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = 1}));
  ASSERT_TRUE(zeroed.pools.begin(9, 100));
  zeroed.pools.end(9, 100);
  EXPECT_EQ(excess(zeroed.pools, 60), 40U);
  EXPECT_EQ(excess(zeroed.pools, 60), 0U);
  EXPECT_EQ(excess(zeroed.pools, 0), 60U);
}

TEST(Pools, WhatACallUnderWayMayTakeStaysCharged) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = 1}));
  ASSERT_TRUE(zeroed.pools.begin(9, 100));
  ASSERT_TRUE(zeroed.pools.begin(9, 100));
  zeroed.pools.end(9, 100);
  EXPECT_EQ(excess(zeroed.pools, 70), 30U);  // 70 and the other call's 100.
}

TEST(Pools, AFigureFromBeforeAnotherCallDoesNotCount) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = 1}));
  const std::uint64_t look = zeroed.pools.look(9);
  ASSERT_TRUE(zeroed.pools.begin(9, 100));
  zeroed.pools.end(9, 100);
  const Pools::Settled settled = zeroed.pools.settle(9, look, 0);
  EXPECT_FALSE(settled.done);
  EXPECT_EQ(settled.excess, 0U);
}

TEST(Pools, PoolsOfADeviceGoWithIt) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = 1}));
  ASSERT_TRUE(zeroed.pools.know(8, {.device = 2}));
  ASSERT_TRUE(zeroed.pools.begin(9, 100));
  ASSERT_TRUE(zeroed.pools.begin(8, 30));
  EXPECT_EQ(zeroed.pools.forget_device(1), 100U);
  EXPECT_EQ(zeroed.pools.device_of(9), -1);
  EXPECT_EQ(zeroed.pools.forget(8), 30U);
  std::size_t place = 0;
  EXPECT_EQ(zeroed.pools.next(place), 0U);
}

TEST(Pools, AreAsManyAsAreMade) {
  const ZeroedPools zeroed;
  Pools& pools = zeroed.pools;
  for (Pools::Handle pool = 1; pool <= 1'000; ++pool) {
    ASSERT_TRUE(pools.know(pool, {.device = static_cast<int>(pool % 3)}));
    ASSERT_TRUE(pools.begin(pool, pool));
  }
  for (Pools::Handle pool = 1; pool <= 1'000; pool += 2) EXPECT_EQ(pools.forget(pool), pool);
  for (Pools::Handle pool = 1; pool <= 1'000; ++pool)
    EXPECT_EQ(pools.device_of(pool), pool % 2 == 1 ? -1 : static_cast<int>(pool % 3)) << pool;
  // The places of those that are gone are taken again.
  for (Pools::Handle pool = 2'001; pool <= 3'000; ++pool)
    ASSERT_TRUE(pools.know(pool, {.device = 7}));
  EXPECT_EQ(pools.device_of(1'000), 1);
  EXPECT_EQ(pools.device_of(3'000), 7);
  EXPECT_EQ(pools.forget(1'000), 1'000U);
}

TEST(Pools, OnlyThoseForWhichSomethingIsChargedAreListed) {
  const ZeroedPools zeroed;
  for (Pools::Handle pool = 1; pool <= 9; ++pool)
    ASSERT_TRUE(zeroed.pools.know(pool, {.device = 0}));
  ASSERT_TRUE(zeroed.pools.begin(4, 100));
  ASSERT_TRUE(zeroed.pools.begin(8, 100));
  std::size_t place = 0;
  EXPECT_EQ(zeroed.pools.next(place), 4U);
  EXPECT_EQ(zeroed.pools.next(++place), 8U);
  EXPECT_EQ(zeroed.pools.next(++place), 0U);
}

std::vector<Pools::Handle> take_due(Pools& pools) {
  std::vector<Pools::Handle> taken;
  for (Pools::Handle pool = pools.take_due(); pool != 0; pool = pools.take_due())
    taken.push_back(pool);
  std::ranges::sort(taken);
  return taken;
}

TEST(Pools, AreDueOnceWhenAThreadSynchronisesAfterAFree) {
  const ZeroedPools zeroed;
  Pools& pools = zeroed.pools;
  for (Pools::Handle pool = 1; pool <= 4; ++pool) {
    ASSERT_TRUE(pools.know(pool, {.device = 0}));
    ASSERT_EQ(pool == 3 || pools.begin(pool, 100), true);
  }
  pools.synchronised();
  EXPECT_FALSE(pools.any_is_due());
  pools.freed();
  EXPECT_FALSE(pools.any_is_due());
  pools.synchronised();
  EXPECT_TRUE(pools.any_is_due());
  EXPECT_EQ(take_due(pools), (std::vector<Pools::Handle>{1, 2, 4}));
  EXPECT_FALSE(pools.any_is_due());
  pools.synchronised();
  EXPECT_EQ(take_due(pools), std::vector<Pools::Handle>{});
  // Also those after which it went on.
  pools.freed();
  pools.synchronised();
  (void)pools.take_due();
  pools.freed();
  pools.synchronised();
  EXPECT_EQ(take_due(pools), (std::vector<Pools::Handle>{1, 2, 4}));
}

TEST(Pools, OneThatIsDestroyedIsEndedByOneThreadAlone) {
  const ZeroedPools zeroed;
  Pools& pools = zeroed.pools;
  ASSERT_TRUE(pools.know(9, {.device = 1, .is_created = true}));
  ASSERT_TRUE(pools.begin(9, 100));
  pools.end(9, 100);
  EXPECT_FALSE(pools.take_dead(9, pools.look(9))) << "nobody has destroyed it";
  EXPECT_TRUE(pools.begin_destroy(9));
  EXPECT_FALSE(pools.begin_destroy(9));
  EXPECT_TRUE(pools.known(9).is_dying);
  const std::uint64_t look = pools.look(9);
  EXPECT_FALSE(pools.take_dead(9, look - 1));
  EXPECT_TRUE(pools.take_dead(9, look));
  EXPECT_FALSE(pools.take_dead(9, look));
}

TEST(Pools, WhatTheProgramHasNotMadeIsTheDriversToDestroy) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = 1}));
  ASSERT_TRUE(zeroed.pools.know(8, {.device = -1, .is_created = true}));
  EXPECT_FALSE(zeroed.pools.begin_destroy(9));
  EXPECT_FALSE(zeroed.pools.begin_destroy(8));
  EXPECT_FALSE(zeroed.pools.begin_destroy(7));
}

TEST(Pools, NothingIsChargedForOneThatIsOnNoDevice) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, {.device = -1, .is_created = true}));
  EXPECT_TRUE(zeroed.pools.known(9).is_known);
  EXPECT_FALSE(zeroed.pools.known(9).is_charged());
  EXPECT_FALSE(zeroed.pools.begin(9, 100));
  EXPECT_FALSE(zeroed.pools.begin(8, 100));
  EXPECT_FALSE(zeroed.pools.know(0, {.device = 1})) << "no pool has that handle";
}

}  // namespace
}  // namespace berth::guard
