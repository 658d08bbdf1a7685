// SPDX-License-Identifier: Apache-2.0
#include "trainer/gpt2.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/checked.h"
#include "trainer/flat_parameters.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

std::int64_t count_of(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& item : module.named_parameters()) count += item.value().numel();
  return count;
}

Batch any_tokens(const train::Gpt2Shape& shape, std::int64_t rows, std::int64_t columns) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
  return {.inputs = at::randint(shape.vocabulary, {rows, columns}, generator, at::kLong),
          .targets = at::randint(shape.vocabulary, {rows, columns}, generator, at::kLong)};
}

TEST(Gpt2, SmallHasTheParametersOfThePublicOne) {
  const auto named = train::gpt2_shape("small");
  const train::Gpt2Shape shape = checked(named);
  const Gpt2 model(shape);
  EXPECT_EQ(count_of(model), 124'439'808);
  EXPECT_EQ(count_of(model), parameter_count(shape));
}

TEST(Gpt2, ParametersHaveTheNamesAndShapesOfThePublicOnes) {
  const Gpt2 model(kTinyGpt2);
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const auto& item : model.named_parameters()) found[item.key()] = item.value().sizes().vec();
  EXPECT_EQ(found.size(), 4U + 2U * 12U);
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(found["wte.weight"], (Shape{32, 16}));
  EXPECT_EQ(found["wpe.weight"], (Shape{8, 16}));
  EXPECT_EQ(found["h.1.attn.c_attn.weight"], (Shape{16, 48}));
  EXPECT_EQ(found["h.1.attn.c_proj.bias"], (Shape{16}));
  EXPECT_EQ(found["h.0.mlp.c_fc.weight"], (Shape{16, 64}));
  EXPECT_EQ(found["h.0.mlp.c_proj.weight"], (Shape{64, 16}));
  EXPECT_EQ(found["h.0.ln_2.weight"], (Shape{16}));
  EXPECT_EQ(found["ln_f.bias"], (Shape{16}));
}

TEST(Gpt2, TheFirstLossIsThatOfKnowingNothing) {
  for (const auto name : {"nano", "micro", "small"}) {
    const auto named = train::gpt2_shape(name);
    const train::Gpt2Shape shape = checked(named);
    Gpt2 model(shape);
    model.initialize(1);
    const c10::InferenceMode no_graph;
    // Enough of them that chance does not matter.
    const std::int64_t rows = shape.vocabulary == 256 ? 16 : 2;
    const double loss = model.loss(any_tokens(shape, rows, 64)).item<double>();
    const double expected = std::log(static_cast<double>(shape.vocabulary));
    EXPECT_NEAR(loss, expected, expected / 100) << name;
  }
}

TEST(Gpt2, ATokenSeesNothingOfWhatFollows) {
  Gpt2 model(kTinyGpt2);
  model.initialize(1);
  const c10::InferenceMode no_graph;
  Batch batch = any_tokens(kTinyGpt2, 1, 8);
  const at::Tensor before = model.logits(batch.inputs);
  batch.inputs[0][5] = (batch.inputs[0][5] + 1) % 32;
  const at::Tensor after = model.logits(batch.inputs);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 5), after.narrow(1, 0, 5)));
  EXPECT_FALSE(at::equal(before.narrow(1, 5, 3), after.narrow(1, 5, 3)));
}

TEST(Gpt2, TheSeedDecidesTheWeights) {
  Gpt2 a(kTinyGpt2);
  Gpt2 b(kTinyGpt2);
  a.initialize(1);
  b.initialize(1);
  const FlatParameters flat_a(a);
  FlatParameters flat_b(b);
  EXPECT_TRUE(at::equal(flat_a.values(), flat_b.values()));
  b.initialize(2);
  EXPECT_FALSE(at::equal(flat_a.values(), flat_b.values()));
}

TEST(Gpt2, GradientsAreThoseOfTheLoss) {
  Gpt2 model(kTinyGpt2);
  model.initialize(1);
  FlatParameters flat(model);
  const Batch batch = any_tokens(kTinyGpt2, 2, 8);
  model.loss(batch).backward();
  const torch::NoGradGuard no_gradients;
  // Along the gradient itself the loss changes by its squared norm.
  const double norm = flat.gradient_norm();
  const double step = 1e-2 / norm;
  flat.values().add_(flat.gradients(), step);
  const double above = model.loss(batch).item<double>();
  flat.values().add_(flat.gradients(), -2 * step);
  const double below = model.loss(batch).item<double>();
  EXPECT_NEAR((above - below) / (2 * step), norm * norm, 0.01 * norm * norm);
}

}  // namespace
}  // namespace berth::trainer
