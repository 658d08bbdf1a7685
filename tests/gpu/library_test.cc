// SPDX-License-Identifier: Apache-2.0
// libberth in a program of its own, over a real driver: the lease that it asks for, what it
// measures, and whether there is room.
#include <gmock/gmock.h>

#include <string>

#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

class RealLibrary : public RealGpu {};

TEST_F(RealLibrary, MeasuresTheDeviceOfItsOwnLease) {
  const std::uint64_t bytes = most() / 2;
  ASSERT_EQ(world().run({"berth", "status"}).status, 0);  // Starts the daemon.
  const e2e::Output output = world().run({"gpu_library_user", std::to_string(bytes)});
  ASSERT_EQ(output.status, 0) << output.err;
  auto facts = facts_in(output.out);
  const DeviceSample device = look();
  EXPECT_EQ(facts["driver"], "yes");
  EXPECT_EQ(bytes_of(facts, "budget"), bytes);
  EXPECT_EQ(bytes_of(facts, "total"), device.capacity.value);
  EXPECT_LE(bytes_of(facts, "used"), device.capacity.value);
  EXPECT_THAT(output.out, ::testing::HasSubstr("room yes\nroom no\n"));
}

}  // namespace
}  // namespace berth::gpu_tests
