// SPDX-License-Identifier: Apache-2.0
// The guard between an unmodified program and the real driver.
#include <gmock/gmock.h>

#include <string>

#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

constexpr std::uint64_t kStep = 64 * kMiB;

class RealGuard : public RealGpu {
 protected:
  void SetUp() override {
    RealGpu::SetUp();
    if (IsSkipped()) return;
    budget_ = most() / 2;
    if (!rehearsing() && budget_ < kGiB) GTEST_SKIP() << "less than 4 GiB of this GPU are free";
  }

  std::uint64_t budget_ = 0;
};

TEST_F(RealGuard, ProgramGetsItsBudgetAndNoMore) {
  const auto facts =
      work_in_lease(budget_, {"grow", std::to_string(kStep), std::to_string(2 * budget_)}, "guard");
  ASSERT_TRUE(facts.contains("refused")) << "it got " << bytes_of(facts, "allocated") << " bytes";
  EXPECT_EQ(bytes_of(facts, "refused"), 2U) << "that is not CUDA_ERROR_OUT_OF_MEMORY";
  EXPECT_LE(bytes_of(facts, "allocated"), budget_);
  EXPECT_GE(bytes_of(facts, "allocated"), budget_ / 4);  // The rest is its context.
}

// Else the test above would show nothing.
TEST_F(RealGuard, WithoutTheGuardItGetsMore) {
  const std::uint64_t limit = budget_ + budget_ / 2;
  const auto facts =
      work_in_lease(budget_, {"grow", std::to_string(kStep), std::to_string(limit)}, "none");
  EXPECT_FALSE(facts.contains("refused"));
  EXPECT_GE(bytes_of(facts, "allocated"), limit);
}

TEST_F(RealGuard, ProgramSeesItsBudgetAsTheDevice) {
  const auto facts = work_in_lease(budget_, {"facts"}, "guard");
  EXPECT_LE(bytes_of(facts, "total"), budget_);
  EXPECT_LE(bytes_of(facts, "free"), budget_);
}

TEST_F(RealGuard, TwoProgramsOfALeaseShareItsBudget) {
  const std::uint64_t first = budget_ / 4;
  const std::string script =
      "tail -f /dev/null | gpu_worker hold " + std::to_string(first) + " >first & held=$!\n" +
      "until grep -q holding first || ! kill -0 $held; do :; done\n" + "gpu_worker grow " +
      std::to_string(kStep) + " " + std::to_string(2 * budget_) + " </dev/null; kill $held";
  const e2e::Output output = world().run(in_lease(budget_, "guard", {"sh", "-c", script}));
  ASSERT_EQ(output.status, 0) << output.err;
  const auto facts = facts_in(output.out);
  EXPECT_TRUE(facts.contains("refused"));
  EXPECT_LE(bytes_of(facts, "allocated") + first, budget_);
}

TEST_F(RealGuard, KernelsComputeTheSame) {
  if (rehearsing()) GTEST_SKIP() << "the simulated driver runs no kernels";
  const auto facts = work_in_lease(budget_, {"compute"}, "guard");
  if (IsSkipped()) return;
  EXPECT_EQ(bytes_of(facts, "computed"), 1'000'000U);
}

TEST_F(RealGuard, MemoryIsFreeAfterTheLease) {
  const std::uint64_t before = used();
  (void)work_in_lease(budget_, {"grow", std::to_string(kStep), std::to_string(budget_ / 2)});
  EXPECT_TRUE(uses(0, before + 64 * kMiB));
}

}  // namespace
}  // namespace berth::gpu_tests
