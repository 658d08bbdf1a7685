// SPDX-License-Identifier: Apache-2.0
// Device memory of given processes, through the simulated NVML.
#include "gpu/use_of.h"

#include <gtest/gtest.h>

#include "gpu/world_for_test.h"
#include "os/programs.h"

namespace berth::gpu {
namespace {

using Uses = std::optional<std::vector<DeviceUse>>;

const std::string kLibrary = library_directory() + "/simgpu/libnvidia-ml.so.1";

TEST(UseOf, TheseAndNobodyElseAreSummedByDevice) {
  const TestWorld world("1x16GiB,1x24GiB");
  Program one("vram_user", {"--bytes", "1GiB", "--hold", "forever"});
  Program other("vram_user", {"--bytes", "2GiB", "--hold", "forever"});
  Program unmanaged_process("vram_user", {"--bytes", "3GiB", "--hold", "forever"});
  ASSERT_TRUE(one.reads("holding") && other.reads("holding") && unmanaged_process.reads("holding"));
  const Uses uses = use_of(std::vector<std::int32_t>{one.pid(), other.pid()}, kLibrary);
  ASSERT_TRUE(uses);
  ASSERT_EQ(uses->size(), 1U);
  EXPECT_EQ(uses->front().used, gib(3) + mib(600)) << "with what the context of each costs";
}

TEST(UseOf, NothingIsToldOfWhomTheDriverDoesNotList) {
  const TestWorld world("1x16GiB");
  Program one("vram_user", {"--bytes", "1GiB", "--hold", "forever"});
  ASSERT_TRUE(one.reads("holding"));
  EXPECT_FALSE(use_of(std::vector<std::int32_t>{one.pid(), 1}, kLibrary));
}

TEST(UseOf, NothingIsToldWithoutTheLibrary) {
  EXPECT_FALSE(use_of(std::vector<std::int32_t>{1}, "libno-such-nvml.so.1"));
}

}  // namespace
}  // namespace berth::gpu
