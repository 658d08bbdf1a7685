// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/pool.h"

#include <gtest/gtest.h>

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// A pool on a device of 128 MiB, and what it has charged there.
struct Counted {
  std::unique_ptr<Heap> heap = Heap::make(128 * kMiB);
  Pool pool{0, *heap};
  std::uint64_t blocks = 0;

  std::optional<DevicePointer> allocate(std::uint64_t bytes) {
    return pool.allocate(bytes, [this](std::uint64_t count) {
      if (blocks + count > 64) return false;
      blocks += count;
      return true;
    });
  }
  void trim(std::uint64_t keep) { blocks -= pool.trim(keep); }
};

TEST(Pool, ReservesChunksAndFillsThem) {
  Counted counted;
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(counted.allocate(kMiB));
  EXPECT_EQ(counted.pool.reserved_bytes(), 32 * kMiB);
  ASSERT_TRUE(counted.allocate(1));
  EXPECT_EQ(counted.pool.reserved_bytes(), 64 * kMiB);
  EXPECT_EQ(counted.pool.used_bytes(), 32 * kMiB + kGranuleBytes);
  EXPECT_EQ(counted.blocks, 32U);
}

TEST(Pool, KeepsWhatIsFreedUntilItIsTrimmed) {
  Counted counted;
  const auto one = counted.allocate(30 * kMiB);
  const auto two = counted.allocate(30 * kMiB);
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(counted.pool.free(*one));
  EXPECT_FALSE(counted.pool.free(*one));
  EXPECT_EQ(counted.pool.reserved_bytes(), 64 * kMiB);
  counted.trim(64 * kMiB);
  EXPECT_EQ(counted.pool.reserved_bytes(), 64 * kMiB);
  counted.trim(0);
  EXPECT_EQ(counted.pool.reserved_bytes(), 32 * kMiB);  // The other one is in use.
  EXPECT_EQ(counted.blocks, 16U);
}

TEST(Pool, ARefusedChunkLeavesNothing) {
  Counted counted;
  EXPECT_FALSE(counted.allocate(129 * kMiB));
  EXPECT_EQ(counted.pool.reserved_bytes(), 0U);
  EXPECT_TRUE(counted.allocate(128 * kMiB));
}

}  // namespace
}  // namespace berth::simgpu
