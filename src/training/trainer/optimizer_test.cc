// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

TEST(AdamWOptimizer, OnlyMatricesDecay) {
  Bowl bowl(3);
  FlatParameters flat(bowl);
  Optimizer optimizer(flat, {.adamw = {.decay = 0.5}});
  optimizer.step(flat, {.rate = 0.1});  // Without a gradient, decay is all that happens.
  EXPECT_NEAR(bowl.matrix.mean().item<double>(), 3 * (1 - 0.1 * 0.5), 1e-5);
  EXPECT_EQ(bowl.vector.mean().item<double>(), 3);
}

TEST(AdamWOptimizer, SeveralThreadsGiveTheSameBits) {
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> results;
  for (const int count : {1, 2}) {
    at::set_num_threads(count);
    Bowl bowl(0);
    bowl.matrix.set_data(torch::arange(300'000, at::kFloat).view({300, 1000}) * 1e-6);
    FlatParameters flat(bowl);
    flat.gradients().copy_(flat.values().cos());
    Optimizer optimizer(flat, {});
    for (int i = 0; i < 3; ++i) optimizer.step(flat, {.rate = 0.1, .gradient_scale = 0.5});
    results.push_back(flat.values().clone());
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(results[0], results[1]));
}

// What runs where no loop of ours does.
TEST(AdamWOptimizer, ComposedOfOperationsOnTensorsItDoesTheSame) {
  const std::int64_t count = 1000;
  const at::Tensor begin = torch::arange(count, at::kFloat).mul(0.01).sin();
  at::Tensor values = begin.clone(), first = torch::zeros({count}), second = first.clone();
  at::Tensor loop_values = begin.clone(), loop_first = first.clone(), loop_second = first.clone();
  const auto span = [&](const at::Tensor& tensor) {
    return std::span<float>(tensor.data_ptr<float>(), static_cast<std::size_t>(count));
  };
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const at::Tensor gradients = (begin * static_cast<double>(number)).cos();
    const train::AdamWStep step{
        .rate = 0.01F, .decay = 0.1F, .gradient_scale = 0.5F, .number = number};
    composed_adamw(values, gradients, first, second, step);
    train::adamw({.values = span(loop_values),
                  .gradients = span(gradients),
                  .first_moments = span(loop_first),
                  .second_moments = span(loop_second)},
                 step);
  }
  EXPECT_TRUE(at::allclose(values, loop_values, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(first, loop_first, 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(second, loop_second, 1e-5, 1e-7));
  EXPECT_GT((values - begin).abs().max().item<double>(), 0.05);
}

const OptimizerConfig kMuon{.kind = OptimizerKind::kMuon, .adamw = {.decay = 0}};

at::Tensor noise(at::IntArrayRef shape, std::uint64_t seed = 7) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::empty(shape).normal_(0, 1, generator);
}

TEST(Orthogonalized, SingularValuesComeNearOneAndDirectionsStay) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{24, 24}, {16, 48}, {48, 16}}) {
    const at::Tensor matrix = noise(shape);
    const auto [u, s, v] = at::svd(matrix);
    const at::Tensor found = orthogonalized(matrix);
    ASSERT_EQ(found.sizes(), matrix.sizes());
    // In the directions of the matrix it has one value each, and nothing beside them.
    const at::Tensor within = u.t().mm(found).mm(v);
    const at::Tensor values = within.diag();
    EXPECT_GT(values.min().item<double>(), 0);
    EXPECT_LT(values.max().item<double>(), 1.3);
    // All but those that are next to nothing beside the others.
    const at::Tensor counted = values.masked_select(s > 0.01 * matrix.norm());
    EXPECT_GT(counted.numel(), 12);
    EXPECT_GT(counted.min().item<double>(), 0.5);
    EXPECT_LT((within - at::diag(values)).abs().max().item<double>(), 1e-3);
  }
}

