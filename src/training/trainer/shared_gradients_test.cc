// SPDX-License-Identifier: Apache-2.0
#include "trainer/shared_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "trainer/module_for_test.h"
#include "trainer/peers_for_test.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kSmall = 1024;  // Bytes of a bucket: some for each layer of the tiny model.

std::deque<Gpt2> tiny_models(std::size_t count) {
  std::deque<Gpt2> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(kTinyGpt2).initialize(1);
  return made;
}

Batch rows_for(std::uint32_t rank) {
  const at::Tensor tokens = torch::arange(9, at::kLong)
                                .mul(5 + static_cast<std::int64_t>(rank))
                                .remainder(31)
                                .view({1, 9});
  return {.inputs = tokens.narrow(1, 0, 8), .targets = tokens.narrow(1, 1, 8)};
}

TEST(SharedGradients, TheMeanIsOnItsWayBeforeTheBackwardPassIsOver) {
  std::deque<Gpt2> models = tiny_models(3);
  std::array<at::Tensor, 2> means;
  together(2, [&](Peers& peers) {
    Gpt2& model = models[peers.rank()];
    FlatParameters parameters(model);
    SharedGradients shared(parameters, peers, kSmall);
    for (int step = 0; step < 2; ++step) {  // What one leaves behind does not disturb the next.
      parameters.clear_gradients();
      shared.begin();
      model.loss(rows_for(peers.rank())).backward();
      EXPECT_TRUE(shared.finish().ok());
      EXPECT_GT(shared.buckets(), 10U);
      // All but those of the embeddings and of the vectors, which come last.
      EXPECT_GT(shared.early(), 5U);
    }
    means[peers.rank()] = parameters.gradients().clone();
  });
  EXPECT_TRUE(at::equal(means[0], means[1]));
  FlatParameters alone(models[2]);
  for (const std::uint32_t rank : {0U, 1U}) (models[2].loss(rows_for(rank)) / 2).backward();
  EXPECT_TRUE(at::allclose(means[0], alone.gradients(), 1e-4, 1e-7));
}

TEST(SharedGradients, PassesBeforeTheLastAddToThemAndSendNothing) {
  std::deque<Gpt2> models = tiny_models(2);
  std::array<at::Tensor, 2> means;
  together(2, [&](Peers& peers) {
    Gpt2& model = models[peers.rank()];
    FlatParameters parameters(model);
    SharedGradients shared(parameters, peers, kSmall);
    (model.loss(rows_for(0)) / 2).backward();
    shared.begin();
    (model.loss(rows_for(1)) / 2).backward();
    EXPECT_TRUE(shared.finish().ok());
    means[peers.rank()] = parameters.gradients().clone();
  });
  FlatParameters alone(models[0]);
  for (const std::uint32_t rank : {0U, 1U}) (models[0].loss(rows_for(rank)) / 2).backward();
  EXPECT_TRUE(at::allclose(means[0], alone.gradients(), 1e-5, 1e-8));
}

TEST(SharedGradients, ARankWithoutGradientHoldsNobodyUp) {
  std::deque<Gpt2> models = tiny_models(2);
  together(2, [&](Peers& peers) {
    Gpt2& model = models[peers.rank()];
    FlatParameters parameters(model);
    SharedGradients shared(parameters, peers, kSmall);
    if (peers.rank() == 0) {
      shared.begin();
      model.loss(rows_for(0)).backward();
    }
    EXPECT_TRUE(shared.finish().ok());
    EXPECT_EQ(shared.early() > 0, peers.rank() == 0);
    EXPECT_GT(parameters.gradient_norm(), 0) << "of the other one";
  });
}

TEST(SharedGradients, EachElementIsInOneBucketAndNoneIsMuchTooLarge) {
  Gpt2 model(kTinyGpt2);
  FlatParameters parameters(model);
  Peers nobody;
  const SharedGradients shared(parameters, nobody, kSmall);
  const std::int64_t bytes = parameters.values().numel() * 4;
  EXPECT_GE(shared.buckets(), static_cast<std::size_t>(bytes / (4 * kSmall)));
}

TEST(SharedGradients, AGradientInTwoPartsIsAnError) {
  together(2, [](Peers& peers) {
    Bowl bowl;
    FlatParameters parameters(bowl);
    SharedGradients shared(parameters, peers);
    shared.begin();
    bowl.matrix.sum().backward();
    bowl.matrix.sum().backward();
    const Status outcome = shared.finish();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Errc::kInvalid);
    EXPECT_THAT(outcome.error().message, testing::HasSubstr("in two parts"));
    // The next step is not to blame for it.
    shared.begin();
    (bowl.matrix.sum() + bowl.vector.sum()).backward();
    EXPECT_TRUE(shared.finish().ok());
  });
}

}  // namespace
}  // namespace berth::trainer
