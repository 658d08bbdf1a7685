// SPDX-License-Identifier: Apache-2.0
// GPU memory that goes to the host and comes back, by the checkpoint calls of the real driver.
#include <gmock/gmock.h>

#include <string>

#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

class RealSuspend : public RealGpu {};

bool is_intact(e2e::Program& program) {
  program.type("looked\n");
  return program.says("intact looked");
}

TEST_F(RealSuspend, MoverTakesMemoryOutAndBringsItBackAsItWas) {
  const std::uint64_t bytes = most() / 2;
  e2e::Program program = hold(bytes);
  const std::uint64_t held = used();
  const Move out = move(program.pid(), Direction::kSwapOut, bytes);
  if (refused_by_driver(out.result.trouble)) GTEST_SKIP() << out.result.trouble;
  ASSERT_EQ(out.result.outcome, TransferResult::Outcome::kDone) << out.result.trouble;
  EXPECT_TRUE(uses(0, held - bytes));
  const Move back = move(program.pid(), Direction::kSwapIn, bytes);
  ASSERT_EQ(back.result.outcome, TransferResult::Outcome::kDone) << back.result.trouble;
  EXPECT_TRUE(is_intact(program)) << program.err();
  EXPECT_TRUE(uses(held - bytes / 4, held + bytes / 4));
}

TEST_F(RealSuspend, PausedLeaseGivesItsMemoryAndResumesUnderTheGuard) {
  const std::uint64_t bytes = most() / 4;
  const std::uint64_t before = used();
  e2e::Program program = world().start(
      in_lease(3 * bytes, "guard", {"gpu_worker", "hold", std::to_string(bytes)}, "held"));
  ASSERT_TRUE(program.says("holding")) << program.err();
  const e2e::Output paused = world().run({"berth", "pause", "held"});
  if (paused.status != 0 && refused_by_driver(paused.err)) GTEST_SKIP() << paused.err;
  ASSERT_EQ(paused.status, 0) << paused.err;
  EXPECT_TRUE(uses(0, before + bytes / 2));
  const e2e::Output resumed = world().run({"berth", "resume", "held"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(is_intact(program)) << program.err();
  program.close_input();
  EXPECT_EQ(program.wait(), 0) << program.err();
}

}  // namespace
}  // namespace berth::gpu_tests
