// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/heap.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
const int kOwner = 0;
const int kOther = 0;

// A heap and what it has charged.
struct Counted {
  std::unique_ptr<Heap> heap = Heap::make(64 * kMiB);
  std::uint64_t blocks = 0;
  std::uint64_t limit = 32;

  std::optional<DevicePointer> allocate(std::uint64_t bytes, const void* owner = &kOwner) {
    return heap->allocate(bytes, owner, [this](std::uint64_t count) {
      if (blocks + count > limit) return false;
      blocks += count;
      return true;
    });
  }
  bool free(DevicePointer pointer) {
    const std::optional<std::uint64_t> given = heap->free(pointer);
    if (given) blocks -= *given;
    return given.has_value();
  }
};

TEST(Heap, LargeAllocationsAreRoundedToBlocksOf2MiB) {
  Counted counted;
  ASSERT_TRUE(counted.allocate(kMiB + 1));
  EXPECT_EQ(counted.blocks, 1U);
  ASSERT_TRUE(counted.allocate(2 * kMiB));
  EXPECT_EQ(counted.blocks, 2U);
  ASSERT_TRUE(counted.allocate(2 * kMiB + 1));
  EXPECT_EQ(counted.blocks, 4U);
}

TEST(Heap, SmallAllocationsShareABlockInGranulesOf512Bytes) {
  Counted counted;
  const auto first = counted.allocate(1);
  const auto second = counted.allocate(513);
  const auto third = counted.allocate(kMiB);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(*second - *first, 512U);
  EXPECT_EQ(*third - *second, 1024U);
  EXPECT_EQ(counted.blocks, 1U);
  ASSERT_TRUE(counted.allocate(kMiB));  // No longer fits beside them.
  EXPECT_EQ(counted.blocks, 2U);
}

TEST(Heap, ABlockIsGivenBackWithItsLastSmallAllocation) {
  Counted counted;
  const DevicePointer first = *counted.allocate(100);
  const DevicePointer second = *counted.allocate(100);
  EXPECT_TRUE(counted.free(first));
  EXPECT_EQ(counted.blocks, 1U);
  EXPECT_TRUE(counted.free(second));
  EXPECT_EQ(counted.blocks, 0U);
}

TEST(Heap, ARefusedChargeLeavesNothingTaken) {
  Counted counted;
  counted.limit = 0;
  EXPECT_FALSE(counted.allocate(4 * kMiB));
  EXPECT_FALSE(counted.allocate(100));
  counted.limit = 32;
  const auto all = counted.allocate(64 * kMiB);
  ASSERT_TRUE(all);
  EXPECT_TRUE(counted.free(*all));
}

TEST(Heap, FreesWhatBeginsThereOnceAndNothingElse) {
  Counted counted;
  const DevicePointer pointer = *counted.allocate(4 * kMiB);
  EXPECT_FALSE(counted.free(pointer + 512));
  EXPECT_FALSE(counted.free(1));
  EXPECT_TRUE(counted.free(pointer));
  EXPECT_FALSE(counted.free(pointer));
}

TEST(Heap, AnOwnersAllocationsGoTogether) {
  Counted counted;
  const DevicePointer kept = *counted.allocate(100, &kOther);
  ASSERT_TRUE(counted.allocate(100, &kOwner));
  ASSERT_TRUE(counted.allocate(8 * kMiB, &kOwner));
  EXPECT_EQ(counted.heap->free_all(&kOwner), 4U);
  EXPECT_NE(counted.heap->read(kept, 100), nullptr);
}

TEST(Heap, ARangeThatLeavesItsAllocationIsNoMemory) {
  Counted counted;
  const DevicePointer pointer = *counted.allocate(1000);
  EXPECT_NE(counted.heap->write(pointer + 999, 1), nullptr);
  EXPECT_EQ(counted.heap->write(pointer + 999, 2), nullptr);
  EXPECT_EQ(counted.heap->read(pointer + 1000, 1), nullptr);
  EXPECT_EQ(counted.heap->read(pointer, ~std::uint64_t{0}), nullptr);
}

TEST(Heap, WhatIsFreedIsForgotten) {
  Counted counted;
  const DevicePointer pointer = *counted.allocate(4 * kMiB);
  std::memset(counted.heap->write(pointer, 4 * kMiB), 7, 4 * kMiB);
  ASSERT_TRUE(counted.free(pointer));
  const DevicePointer again = *counted.allocate(4 * kMiB);
  ASSERT_EQ(again, pointer);
  EXPECT_EQ(*counted.heap->read(again + 4 * kMiB - 1, 1), std::byte{0});
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

TEST(Heap, AStripeOf4KiBInEach2MiBCostsLittleMore) {
  const std::unique_ptr<Heap> heap = Heap::make(std::uint64_t{4} << 30U);
  const auto all =
      heap->allocate(std::uint64_t{4} << 30U, &kOwner, [](std::uint64_t) { return true; });
  ASSERT_TRUE(all);
  const std::uint64_t before = resident_bytes();
  for (std::uint64_t at = 0; at < std::uint64_t{4} << 30U; at += kBlockBytes) {
    std::memset(heap->write(*all + at, 4096), 1, 4096);
  }
  EXPECT_LT(resident_bytes() - before, 64 * kMiB);  // 2048 stripes: 8 MiB, and page tables.
}

TEST(Heap, TheHostCannotReadADevicePointer) {
  Counted counted;
  const DevicePointer pointer = *counted.allocate(4096);
  const auto* address = std::bit_cast<const volatile char*>(pointer);
  EXPECT_DEATH((void)*address, "");
}

// Random calls against a model: bytes charged are those that the model needs, data stay.
TEST(Heap, RandomCallsKeepDataAndCountBlocksExactly) {
  Counted counted;
  std::mt19937_64 random(2);
  std::map<DevicePointer, std::pair<std::uint64_t, std::byte>> live;
  for (int round = 0; round < 5'000; ++round) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 8 * kMiB : 8192);
      const auto pointer = counted.allocate(bytes);
      if (!pointer) continue;
      const auto mark = static_cast<std::byte>(random());
      std::byte* memory = counted.heap->write(*pointer, bytes);
      ASSERT_NE(memory, nullptr);
      memory[0] = memory[bytes - 1] = mark;
      ASSERT_TRUE(live.emplace(*pointer, std::pair(bytes, mark)).second);
    } else if (!live.empty()) {
      const auto some = std::next(live.begin(), static_cast<long>(random() % live.size()));
      const auto [bytes, mark] = some->second;
      ASSERT_EQ(*counted.heap->read(some->first, bytes), mark);
      ASSERT_EQ(*counted.heap->read(some->first + bytes - 1, 1), mark);
      ASSERT_TRUE(counted.free(some->first));
      live.erase(some);
    }
    std::uint64_t large = 0;
    std::map<std::uint64_t, bool> shared;
    for (const auto& [pointer, what] : live) {
      if (what.first > kSmallMax) large += (what.first + kBlockBytes - 1) / kBlockBytes;
      if (what.first <= kSmallMax) shared[pointer / kBlockBytes] = true;
    }
    // A mapping need not begin at a multiple of 2 MiB, so a shared block may show as two.
    ASSERT_GE(counted.blocks, large + (shared.size() + 1) / 2);
    ASSERT_LE(counted.blocks, large + shared.size());
  }
  for (const auto& [pointer, what] : live) ASSERT_TRUE(counted.free(pointer));
  EXPECT_EQ(counted.blocks, 0U);
}

}  // namespace
}  // namespace berth::simgpu
