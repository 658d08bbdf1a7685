// SPDX-License-Identifier: Apache-2.0
#include "guard/physical.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace berth::guard {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;

// One object of a page for each number from 1 on; the program has released their handles.
void map_pages(Physical& physical, std::uint64_t address, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t handle = i + 1;
    ASSERT_TRUE(physical.created(handle, 0, kPage));
    physical.mapped(physical.object_of(handle), address + i * kPage, kPage);
    EXPECT_EQ(physical.released(physical.begin_release(handle)).object, 0U);
  }
}

std::size_t freed_by(Physical& physical, std::uint64_t address, std::uint64_t bytes,
                     bool done = true) {
  std::size_t freed = 0;
  EXPECT_TRUE(physical.unmap(
      address, bytes, [&] { return done; },
      [&](const Physical::Freed& each) { freed += each.object != 0 ? 1 : 0; }));
  return freed;
}

TEST(Physical, OneCallUnmapsAsManyMappingsAsItsRangeHas) {
  const auto physical = std::make_unique<Physical>();
  map_pages(*physical, kPage, 5'000);
  EXPECT_EQ(freed_by(*physical, 11 * kPage, 4'000 * kPage), 4'000U);
  EXPECT_EQ(freed_by(*physical, 11 * kPage, 4'000 * kPage), 0U);
  EXPECT_EQ(freed_by(*physical, kPage, 5'000 * kPage), 1'000U);  // What is left, on both sides.
}

TEST(Physical, WhatTheDriverDidNotUnmapStays) {
  const auto physical = std::make_unique<Physical>();
  map_pages(*physical, kPage, 100);
  EXPECT_EQ(freed_by(*physical, kPage, 100 * kPage, false), 0U);
  EXPECT_EQ(freed_by(*physical, kPage, 100 * kPage), 100U);
}

TEST(Physical, AMappingThatIsLongerThanTheRangeIsNotInIt) {
  const auto physical = std::make_unique<Physical>();
  ASSERT_TRUE(physical->created(7, 0, 4 * kPage));
  physical->mapped(physical->object_of(7), kPage, 4 * kPage);
  (void)physical->released(physical->begin_release(7));
  EXPECT_EQ(freed_by(*physical, 2 * kPage, kPage), 0U);
  EXPECT_EQ(freed_by(*physical, kPage, 2 * kPage), 0U);
  EXPECT_EQ(freed_by(*physical, 0, 3 * kPage), 0U);
  EXPECT_EQ(freed_by(*physical, kPage, 4 * kPage), 1U);
}

// By another thread, as soon as the driver has the addresses free.
TEST(Physical, WhatIsMappedAnewMeanwhileStays) {
  const auto physical = std::make_unique<Physical>();
  map_pages(*physical, kPage, 200);
  ASSERT_TRUE(physical->created(999, 0, kPage));
  std::size_t freed = 0;
  EXPECT_TRUE(physical->unmap(
      kPage, 200 * kPage,
      [&] {
        for (std::size_t i = 0; i < 200; ++i)
          physical->mapped(physical->object_of(999), kPage + i * kPage, kPage);
        return true;
      },
      [&](const Physical::Freed& each) { freed += each.object != 0 ? 1 : 0; }));
  EXPECT_EQ(freed, 200U);
  EXPECT_EQ(physical->released(physical->begin_release(999)).object, 0U) << "it is mapped";
  EXPECT_EQ(freed_by(*physical, kPage, 200 * kPage), 1U);
}

TEST(Physical, AHandleIsRetainedByAnyAddressOfAMapping) {
  const auto physical = std::make_unique<Physical>();
  ASSERT_TRUE(physical->created(7, 0, 4 * kPage));
  physical->mapped(physical->object_of(7), kPage, 4 * kPage);
  (void)physical->released(physical->begin_release(7));
  for (const std::uint64_t address : {kPage, kPage + 1, 5 * kPage - 1}) {
    physical->retained(8, address);
    EXPECT_NE(physical->object_of(8), 0U);
    EXPECT_EQ(physical->released(physical->begin_release(8)).object, 0U);
  }
  physical->retained(8, 5 * kPage);
  EXPECT_EQ(physical->object_of(8), 0U);
}

}  // namespace
}  // namespace berth::guard
