// SPDX-License-Identifier: Apache-2.0
// A program with libtorch that uses libberth as any user's does: memory runs out at each allocation
// of a step in turn, by a hook in libtorch's allocator, and the step is done in smaller pieces.
#include <gtest/gtest.h>

#include <berth/berth.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/libtorch.h"
#include "trainer/memory.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kSamples = 64;

// Gives what the allocator before it gives, but for one allocation.
class FailingAllocator : public Allocator {
 public:
  static FailingAllocator& installed() {
    count_tensor_memory();
    static FailingAllocator made(c10::GetCPUAllocator());
    c10::SetCPUAllocator(&made, 2);
    return made;
  }
  c10::DeleterFnPtr raw_deleter() const override { return before_->raw_deleter(); }

  mutable std::uint64_t allocations = 0;
  std::uint64_t fails_at = 0;  // 0: none.

 private:
  explicit FailingAllocator(c10::Allocator* before) : before_(before) {}
  c10::DataPtr take(std::size_t bytes) const override {
    ++allocations;
    TORCH_CHECK_WITH(OutOfMemoryError, allocations != fails_at, "no memory for ", bytes, " bytes");
    return before_->allocate(bytes);
  }
  c10::Allocator* before_;
};

struct Model {
  std::vector<at::Tensor> weights;
  at::Tensor inputs;
  at::Tensor targets;

  Model() {
    const auto numbers = [](std::int64_t rows, std::int64_t columns) {
      return torch::arange(rows * columns, at::kFloat).view({rows, columns}).mul(0.37).sin();
    };
    for (const auto& [rows, columns] : {std::pair(16, 48), std::pair(48, 48), std::pair(48, 4)}) {
      weights.push_back(numbers(rows, columns).mul(0.2).requires_grad_());
    }
    inputs = numbers(kSamples, 16);
    targets = numbers(kSamples, 4);
  }

  // The gradient of the batch's mean loss, in pieces; nothing of an earlier try is left in it.
  void take_gradient(std::uint64_t micro, std::uint64_t accumulation) {
    forget_gradient();
    for (std::uint64_t part = 0; part < accumulation; ++part) {
      const auto first = static_cast<std::int64_t>(part * micro);
      const auto count = static_cast<std::int64_t>(micro);
      at::Tensor layer = inputs.narrow(0, first, count);
      for (const at::Tensor& weight : weights) layer = layer.matmul(weight).tanh();
      const at::Tensor distance = layer - targets.narrow(0, first, count);
      (distance.square().sum() / (4 * kSamples)).backward();
    }
  }
  void forget_gradient() {
    for (at::Tensor& weight : weights) weight.mutable_grad() = at::Tensor();
  }
};

berth::Batch batch_of_samples() {
  berth_batch_options options{};
  options.batch = kSamples;
  auto batch = berth::Batch::create(nullptr, options);
  EXPECT_TRUE(batch.ok()) << batch.error().text();
  return std::move(*batch);
}

TEST(OutOfMemory, AtEachAllocationOfAStepItIsSurvivedWithTheSameGradient) {
  FailingAllocator& allocator = FailingAllocator::installed();
  Model model;
  model.take_gradient(kSamples, 1);
  std::vector<at::Tensor> expected;
  for (const at::Tensor& weight : model.weights) expected.push_back(weight.grad().clone());
  model.forget_gradient();
  const Bytes held_before = tensor_memory().now;
  for (std::uint64_t fails_at = 1; fails_at <= 50; ++fails_at) {
    berth::Batch batch = batch_of_samples();
    allocator.allocations = 0;
    allocator.fails_at = fails_at;
    int freed = 0;
    // Each step has some allocations: later ones are reached in a later step.
    while (allocator.allocations < fails_at) {
      const berth::Done done = batch.retry_on_oom<c10::OutOfMemoryError>(
          [&](std::uint64_t micro, std::uint64_t accumulation) {
            EXPECT_EQ(micro * accumulation, std::uint64_t{kSamples});
            model.take_gradient(micro, accumulation);
          },
          [&] {
            model.forget_gradient();
            EXPECT_EQ(tensor_memory().now, held_before) << "the step has left something";
            ++freed;
          });
      ASSERT_TRUE(done.ok()) << done.text();
    }
    allocator.fails_at = 0;
    EXPECT_EQ(freed, 1) << fails_at;
    EXPECT_EQ(batch.plan().micro, std::uint64_t{kSamples / 2});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor error = (model.weights[i].grad() - expected[i]).abs().max();
      EXPECT_LE(error.item<float>(), 1e-5F) << fails_at;
    }
    model.forget_gradient();
  }
}

// libtorch's own allocator says so with a c10::Error of no kind.
TEST(OutOfMemory, WhatDoesNotFitBelowALimitIsDoneInPieces) {
  FailingAllocator::installed();
  Model model;
  reset_tensor_memory_peak();
  const Bytes base = tensor_memory().now;
  model.take_gradient(kSamples, 1);
  const Bytes whole = saturating_sub(tensor_memory().peak, base);
  model.forget_gradient();
  limit_tensor_memory(base + Bytes{whole.value * 3 / 4});
  berth::Batch batch = batch_of_samples();
  const berth::Done done = batch.retry_on_oom<c10::Error>(
      [&](std::uint64_t micro, std::uint64_t accumulation) {
        model.take_gradient(micro, accumulation);
      },
      [&] { model.forget_gradient(); });
  limit_tensor_memory(Bytes::max());
  ASSERT_TRUE(done.ok()) << done.text();
  EXPECT_LT(batch.plan().micro, std::uint64_t{kSamples});
  EXPECT_EQ(batch.plan().micro * batch.plan().accumulation, std::uint64_t{kSamples});
}

}  // namespace
}  // namespace berth::trainer
