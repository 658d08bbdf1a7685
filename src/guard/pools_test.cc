// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

#include <gtest/gtest.h>

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
  ASSERT_TRUE(zeroed.pools.know(9, 1));
  zeroed.pools.begin(9, 100);
  zeroed.pools.end(9, 100);
  EXPECT_EQ(excess(zeroed.pools, 60), 40U);
  EXPECT_EQ(excess(zeroed.pools, 60), 0U);
  EXPECT_EQ(excess(zeroed.pools, 0), 60U);
}

TEST(Pools, WhatACallUnderWayMayTakeStaysCharged) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, 1));
  zeroed.pools.begin(9, 100);
  zeroed.pools.begin(9, 100);
  zeroed.pools.end(9, 100);
  EXPECT_EQ(excess(zeroed.pools, 70), 30U);  // 70 and the other call's 100.
}

TEST(Pools, AFigureFromBeforeAnotherCallDoesNotCount) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, 1));
  const std::uint64_t look = zeroed.pools.look(9);
  zeroed.pools.begin(9, 100);
  zeroed.pools.end(9, 100);
  const Pools::Settled settled = zeroed.pools.settle(9, look, 0);
  EXPECT_FALSE(settled.done);
  EXPECT_EQ(settled.excess, 0U);
}

TEST(Pools, PoolsOfADeviceGoWithIt) {
  const ZeroedPools zeroed;
  ASSERT_TRUE(zeroed.pools.know(9, 1));
  ASSERT_TRUE(zeroed.pools.know(8, 2));
  zeroed.pools.begin(9, 100);
  zeroed.pools.begin(8, 30);
  EXPECT_EQ(zeroed.pools.forget_device(1), 100U);
  EXPECT_EQ(zeroed.pools.device_of(9), -1);
  EXPECT_EQ(zeroed.pools.forget(8), 30U);
  std::size_t place = 0;
  EXPECT_EQ(zeroed.pools.next(place), 0U);
}

TEST(Pools, TooManyPoolsAreAnAnswer) {
  const ZeroedPools zeroed;
  for (Pools::Handle pool = 1; pool <= Pools::kPoolsMax; ++pool)
    ASSERT_TRUE(zeroed.pools.know(pool, 0));
  EXPECT_FALSE(zeroed.pools.know(9999, 0));
  EXPECT_EQ(zeroed.pools.forget(7), 0U);
  EXPECT_TRUE(zeroed.pools.know(9999, 0));
}

}  // namespace
}  // namespace berth::guard
