// SPDX-License-Identifier: Apache-2.0
// Modules small enough to know by hand what training does to them.
#pragma once

#include "trainer/gpt2.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

/// A matrix and a vector. Its loss is their distance from `goal`, squared, plus a batch's mean.
class Bowl : public torch::nn::Module {
 public:
  explicit Bowl(double start = 1) {
    matrix = register_parameter("matrix", torch::full({3, 5}, start));
    vector = register_parameter("vector", torch::full({7}, start));
  }
  at::Tensor loss(const Batch& batch) const {
    return (matrix - goal).square().mean() + (vector - goal).square().mean() +
           batch.inputs.to(at::kFloat).mean() * 0;
  }

  double goal = 0;
  at::Tensor matrix, vector;
};

/// Its loss has the same slope everywhere, so that AdamW without decay moves it evenly.
class Slope : public torch::nn::Module {
 public:
  Slope() { weight = register_parameter("weight", torch::zeros({4, 4})); }
  at::Tensor loss(const Batch&) const { return weight.sum() + 1000; }

  at::Tensor weight;
};

inline Batch numbers(std::int64_t first = 0) {
  const at::Tensor inputs = torch::arange(first, first + 8, at::kLong).view({2, 4});
  return {.inputs = inputs, .targets = inputs + 1};
}

/// A step of a rate that never changes; phases of a few steps.
inline HybridConfig short_phases(Mode mode, PredictorKind kind) {
  return {.mode = mode,
          .predictor = kind,
          .snapshot_every = 5,
          .phases = {.warmup_steps = 4,
                     .full_steps = 4,
                     .predict_steps_max = 6,
                     .correct_steps = 2,
                     .consecutive_max = 1},
          .schedule = {.shape = train::Schedule::kConstant, .rate = 0.01, .warmup_steps = 0},
          .optimizer = {.adamw = {.decay = 0}}};
}

inline constexpr train::Gpt2Shape kTinyGpt2{
    .layers = 2, .heads = 2, .width = 16, .context = 8, .vocabulary = 32};

}  // namespace berth::trainer
