// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/virtual_memory.h"

#include <gtest/gtest.h>

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kSize = 4 * kBlockBytes;

// Virtual memory and what it has charged of ten blocks.
struct Counted {
  VirtualMemory memory;
  VirtualMemory::Sharing sharing = VirtualMemory::Sharing::kNone;
  std::uint64_t blocks = 0;

  std::optional<VirtualMemory::Handle> create(std::uint64_t bytes = kSize) {
    return memory.create(3, bytes, sharing, [this](std::uint64_t count) {
      if (blocks + count > 10) return false;
      blocks += count;
      return true;
    });
  }
  bool release(VirtualMemory::Handle handle) {
    const auto freed = memory.release(handle);
    if (freed) blocks -= freed->blocks;
    return freed.has_value();
  }
  bool unmap(DevicePointer at, std::uint64_t bytes = kSize) {
    return memory.unmap(at, bytes, [this](VirtualMemory::Freed freed) { blocks -= freed.blocks; });
  }
};

TEST(VirtualMemory, PhysicalMemoryIsChargedWhenItIsCreated) {
  Counted counted;
  const auto handle = counted.create();
  ASSERT_TRUE(handle);
  EXPECT_EQ(counted.blocks, 4U);
  EXPECT_FALSE(counted.create(7 * kBlockBytes));
  EXPECT_TRUE(counted.release(*handle));
  EXPECT_EQ(counted.blocks, 0U);
  EXPECT_FALSE(counted.release(*handle));
}

TEST(VirtualMemory, ItLivesUntilItsLastMappingIsGone) {
  Counted counted;
  const auto handle = counted.create();
  const auto at = counted.memory.reserve(2 * kSize);
  ASSERT_TRUE(handle && at);
  ASSERT_TRUE(counted.memory.map(*at, kSize, *handle));
  ASSERT_TRUE(counted.memory.map(*at + kSize, kSize, *handle));
  EXPECT_TRUE(counted.release(*handle));
  EXPECT_FALSE(counted.memory.map(*at, kSize, *handle));
  EXPECT_TRUE(counted.unmap(*at));
  EXPECT_EQ(counted.blocks, 4U);
  EXPECT_TRUE(counted.unmap(*at + kSize));
  EXPECT_EQ(counted.blocks, 0U);
}

TEST(VirtualMemory, WhatIsMappedCanBeRetained) {
  Counted counted;
  const auto handle = counted.create();
  const auto at = counted.memory.reserve(kSize);
  ASSERT_TRUE(counted.memory.map(*at, kSize, *handle));
  EXPECT_EQ(counted.memory.retain(*at + kSize - 1), handle);
  EXPECT_FALSE(counted.memory.retain(*at + kSize));
  EXPECT_TRUE(counted.unmap(*at));
  EXPECT_TRUE(counted.release(*handle));
  EXPECT_EQ(counted.blocks, 4U);
  EXPECT_TRUE(counted.release(*handle));
  EXPECT_EQ(counted.blocks, 0U);
}

TEST(VirtualMemory, WhatIsSharedIsFreeWhenNobodyHasItAnyMore) {
  Counted owner{.sharing = VirtualMemory::Sharing::kByDescriptor};
  Counted other;
  const auto drop = [&] {
    owner.memory.drop_unheld([&](VirtualMemory::Freed freed) { owner.blocks -= freed.blocks; });
    return owner.blocks;
  };
  const auto handle = owner.create();
  os::UniqueFd first(owner.memory.share(*handle));
  os::UniqueFd second(owner.memory.share(*handle));
  const auto got = other.memory.adopt(second.get());
  const auto at = other.memory.reserve(kSize);
  ASSERT_TRUE(got && at);
  EXPECT_EQ(other.blocks, 0U);
  EXPECT_TRUE(owner.release(*handle));
  EXPECT_EQ(drop(), 4U);
  ASSERT_TRUE(other.memory.map(*at, kSize, *got));
  EXPECT_TRUE(other.release(*got));
  second = {};
  EXPECT_EQ(drop(), 4U);
  first = {};
  EXPECT_EQ(drop(), 4U);  // It is mapped there.
  EXPECT_TRUE(other.unmap(*at));
  EXPECT_EQ(drop(), 0U);
  EXPECT_EQ(other.blocks, 0U);
}

TEST(VirtualMemory, WhatIsWrittenHereIsReadThere) {
  Counted owner{.sharing = VirtualMemory::Sharing::kByDescriptor};
  Counted other;
  const auto handle = owner.create();
  const os::UniqueFd shared(owner.memory.share(*handle));
  const auto got = other.memory.adopt(shared.get());
  const auto here = owner.memory.reserve(kSize);
  const auto there = other.memory.reserve(kSize);
  ASSERT_TRUE(owner.memory.map(*here, kSize, *handle));
  ASSERT_TRUE(other.memory.map(*there, kSize, *got));
  ASSERT_TRUE(owner.memory.set_access(*here, kSize, true));
  ASSERT_TRUE(other.memory.set_access(*there, kSize, true));
  owner.memory.find(*here, 8)[7] = std::byte{9};
  EXPECT_EQ(other.memory.find(*there, 8)[7], std::byte{9});
}

TEST(VirtualMemory, WhatIsNotSharedHasNoDescriptor) {
  Counted counted;
  EXPECT_EQ(counted.memory.share(*counted.create()), -1);
  EXPECT_FALSE(counted.memory.adopt(0));
}

TEST(VirtualMemory, MappingsStayInTheirRangeAndApart) {
  Counted counted;
  const auto handle = counted.create();
  const auto at = counted.memory.reserve(2 * kSize);
  EXPECT_FALSE(counted.memory.map(*at + 2 * kSize, kSize, *handle));
  EXPECT_FALSE(counted.memory.map(*at + 1, kSize, *handle));
  EXPECT_FALSE(counted.memory.map(*at, kSize / 2, *handle));
  ASSERT_TRUE(counted.memory.map(*at + kBlockBytes, kSize, *handle));
  EXPECT_FALSE(counted.memory.map(*at, kSize, *handle));
  EXPECT_FALSE(counted.memory.map(*at + 2 * kBlockBytes, kSize, *handle));
  EXPECT_FALSE(counted.unmap(*at));
  EXPECT_FALSE(counted.memory.free_addresses(*at, 2 * kSize));
  EXPECT_TRUE(counted.unmap(*at + kBlockBytes));
  EXPECT_TRUE(counted.memory.free_addresses(*at, 2 * kSize));
}

TEST(VirtualMemory, OnlyWhatIsMappedAndAllowedCanBeReached) {
  Counted counted;
  const auto handle = counted.create();
  const auto at = counted.memory.reserve(kSize);
  ASSERT_TRUE(counted.memory.map(*at, kSize, *handle));
  EXPECT_EQ(counted.memory.find(*at, 1), nullptr);
  ASSERT_TRUE(counted.memory.set_access(*at, kSize, true));
  std::byte* memory = counted.memory.find(*at, kSize);
  ASSERT_NE(memory, nullptr);
  memory[5] = std::byte{7};
  EXPECT_EQ(*counted.memory.find(*at + 5, 1), std::byte{7});
  EXPECT_EQ(counted.memory.find(*at + 1, kSize), nullptr);
}

}  // namespace
}  // namespace berth::simgpu
