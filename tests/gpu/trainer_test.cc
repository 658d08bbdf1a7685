// SPDX-License-Identifier: Apache-2.0
// Training on the real GPU in a lease: programs of PyTorch, and berth-train where ./dev gpu could
// build it with PyTorch's libtorch (BERTH_GPU_TRAINER; else BERTH_GPU_NO_TRAINER says why not). In
// a rehearsal PyTorch is a stand-in that computes nothing, and berth-train uses the CPU.

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

constexpr std::uint64_t kStep = 64 * kMiB;
constexpr std::chrono::seconds kTraining{240};  // PyTorch and its kernels are loaded first.

class RealTraining : public RealGpu {
 protected:
  void SetUp() override {
    RealGpu::SetUp();
    if (IsSkipped()) return;
    budget_ = most() / 2;
    if (!rehearsing() && budget_ < 2 * kGiB) GTEST_SKIP() << "less than 8 GiB of this GPU are free";
  }

  std::uint64_t budget_ = 0;
};

class RealPyTorch : public RealTraining {
 protected:
  void SetUp() override {
    RealTraining::SetUp();
    if (IsSkipped()) return;
    if (world().run({"sh", "-c", "command -v python3"}).status != 0)
      GTEST_SKIP() << "there is no python3 here";
    // The home of a world has no packages of Python in it.
    const std::string base = environment_of("PYTHONUSERBASE");
    auto& environment = world().environment();
    environment["PYTHONUSERBASE"] = base.empty() ? environment_of("HOME") + "/.local" : base;
    environment["PYTHONPATH"] =
        rehearsing() ? BERTH_SOURCE_DIR "/tests/gpu/stand_in" : environment_of("PYTHONPATH");
    environment["PYTHONDONTWRITEBYTECODE"] = "1";
  }

  Facts torch_user(std::vector<std::string> words, const std::string& enforce) {
    words.insert(words.begin(), {"python3", BERTH_SOURCE_DIR "/tests/gpu/torch_user.py"});
    return run(in_lease(budget_, enforce, words), kTraining);
  }
};

TEST_F(RealPyTorch, IsRefusedAtItsBudget) {
  const auto facts =
      torch_user({"grow", std::to_string(kStep), std::to_string(2 * budget_)}, "guard");
  if (IsSkipped()) return;
  ASSERT_TRUE(facts.contains("refused")) << "it got " << bytes_of(facts, "allocated") << " bytes";
  EXPECT_LE(bytes_of(facts, "allocated"), budget_);
  EXPECT_GE(bytes_of(facts, "allocated"), budget_ / 4);  // The rest is its context.
}

// Else the test above would show nothing.
TEST_F(RealPyTorch, WithoutTheGuardItGetsMore) {
  const std::uint64_t limit = budget_ + budget_ / 2;
  const auto facts = torch_user({"grow", std::to_string(kStep), std::to_string(limit)}, "none");
  if (IsSkipped()) return;
  EXPECT_FALSE(facts.contains("refused"));
  EXPECT_EQ(bytes_of(facts, "allocated"), limit / kStep * kStep);
}

TEST_F(RealPyTorch, TrainsInItsBudget) {
  const auto facts = torch_user({"train", "100"}, "guard");
  if (IsSkipped()) return;
  EXPECT_LT(number_of(facts, "last_loss"), number_of(facts, "first_loss") / 2);
}

class RealTrainer : public RealTraining {
 protected:
  void train(const std::string& precision);
};

void RealTrainer::train(const std::string& precision) {
  const std::string trainer = environment_of("BERTH_GPU_TRAINER");
  if (trainer.empty()) GTEST_SKIP() << "no berth-train: " << environment_of("BERTH_GPU_NO_TRAINER");
  if (rehearsing() && precision == "fp16") GTEST_SKIP() << "on CPUs there is no fp16 to rehearse";
  const std::string text = "yes 'the quick brown fox jumps over the lazy dog' | head -n 2000 >text";
  ASSERT_EQ(world().run({"sh", "-c", text}).status, 0);
  const std::string device = rehearsing() ? "cpu" : "cuda";
  const e2e::Output output =
      world().run(in_lease(budget_, "guard",
                           {trainer, "--run.text", "text", "--run.device", device,
                            "--data.precision", precision, "--data.rows", "4", "--predict.mode",
                            "off", "--rate.steps", "40", "--validate.every", "0"}),
                  {}, kTraining);
  ASSERT_EQ(output.status, 0) << output.out << output.err;
  // Of its 28 characters, each as likely as the others, it would be 3.3.
  const std::string name = "validation loss ";
  const std::size_t loss = output.out.find(name);
  ASSERT_NE(loss, std::string::npos) << output.out;
  EXPECT_LT(std::strtod(output.out.c_str() + loss + name.size(), nullptr), 2) << output.out;
}

TEST_F(RealTrainer, TrainsInItsBudgetIn32Bits) {
  train("fp32");
}

TEST_F(RealTrainer, TrainsInItsBudgetInBfloat16) {
  train("bf16");
}

TEST_F(RealTrainer, TrainsInItsBudgetInHalfPrecision) {
  train("fp16");
}

}  // namespace
}  // namespace berth::gpu_tests
