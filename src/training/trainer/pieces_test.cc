// SPDX-License-Identifier: Apache-2.0
// Steps that take less memory, and steps that run out of it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "trainer/gpt2.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/memory.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kRows = 8;

Batch eight_rows(std::int64_t seed) {
  const at::Tensor tokens =
      torch::arange(kRows * kTinyGpt2.context, at::kLong).mul(7 + seed).remainder(31);
  const at::Tensor inputs = tokens.view({kRows, kTinyGpt2.context});
  return {.inputs = inputs, .targets = inputs.add(1).remainder(31)};
}

/// Plain training of a tiny GPT-2, whose tensors are counted.
struct PiecesRun {
  explicit PiecesRun(std::uint32_t micro_rows = 0)
      : trainer(
            initialized(model), [this](const Batch& batch) { return model.loss(batch); },
            config_of(micro_rows), eight_rows(0)) {}

  static HybridConfig config_of(std::uint32_t micro_rows) {
    HybridConfig config = short_phases(Mode::kOff, {});
    config.micro_rows = micro_rows;
    return config;
  }
  static Gpt2& initialized(Gpt2& model) {
    count_tensor_memory();
    model.initialize(3);
    return model;
  }
  Result<StepReport> step() {
    const Batch now = std::exchange(next, {});
    const Result<StepReport> report = trainer.step(now);
    next = report.ok() ? eight_rows(++steps) : now;
    return report;
  }
  /// Of one step, beyond what is held between steps.
  Bytes peak_of_step() {
    const Bytes base = tensor_memory().now;
    reset_tensor_memory_peak();
    EXPECT_TRUE(step().ok());
    return saturating_sub(tensor_memory().peak, base);
  }

  Gpt2 model{kTinyGpt2};
  HybridTrainer trainer;
  std::int64_t steps = 0;
  Batch next = eight_rows(0);  // Made before memory is limited.
};

double distance(PiecesRun& left, PiecesRun& right) {
  return (left.trainer.parameters().values() - right.trainer.parameters().values())
      .abs()
      .max()
      .item<double>();
}

class Limited {
 public:
  explicit Limited(Bytes more) { limit_tensor_memory(tensor_memory().now + more); }
  ~Limited() { limit_tensor_memory(Bytes::max()); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
};

TEST(Pieces, TheGradientIsThatOfTheWholeBatch) {
  PiecesRun whole;
  PiecesRun pieces(2);
  for (int i = 0; i < 10; ++i) {
    const auto a = whole.step();
    const auto b = pieces.step();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->pieces, 1U);
    EXPECT_EQ(b->pieces, 4U);
    EXPECT_NEAR(a->loss, b->loss, 1e-5);
    EXPECT_NEAR(a->gradient_norm.value(), b->gradient_norm.value(), 1e-5);
  }
  EXPECT_LT(distance(whole, pieces), 1e-4);
}

TEST(Pieces, TakeLessMemory) {
  PiecesRun whole;
  PiecesRun pieces(1);
  const Bytes all = whole.peak_of_step();
  const Bytes one = pieces.peak_of_step();
  EXPECT_LT(one.value * 2, all.value);
}

TEST(Pieces, WhenMemoryRunsOutTheSameBatchIsTakenInSmallerOnes) {
  PiecesRun whole;
  PiecesRun limited;
  const Bytes all = whole.peak_of_step();
  ASSERT_TRUE(limited.step().ok());
  {
    const Limited memory(Bytes{all.value * 6 / 10});
    for (int i = 0; i < 5; ++i) {
      const auto report = limited.step();
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_GT(report->pieces, 1U);
    }
  }
  EXPECT_GT(limited.trainer.totals().out_of_memory, 0U);
  EXPECT_EQ(limited.trainer.totals().real_steps, 6U);
}

TEST(Pieces, WhatWasLearntInThemIsWhatTheWholeBatchTeaches) {
  PiecesRun whole;
  PiecesRun limited;
  const Bytes all = whole.peak_of_step();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(whole.step().ok());
  ASSERT_TRUE(limited.step().ok());
  const Limited memory(Bytes{all.value * 6 / 10});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(limited.step().ok());
  EXPECT_GT(limited.trainer.totals().out_of_memory, 0U);
  EXPECT_LT(distance(whole, limited), 1e-4);
}

TEST(Pieces, AStepForWhichThereIsNoMemoryChangesNothing) {
  PiecesRun run;
  ASSERT_TRUE(run.step().ok());
  const at::Tensor before = run.trainer.parameters().values().clone();
  const Bytes held = tensor_memory().now;
  {
    const Limited memory(Bytes{64});
    const auto report = run.step();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Errc::kExhausted);
    EXPECT_NE(report.error().message.find("8 tokens"), std::string::npos);
  }
  EXPECT_EQ(tensor_memory().now, held);
  EXPECT_TRUE(at::equal(run.trainer.parameters().values(), before));
  EXPECT_TRUE(run.step().ok());
}

TEST(Pieces, TheLastResortIsAskedOnceNoSmallerOneIsLeft) {
  PiecesRun run;
  ASSERT_TRUE(run.step().ok());
  int asked = 0;
  auto memory = std::make_unique<Limited>(Bytes{64});
  run.trainer.set_last_resort([&] {
    memory.reset();
    return ++asked == 1;
  });
  const auto report = run.step();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(report->pieces, 8U);
}

TEST(Pieces, AnotherErrorIsNotTakenForMemory) {
  Gpt2 model(kTinyGpt2);
  HybridTrainer trainer(
      model, [](const Batch& batch) { return batch.inputs.matmul(batch.inputs).sum(); },
      short_phases(Mode::kOff, {}), numbers());
  const auto report = trainer.step(numbers());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Errc::kInvalid);
}

TEST(Recompute, GivesTheSameGradientToTheLastBitInLessMemory) {
  PiecesRun kept;
  PiecesRun again;
  again.model.set_recompute(true);
  const Bytes all = kept.peak_of_step();
  const Bytes less = again.peak_of_step();
  EXPECT_LT(less.value * 5, all.value * 4);
  for (int i = 0; i < 5; ++i) {
    const auto a = kept.step();
    const auto b = again.step();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->loss, b->loss);
    EXPECT_EQ(a->gradient_norm, b->gradient_norm);
  }
  EXPECT_EQ(distance(kept, again), 0);
}

}  // namespace
}  // namespace berth::trainer