TEST(Orthogonalized, LengthMattersNothingAndNothingStaysNothing) {
  const at::Tensor matrix = noise({8, 12});
  EXPECT_TRUE(at::allclose(orthogonalized(matrix * 1e4), orthogonalized(matrix), 1e-3, 1e-4));
  EXPECT_TRUE(at::equal(orthogonalized(torch::zeros({3, 5})), torch::zeros({3, 5})));
}

// A vector, an embedding and a matrix of a layer.
class Named : public torch::nn::Module {
 public:
  Named() {
    const auto branch = [this](const char* name, at::IntArrayRef shape) {
      struct Leaf : torch::nn::Module {
        at::Tensor add(const at::Tensor& value) { return register_parameter("weight", value); }
      };
      const auto leaf = register_module(name, std::make_shared<Leaf>());
      return leaf->add(noise(shape));
    };
    table = branch("wte", {32, 8});
    matrix = branch("h", {8, 24});
    vector = branch("ln_f", {8});
  }
  at::Tensor table, matrix, vector;
};

TEST(Muon, IsForMatricesOfLayersAlone) {
  Named by_adamw, by_muon;
  for (const bool is_muon : {false, true}) {
    FlatParameters flat(is_muon ? by_muon : by_adamw);
    flat.gradients().copy_(flat.values().sin());
    OptimizerConfig config = kMuon;
    config.adamw.decay = 0.1;
    if (!is_muon) config.kind = OptimizerKind::kAdamW;
    Optimizer optimizer(flat, config);
    for (int i = 0; i < 3; ++i) optimizer.step(flat, {.rate = 0.01});
  }
  EXPECT_TRUE(at::equal(by_adamw.table, by_muon.table));
  EXPECT_TRUE(at::equal(by_adamw.vector, by_muon.vector));
  EXPECT_FALSE(at::allclose(by_adamw.matrix, by_muon.matrix));
}

TEST(Muon, AStepIsAsLongAsOneOfAdamWUsuallyIs) {
  Named named;
  const at::Tensor before = named.matrix.clone();
  FlatParameters flat(named);
  flat.gradients().copy_(noise({flat.gradients().numel()}) * 1e-3);
  Optimizer(flat, kMuon).step(flat, {.rate = 0.01});
  const double rms = (named.matrix - before).square().mean().sqrt().item<double>();
  EXPECT_NEAR(rms, 0.2 * 0.01, 0.2 * 0.01 * 0.3);
}

TEST(Muon, GoesAgainstTheGradientAndDecays) {
  Named named;
  FlatParameters flat(named);
  const at::Tensor gradient = noise({8, 24}, 3);
  named.matrix.mutable_grad().copy_(gradient);
  const at::Tensor before = named.matrix.clone();
  Optimizer(flat, kMuon).step(flat, {.rate = 0.01});
  EXPECT_LT(((named.matrix - before) * gradient).sum().item<double>(), 0);
  OptimizerConfig decays = kMuon;
  decays.adamw.decay = 0.5;
  flat.clear_gradients();
  const at::Tensor held = named.matrix.clone();
  Optimizer(flat, decays).step(flat, {.rate = 0.1});
  EXPECT_TRUE(at::allclose(named.matrix, held * (1 - 0.1 * 0.5), 1e-5, 1e-6));
}

TEST(Muon, MomentumGoesOnWhereTheGradientHasEnded) {
  for (const double momentum : {0.0, 0.9}) {
    Named named;
    FlatParameters flat(named);
    OptimizerConfig config = kMuon;
    config.momentum = momentum;
    Optimizer optimizer(flat, config);
    flat.gradients().fill_(1);
    optimizer.step(flat, {.rate = 0.01});
    flat.clear_gradients();
    const at::Tensor before = named.matrix.clone();
    optimizer.step(flat, {.rate = 0.01});
    EXPECT_EQ(at::equal(named.matrix, before), momentum == 0);
  }
}

}  // namespace
}  // namespace berth::trainer
