// SPDX-License-Identifier: Apache-2.0
// Steps that are made from a point ahead of the weights.
#include "trainer/lookahead.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

HybridConfig ahead(double steps) {
  HybridConfig config = short_phases(Mode::kOff, PredictorKind::kNull);
  config.snapshot_every = 0;
  config.lookahead = {.steps = steps, .decay = 0.9};
  return config;
}

LossFunction to_loss(const Bowl& bowl) {
  return [&bowl](const Batch& batch) { return bowl.loss(batch); };
}

Status step_of(HybridTrainer& trainer) {
  EXPECT_TRUE(trainer.wants_batch());
  const Result<StepReport> report = trainer.step(numbers(4));
  return report.ok() ? Status(Unit{}) : Status(report.error());
}

TEST(Lookahead, EachStepIsMadeFromAheadAlongTheMeanOfThoseBeforeIt) {
  constexpr double kSteps = 0.6;
  Bowl by_hand(2);
  FlatParameters flat(by_hand);
  Optimizer optimizer(flat, {.adamw = {.decay = 0}});
  at::Tensor mean = flat.like();
  Bowl trained(2);
  HybridTrainer trainer(trained, to_loss(trained), ahead(kSteps), numbers());
  for (int i = 0; i < 30; ++i) {
    const at::Tensor before = flat.values().clone();
    {
      const torch::NoGradGuard no_gradients;
      flat.values().add_(mean * kSteps);
    }
    flat.clear_gradients();
    by_hand.loss(numbers(4)).backward();
    const double norm = flat.gradient_norm();
    optimizer.step(flat, {.rate = 0.01, .gradient_scale = norm > 1 ? 1 / norm : 1});
    {
      const torch::NoGradGuard no_gradients;
      mean = mean * 0.9 + (flat.values() - before) * 0.1;
    }
    ASSERT_TRUE(step_of(trainer).ok());
    ASSERT_TRUE(at::allclose(flat.values(), trainer.parameters().values(), 1e-4, 1e-6)) << i;
  }
  Bowl plain(2);
  HybridTrainer without(plain, to_loss(plain), ahead(0), numbers());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(step_of(without).ok());
  EXPECT_GT((without.parameters().values() - flat.values()).norm().item<double>(), 0.05);
}

TEST(Lookahead, AStepThatIsNotMadeLeavesTheWeightsToTheLastBit) {
  for (const bool is_no_number : {true, false}) {
    Bowl bowl(2);
    bool fails = false;
    const LossFunction loss = [&](const Batch& batch) {
      TORCH_CHECK(!fails || is_no_number, "it fails");
      return bowl.loss(batch) * (fails ? std::nan("") : 1);
    };
    HybridTrainer trainer(bowl, loss, ahead(0.6), numbers());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(step_of(trainer).ok());
    const at::Tensor before = trainer.parameters().values().clone();
    fails = true;
    EXPECT_EQ(step_of(trainer).ok(), is_no_number);
    EXPECT_TRUE(at::equal(trainer.parameters().values(), before)) << is_no_number;
  }
}

TEST(Lookahead, ARollbackGoesBackToTheSnapshotAndNotToWhatWasAhead) {
  Bowl bowl(2);
  bool fails = false;
  const LossFunction loss = [&](const Batch& batch) {
    return bowl.loss(batch) * (fails ? std::nan("") : 1);
  };
  HybridConfig config = ahead(0.6);
  config.snapshot_every = 5;
  HybridTrainer trainer(bowl, loss, config, numbers());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(step_of(trainer).ok());
  const at::Tensor kept = trainer.parameters().values().clone();  // The next step begins with one.
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(step_of(trainer).ok());
  fails = true;
  ASSERT_TRUE(step_of(trainer).ok());
  EXPECT_EQ(trainer.totals().rollbacks, 1U);
  EXPECT_TRUE(at::equal(trainer.parameters().values(), kept));
}

}  // namespace
}  // namespace berth::trainer
