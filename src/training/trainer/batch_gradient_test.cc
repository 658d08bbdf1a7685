// SPDX-License-Identifier: Apache-2.0
#include "trainer/batch_gradient.h"

#include <gtest/gtest.h>

#include "train/state_text.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

HybridConfig scaled(double scale, OptimizerKind kind = OptimizerKind::kAdamW) {
  HybridConfig config = short_phases(Mode::kOff, PredictorKind::kNull);
  config.loss_scale = scale;
  config.micro_rows = 1;
  config.clip = 0.5;
  config.optimizer.kind = kind;
  return config;
}

TEST(LossScaling, OfPowersOfTwoNoBitIsMoved) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kMuon}) {
    std::vector<at::Tensor> weights;
    std::vector<double> norms;
    for (const double scale : {0.0, 1024.0, 65'536.0}) {
      Gpt2 model(kTinyGpt2);
      model.initialize(3);
      HybridTrainer trainer(
          model, [&](const Batch& batch) { return model.loss(batch); }, scaled(scale, kind),
          numbers());
      for (int i = 0; i < 10; ++i) {
        const auto report = trainer.step(numbers(i));
        ASSERT_TRUE(report.ok());
        norms.push_back(*report->gradient_norm);
      }
      weights.push_back(trainer.parameters().values().clone());
    }
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
    EXPECT_TRUE(at::equal(weights[0], weights[2]));
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(norms[i], norms[10 + i]);
      EXPECT_EQ(norms[i], norms[20 + i]);
    }
  }
}

/// Its gradient is so large that with a scale of 65536 its norm is no number.
class Steep : public torch::nn::Module {
 public:
  Steep() { weight = register_parameter("weight", torch::full({4, 4}, 0.5)); }
  at::Tensor loss(const Batch&) const { return weight.sum() * 1e14; }

  at::Tensor weight;
};

TEST(LossScaling, AGradientThatDoesNotFitIsSkippedAndChangesNothingButTheScale) {
  Steep steep;
  HybridTrainer trainer(
      steep, [&](const Batch& batch) { return steep.loss(batch); }, scaled(1 << 20), numbers());
  const at::Tensor before = trainer.parameters().values().clone();
  train::StateText first;
  trainer.visit(first);
  std::uint64_t skipped = 0;
  for (; skipped < 20; ++skipped) {
    const auto report = trainer.step(numbers());
    ASSERT_TRUE(report.ok()) << report.error().message;
    if (!report->skipped) break;
    EXPECT_FALSE(report->gradient_norm);
    EXPECT_EQ(report->verdict.level, train::Level::kNormal) << "it is no sign of trouble";
    EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
    EXPECT_EQ(trainer.optimizer().first_moments().abs().max().item<double>(), 0);
    EXPECT_EQ(trainer.optimizer().second_moments().abs().max().item<double>(), 0);
    EXPECT_EQ(trainer.optimizer().steps(), 0U);
    train::StateText now;
    trainer.visit(now);
    for (const auto& [name, value] : now.values()) {
      const bool counts = name == "trainer.step" || name.starts_with("totals.") ||
                          name.starts_with("loss_scale.") || name == "trainer.last_loss" ||
                          name == "trainer.batch_tokens" || name == "trainer.micro";
      EXPECT_TRUE(counts || value == first.values().at(name)) << name;
    }
  }
  EXPECT_GT(skipped, 1U);
  EXPECT_LT(skipped, 20U);
  EXPECT_EQ(trainer.totals().skipped, skipped);
  EXPECT_EQ(trainer.optimizer().steps(), 1U);
  EXPECT_FALSE(at::equal(trainer.parameters().values(), before));
}

TEST(LossScaling, WhatNoScaleHelpsIsTheMonitorsToJudge) {
  Bowl bowl;
  bowl.goal = 1e30;  // The loss is a number in 64 bits only: its gradient is none at any scale.
  HybridTrainer trainer(
      bowl, [&](const Batch& batch) { return bowl.loss(batch) * 0 + bowl.matrix.sum() * 3e19; },
      scaled(2), numbers());
  const auto first = trainer.step(numbers());
  ASSERT_TRUE(first.ok());
  const auto second = trainer.step(numbers());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->verdict.level, train::Level::kCritical);
}

TEST(LossScaling, GoesOnFromItsSavedState) {
  Steep steep;
  HybridTrainer trainer(
      steep, [&](const Batch& batch) { return steep.loss(batch); }, scaled(1 << 20), numbers());
  ASSERT_TRUE(trainer.step(numbers()).ok());
  train::StateText state;
  trainer.visit(state);
  EXPECT_EQ(state.values().at("loss_scale.scale"), std::to_string((1 << 20) / 2));
}

}  // namespace
}  // namespace berth::trainer
