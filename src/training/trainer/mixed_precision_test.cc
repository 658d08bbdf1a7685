// SPDX-License-Identifier: Apache-2.0
#include "trainer/mixed_precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "trainer/flat_parameters.h"
#include "trainer/gpt2.h"
#include "trainer/memory.h"

namespace berth::trainer {
namespace {

constexpr train::Gpt2Shape kModel{
    .layers = 2, .heads = 2, .width = 64, .context = 32, .vocabulary = 64};

constexpr train::Precision kBf16 = train::Precision::kBf16;

/// A model, its flat parameters and a batch, the same for each.
struct OneStep {
  explicit OneStep(bool bfloat16, bool recompute = false) : flat(initialized(model)) {
    model.set_precision(bfloat16 ? kBf16 : train::Precision::kFp32);
    model.set_recompute(recompute);
    const at::Tensor tokens = torch::arange(8 * 32, at::kLong).mul(7).remainder(61).view({8, 32});
    batch = {.inputs = tokens, .targets = tokens.add(1)};
  }
  static Gpt2& initialized(Gpt2& model) {
    count_tensor_memory();
    model.initialize(3);
    return model;
  }
  /// The loss; the gradient is in `flat` then.
  double step() {
    flat.clear_gradients();
    const at::Tensor loss = model.loss(batch);
    loss.backward();
    return loss.item<double>();
  }
  Bytes peak_of_step() {
    const Bytes base = tensor_memory().now;
    reset_tensor_memory_peak();
    (void)step();
    return saturating_sub(tensor_memory().peak, base);
  }
  Gpt2 model{kModel};
  FlatParameters flat;
  Batch batch;
};

TEST(MixedPrecision, LossAndGradientAreNearThoseOf32Bits) {
  OneStep exact(false);
  OneStep rounded(true);
  const double loss = exact.step();
  const double near = rounded.step();
  EXPECT_NE(loss, near) << "nothing was rounded";
  EXPECT_NEAR(near / loss, 1, 0.01);
  const at::Tensor& a = exact.flat.gradients();
  const at::Tensor& b = rounded.flat.gradients();
  EXPECT_GT((a.dot(b) / (a.norm() * b.norm())).item<double>(), 0.999);
}

TEST(MixedPrecision, ParametersAndGradientsStayAsTheyWere) {
  OneStep rounded(true);
  (void)rounded.step();
  EXPECT_EQ(rounded.flat.values().scalar_type(), at::kFloat);
  EXPECT_EQ(rounded.flat.gradients().scalar_type(), at::kFloat);
  EXPECT_TRUE(rounded.flat.is_attached(rounded.model));
  EXPECT_FALSE(autocasts(at::kCPU)) << "it has ended";
  EXPECT_EQ(rounded.model.logits(rounded.batch.inputs).scalar_type(), at::kFloat);
}

TEST(MixedPrecision, WeightsThatHaveChangedAreRoundedAnew) {
  OneStep rounded(true);
  const double before = rounded.step();
  const torch::NoGradGuard no_gradients;
  rounded.flat.values().mul_(1.5);
  EXPECT_NE(rounded.model.loss(rounded.batch).item<double>(), before);
}

TEST(MixedPrecision, ALookWithoutGradientsDisturbsNoneAfterIt) {
  OneStep alone(true);
  OneStep looked(true);
  {
    const c10::InferenceMode no_graph;
    (void)looked.model.loss(looked.batch).item<double>();
  }
  EXPECT_EQ(alone.step(), looked.step());
  EXPECT_TRUE(at::equal(alone.flat.gradients(), looked.flat.gradients()));
}

TEST(MixedPrecision, LayersThatAreComputedAgainGiveTheSameBits) {
  OneStep kept(true);
  OneStep again(true, true);
  EXPECT_EQ(kept.step(), again.step());
  EXPECT_TRUE(at::equal(kept.flat.gradients(), again.flat.gradients()));
}

TEST(MixedPrecision, TakesLessMemory) {
  OneStep exact(false);
  OneStep rounded(true);
  const Bytes all = exact.peak_of_step();
  EXPECT_LT(rounded.peak_of_step(), all);
}

TEST(MixedPrecision, IsOverWithItsScope) {
  {
    const MixedPrecision outer(at::kCPU, kBf16);
    EXPECT_TRUE(autocasts(at::kCPU));
    {
      const MixedPrecision inner(at::kCPU, train::Precision::kFp32);
      EXPECT_FALSE(autocasts(at::kCPU));
    }
    EXPECT_TRUE(autocasts(at::kCPU));
  }
  EXPECT_FALSE(autocasts(at::kCPU));
}

}  // namespace
}  // namespace berth::trainer
