// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/visible.h"

#include <gtest/gtest.h>

namespace berth::simgpu {
namespace {

using Indices = std::vector<std::uint32_t>;

const std::vector<PhysicalDevice> kDevices = {{"GPU-aa11", 16}, {"GPU-aa22", 24}, {"GPU-bb33", 16}};

TEST(VisibleDevices, UnsetShowsAllAndEmptyShowsNone) {
  EXPECT_EQ(visible_devices(kDevices, std::nullopt, true), (Indices{0, 1, 2}));
  EXPECT_EQ(visible_devices(kDevices, "", true), Indices{});
}

TEST(VisibleDevices, TheListGivesTheOrder) {
  EXPECT_EQ(visible_devices(kDevices, "2,0", true), (Indices{2, 0}));
  EXPECT_EQ(visible_devices(kDevices, " 1 , 2 ", true), (Indices{1, 2}));
}

TEST(VisibleDevices, AnInvalidEntryEndsTheList) {
  for (const char* text :
       {"0,3,1", "0,-1,1", "0,x,1", "0,,1", "0,0,1", "0,1x", "0,GPU-", "0,GPU-zz", "0,MIG-aa11"}) {
    EXPECT_EQ(visible_devices(kDevices, text, true), Indices{0}) << text;
  }
  EXPECT_EQ(visible_devices(kDevices, "-1", true), Indices{});
  EXPECT_EQ(visible_devices(kDevices, "NoDevFiles", true), Indices{});
}

TEST(VisibleDevices, AUuidMayBeShortenedWhileItIsOneDevices) {
  EXPECT_EQ(visible_devices(kDevices, "GPU-bb,GPU-aa2", true), (Indices{2, 1}));
  EXPECT_EQ(visible_devices(kDevices, "GPU-aa", true), Indices{});
}

TEST(VisibleDevices, WithoutPciOrderTheFastestComesFirst) {
  EXPECT_EQ(visible_devices(kDevices, std::nullopt, false), (Indices{1, 0, 2}));
  EXPECT_EQ(visible_devices(kDevices, "0", false), Indices{1});
}

}  // namespace
}  // namespace berth::simgpu
