// SPDX-License-Identifier: Apache-2.0
// Comparison of the probe's figures of a real NVML with what the driver says of itself.
#include <gmock/gmock.h>

#include <algorithm>

#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

using ::testing::Not;

class RealProbe : public RealGpu {};

TEST_F(RealProbe, DeviceIsTheOneThatTheDriverHas) {
  auto facts = work({"facts"});
  const DeviceSample device = look();
  EXPECT_EQ(device.model, facts["name"]);
  EXPECT_FALSE(device.lost);
  EXPECT_EQ(device.trouble, "");
  EXPECT_THAT(device.pci_bus, Not(""));
  // The driver keeps some of it for itself, which a program is not told of.
  const std::uint64_t total = bytes_of(facts, "total");
  EXPECT_GE(device.capacity.value, total);
  EXPECT_LE(device.capacity.value, total + total / 8);
  ASSERT_TRUE(device.used.has_value());
  EXPECT_LE(*device.used, device.capacity);
}

TEST_F(RealProbe, WhatAProgramTakesIsCountedAndFreeAfterItsEnd) {
  const std::uint64_t bytes = most() / 2;
  const std::uint64_t before = used();
  e2e::Program program = hold(bytes);
  EXPECT_TRUE(uses(before + bytes, before + bytes + 4 * kGiB));
  program.close_input();
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(uses(0, before + 64 * kMiB));
}

TEST_F(RealProbe, ProgramIsListedWithItsBytes) {
  const std::uint64_t bytes = most() / 2;
  const e2e::Program program = hold(bytes);
  const DeviceSample device = look();
  if (!device.processes || device.processes->empty())
    GTEST_SKIP() << "this driver lists no processes here, as in a container";
  const auto found = std::ranges::find_if(*device.processes, [&](const ProcessSample& process) {
    return process.process.pid == program.pid();
  });
  if (found == device.processes->end())
    GTEST_SKIP() << "this driver lists processes by pids of another PID namespace";
  if (!found->used) GTEST_SKIP() << "this driver does not tell how much a process has";
  EXPECT_GE(found->used->value, bytes);
}

TEST_F(RealProbe, DaemonShowsTheDevice) {
  const DeviceSample device = look();
  const e2e::Output output = world().run({"berth", "status"});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, ::testing::HasSubstr(device.model));
}

}  // namespace
}  // namespace berth::gpu_tests
