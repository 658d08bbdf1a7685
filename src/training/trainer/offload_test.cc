// SPDX-License-Identifier: Apache-2.0
#include "trainer/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "trainer/memory.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

TEST(Offload, IsACopyThatIsNotCounted) {
  count_tensor_memory();
  const at::Tensor tensor = torch::arange(10'000, at::kFloat).view({100, 100});
  const Bytes before = tensor_memory().now;
  const Result<at::Tensor> away = offloaded(tensor, "");
  ASSERT_TRUE(away.ok()) << away.error().message;
  EXPECT_EQ(tensor_memory().now, before);
  EXPECT_TRUE(at::equal(*away, tensor));
  away->add_(1);
  EXPECT_EQ(tensor[0][0].item<float>(), 0) << "it is another one";
}

TEST(Offload, AFileForItHasNoNameAndGoesWithIt) {
  std::string folder = testing::TempDir() + "offloadXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    const at::Tensor tensor = torch::arange(100'000, at::kFloat);
    const Result<at::Tensor> away = offloaded(tensor, folder);
    ASSERT_TRUE(away.ok()) << away.error().message;
    EXPECT_TRUE(at::equal(*away, tensor));
    away->mul_(2);
    EXPECT_EQ((*away)[99'999].item<float>(), 199'998);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove(folder);
}

TEST(Offload, WithoutAFolderToPutItTheReasonIsTold) {
  const Result<at::Tensor> away = offloaded(torch::ones({3}), "/nowhere/at/all");
  ASSERT_FALSE(away.ok());
  EXPECT_THAT(away.error().message, testing::HasSubstr("cannot make a file in /nowhere/at/all"));
}

/// Training with snapshots and jumps, with what the optimizer keeps offloaded after some steps.
at::Tensor trained(std::int64_t offload_after, OptimizerKind kind, Bytes* less = nullptr) {
  count_tensor_memory();
  Gpt2 model(kTinyGpt2);
  model.initialize(3);
  HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  config.optimizer.kind = kind;
  const at::Tensor tokens = torch::arange(17, at::kLong).remainder(31);
  const Batch batch{.inputs = tokens.narrow(0, 0, 16).view({2, 8}),
                    .targets = tokens.narrow(0, 1, 16).view({2, 8})};
  HybridTrainer trainer(model, [&](const Batch& rows) { return model.loss(rows); }, config, batch);
  for (std::int64_t step = 0; step < 40; ++step) {
    if (step == offload_after) {
      const Bytes before = tensor_memory().now;
      EXPECT_TRUE(trainer.offload("").ok());
      EXPECT_TRUE(trainer.offload("").ok()) << "a second time is nothing";
      if (less != nullptr) *less = saturating_sub(before, tensor_memory().now);
    }
    EXPECT_TRUE(trainer.step(trainer.wants_batch() ? batch : Batch{}).ok());
  }
  EXPECT_GT(trainer.totals().predicted_steps, 0U);
  return trainer.parameters().values().clone();
}

TEST(Offload, TrainingGoesOnToTheLastBitAndFiveBuffersAreGone) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kMuon}) {
    Bytes less;
    const at::Tensor kept = trained(-1, kind);
    EXPECT_TRUE(at::equal(trained(13, kind, &less), kept));
    EXPECT_EQ(less.value, 5 * kept.nbytes());
  }
}

TEST(Offload, WhatWasOffloadedIsSavedAndRolledBackTo) {
  Bowl bowl;
  HybridTrainer trainer(
      bowl, [&](const Batch& batch) { return bowl.loss(batch); },
      short_phases(Mode::kOff, PredictorKind::kNull), numbers());
  ASSERT_TRUE(trainer.offload("").ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(trainer.step(numbers()).ok());
  for (const HybridTrainer::NamedTensor& named : trainer.tensors()) {
    if (named.name == "adamw.first") {
      EXPECT_TRUE(at::equal(named.tensor, trainer.optimizer().first_moments()));
      EXPECT_GT(named.tensor.abs().max().item<double>(), 0);
    }
  }
  bowl.goal = std::nan("");
  const auto report = trainer.step(numbers());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->rolled_back);
  EXPECT_EQ(trainer.optimizer().steps(), 5U) << "that of the snapshot";
}

}  // namespace
}  // namespace berth::trainer
