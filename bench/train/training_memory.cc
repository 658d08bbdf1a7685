// SPDX-License-Identifier: Apache-2.0
// Comparison of what `berth estimate` says of training GPT-2 (124 M parameters) with what the
// allocator counts of a plain loop, forward and backward: activations, and the most at one moment
// beyond weights and optimizer. Ends with 1 if an estimate is off by more than a tenth. Called by
// `./dev train`.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/units.h"
#include "estimate/memory.h"
#include "estimate/model_shape.h"
#include "train/gpt2_shape.h"
#include "trainer/gpt2.h"
#include "trainer/memory.h"

namespace berth::trainer {
namespace {

constexpr double kErrorMax = 0.1;

struct Case {
  std::int64_t rows;
  std::int64_t columns;
  bool bfloat16 = false;
  bool recompute = false;
};

constexpr Case kCases[] = {{4, 64},  {8, 64},   {4, 256},        {1, 512},
                           {2, 512}, {1, 1024}, {1, 1024, true}, {4, 256, false, true}};

double mib_of(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1U << 20U);
}

struct Figures {
  double activations = 0;  // MiB
  double peak = 0;         // MiB, beyond weights and optimizer.
};

Batch batch_of(const Case& one) {
  const at::Tensor tokens =
      torch::arange(one.rows * one.columns, at::kLong).mul(7919).remainder(50'000);
  const at::Tensor inputs = tokens.view({one.rows, one.columns});
  return {.inputs = inputs, .targets = inputs.add(1)};
}

Figures measured(Gpt2& model, const Case& one) {
  model.set_precision(one.bfloat16 ? train::Precision::kBf16 : train::Precision::kFp32);
  model.set_recompute(one.recompute);
  const Batch batch = batch_of(one);
  Figures figures;
  for (int step = 0; step < 2; ++step) {  // What libraries keep for themselves is there then.
    for (const at::Tensor& parameter : model.parameters()) parameter.mutable_grad() = at::Tensor();
    const Bytes base = tensor_memory().now;
    reset_tensor_memory_peak();
    const at::Tensor loss = model.loss(batch);
    figures.activations = mib_of(saturating_sub(tensor_memory().now, base));
    loss.backward();
    figures.peak = mib_of(saturating_sub(tensor_memory().peak, base));
  }
  return figures;
}

Figures estimated(const train::Gpt2Shape& shape, const Case& one) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const estimate::ModelShape model{.kind = estimate::ModelShape::Kind::kGpt2,
                                   .layers = number(shape.layers),
                                   .width = number(shape.width),
                                   .heads = number(shape.heads),
                                   .key_value_heads = number(shape.heads),
                                   .head_width = number(shape.width / shape.heads),
                                   .inner_width = number(4 * shape.width),
                                   .vocabulary = number(shape.vocabulary),
                                   .positions = number(shape.context)};
  estimate::Training training{.batch = number(one.rows), .sequence = number(one.columns)};
  if (one.bfloat16) training.precision = estimate::Precision::kMixed;
  if (one.recompute) training.checkpointing = estimate::Checkpointing::kLayers;
  const estimate::Estimate all = estimate_training(model, training);
  return {.activations = mib_of(all.activations.total()),
          .peak = mib_of(all.peak) - mib_of(all.weights) - mib_of(all.optimizer)};
}

double error_of(double told, double found) {
  return found > 0 ? told / found - 1 : 0;
}

int run() {
  count_tensor_memory();
  const auto named = train::gpt2_shape("small");
  const train::Gpt2Shape shape = present(named);
  Gpt2 model(shape);
  model.initialize(1);
  std::printf("%-22s %12s %12s %7s %12s %12s %7s\n", "GPT-2 small, MiB", "activations", "estimated",
              "error", "peak", "estimated", "error");
  bool is_within = true;
  for (const Case& one : kCases) {
    const Figures found = measured(model, one);
    const Figures told = estimated(shape, one);
    const double activations = error_of(told.activations, found.activations);
    const double peak = error_of(told.peak, found.peak);
    const std::string name = std::to_string(one.rows) + " x " + std::to_string(one.columns) +
                             (one.bfloat16 ? ", bf16" : "") + (one.recompute ? ", again" : "");
    std::printf("%-22s %12.1f %12.1f %6.1f%% %12.1f %12.1f %6.1f%%\n", name.c_str(),
                found.activations, told.activations, 100 * activations, found.peak, told.peak,
                100 * peak);
    is_within = is_within && std::abs(activations) <= kErrorMax && std::abs(peak) <= kErrorMax;
  }
  if (!is_within) std::puts("an estimate is off by more than a tenth");
  return is_within ? 0 : 1;
}

}  // namespace
}  // namespace berth::trainer

int main() {
  return berth::trainer::run();
}
