// SPDX-License-Identifier: Apache-2.0
#include "trainer/predictor.h"

#include <gtest/gtest.h>

#include "trainer/memory.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

// w(t) = a + b t, a step of rate 0.1 at a time.
struct Line {
  Bowl bowl{0};
  FlatParameters flat{bowl};
  at::Tensor a = torch::linspace(-1, 1, flat.values().numel());
  at::Tensor b = torch::linspace(2, -3, flat.values().numel()) * 0.01;

  void go_to(double time) const {
    const torch::NoGradGuard no_gradients;
    flat.values().copy_(a + b * time);
  }
  void window(Predictor& predictor, int from, int to) const {
    go_to(from);
    predictor.begin_window(flat);
    for (int time = from + 1; time <= to; ++time) {
      go_to(time);
      predictor.count_step(0.1);
    }
    predictor.end_window(flat);
  }
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(Predictor, OnALineTheJumpIsTheLineItself) {
  for (const PredictorKind kind : {PredictorKind::kLinear, PredictorKind::kDifference}) {
    Line line;
    Predictor predictor(kind, line.flat);
    line.window(predictor, 0, 10);
    line.window(predictor, 10, 15);
    for (const double steps : {0.5, 1.0, 7.0, 20.0}) {
      predictor.apply(line.flat, {.steps = steps, .rate = 0.1});
      EXPECT_LT(distance(line.flat.values(), line.a + line.b * (15 + steps)), 1e-5) << steps;
    }
  }
}

TEST(Predictor, HalfTheRateIsHalfTheWay) {
  Line line;
  Predictor predictor(PredictorKind::kLinear, line.flat);
  line.window(predictor, 0, 10);
  predictor.apply(line.flat, {.steps = 8, .rate = 0.05});
  EXPECT_LT(distance(line.flat.values(), line.a + line.b * 14), 1e-5);
}

TEST(Predictor, AJumpMovesEveryTensorByWhatWasPredicted) {
  Line line;
  Predictor predictor(PredictorKind::kLinear, line.flat);
  line.window(predictor, 0, 10);
  const at::Tensor before = line.flat.values().clone();
  predictor.apply(line.flat, {.steps = 4, .rate = 0.1});
  for (const FlatSegment& segment : line.flat.segments()) {
    const auto part = [&](const at::Tensor& t) {
      return t.narrow(0, segment.begin, segment.count);
    };
    const double moved = (part(line.flat.values()) - part(before)).norm().item<double>();
    EXPECT_GT(moved, 0) << segment.name;
    EXPECT_NEAR(moved, part(line.b * 4).norm().item<double>(), 1e-5) << segment.name;
  }
  EXPECT_TRUE(line.flat.is_attached(line.bowl));
}

TEST(Predictor, TheLastLengthAppliedIsTheOneThatCounts) {
  Line line;
  Predictor predictor(PredictorKind::kLinear, line.flat);
  line.window(predictor, 0, 10);
  predictor.apply(line.flat, {.steps = 3, .rate = 0.1});
  const at::Tensor once = line.flat.values().clone();
  predictor.apply(line.flat, {.steps = 40, .rate = 0.1});
  predictor.apply(line.flat, {.steps = 3, .rate = 0.1});
  EXPECT_TRUE(at::equal(line.flat.values(), once));
}

TEST(Predictor, WhatWasThereComesBackToTheLastBit) {
  for (const PredictorKind kind : {PredictorKind::kLinear, PredictorKind::kDifference,
                                   PredictorKind::kNesterov, PredictorKind::kLowRank}) {
    Line line;
    Predictor predictor(kind, line.flat);
    line.window(predictor, 0, 10);
    const at::Tensor before = line.flat.values().clone();
    predictor.apply(line.flat, {.steps = 1e6, .rate = 1});
    EXPECT_FALSE(at::equal(line.flat.values(), before));
    predictor.restore(line.flat);
    EXPECT_TRUE(at::equal(line.flat.values(), before));
  }
}

TEST(Predictor, TheNullPredictorChangesNothing) {
  Line line;
  Predictor predictor(PredictorKind::kNull, line.flat);
  line.window(predictor, 0, 10);
  const at::Tensor before = line.flat.values().clone();
  predictor.apply(line.flat, {.steps = 4, .rate = 0.1});
  predictor.restore(line.flat);
  EXPECT_TRUE(at::equal(line.flat.values(), before));
}

TEST(Predictor, TheMeanOfWindowsAndTheLastOneDiffer) {
  // The second window goes back where the first one came from.
  for (const PredictorKind kind : {PredictorKind::kLinear, PredictorKind::kDifference}) {
    Line line;
    Predictor predictor(kind, line.flat);
    line.window(predictor, 0, 10);
    line.b.neg_();
    line.a.sub_(line.b * 10).sub_(line.b * 10);
    line.window(predictor, 10, 20);
    const at::Tensor before = line.flat.values().clone();
    predictor.apply(line.flat, {.steps = 10, .rate = 0.1});
    const double moved = distance(line.flat.values(), before);
    if (kind == PredictorKind::kLinear) {
      EXPECT_LT(moved, 1e-5);  // Half of each.
    } else {
      EXPECT_NEAR(moved, 10 * 0.03, 1e-5);
    }
  }
}

TEST(Predictor, OuterNesterovIsThePapersFormula) {
  Line line;
  Predictor predictor(PredictorKind::kNesterov, line.flat);
  line.window(predictor, 0, 10);
  // b = d; slow = kept + 0.8 * (0.75 b + d), of a displacement d over ten steps.
  const at::Tensor d = line.b * 10;
  predictor.apply(line.flat, {.steps = 10, .rate = 0.1});
  EXPECT_LT(distance(line.flat.values(), line.a + d * 0.8 * 1.75), 1e-5);
}

TEST(Predictor, ByItsLowRankAPathThatSlowsDownGoesOnSlowingDown) {
  // Each window of ten steps moves half as far as the one before: at b, b/2, b/4.
  Line line;
  Predictor predictor(PredictorKind::kLowRank, line.flat);
  at::Tensor at = line.a.clone();
  for (double length = 1; length > 0.1; length /= 2) {
    const torch::NoGradGuard no_gradients;
    line.flat.values().copy_(at);
    predictor.begin_window(line.flat);
    at = at + line.b * length;
    line.flat.values().copy_(at);
    for (int i = 0; i < 10; ++i) predictor.count_step(0.1);
    predictor.end_window(line.flat);
  }
  predictor.apply(line.flat, {.steps = 10, .rate = 0.1});
  const double moved = (line.flat.values() - at).norm().item<double>();
  EXPECT_NEAR(moved / line.b.norm().item<double>(), 0.0625 * 0.875, 0.002);
  predictor.apply(line.flat, {.steps = 5, .rate = 0.1});
  EXPECT_NEAR((line.flat.values() - at).norm().item<double>(), moved / 2, moved / 100);
}

TEST(Predictor, AfterOneWindowItsLowRankIsALine) {
  Line line;
  Predictor predictor(PredictorKind::kLowRank, line.flat);
  line.window(predictor, 0, 10);
  predictor.apply(line.flat, {.steps = 4, .rate = 0.1});
  EXPECT_LT(distance(line.flat.values(), line.a + line.b * 14), 1e-5);
}

TEST(Predictor, AdamGoesOnAsItsMomentsSay) {
  Line line;
  Optimizer optimizer(line.flat, {.adamw = {.beta1 = 0.9, .beta2 = 0.99, .decay = 0}});
  Predictor predictor(PredictorKind::kAdam, line.flat);
  predictor.begin_window(line.flat);
  for (int i = 0; i < 3; ++i) {
    const torch::NoGradGuard no_gradients;
    line.flat.gradients().fill_(0.5);
    optimizer.step(line.flat, {.rate = 0.1});
    predictor.count_step(0.1);
  }
  const at::Tensor before = line.flat.values().clone();
  predictor.end_window(line.flat, &optimizer);
  predictor.apply(line.flat, {.steps = 4, .rate = 0.1});
  // Of gradients that were always the same each step is the rate itself.
  for (const FlatSegment& segment : line.flat.segments()) {
    const at::Tensor moved = (line.flat.values() - before).narrow(0, segment.begin, segment.count);
    EXPECT_LT((moved + 0.4).abs().max().item<double>(), 1e-4) << segment.name;
  }
}

TEST(Predictor, OneStepTeachesNothing) {
  Line line;
  Predictor predictor(PredictorKind::kLinear, line.flat);
  line.window(predictor, 0, 1);
  EXPECT_FALSE(predictor.has_direction());
  line.window(predictor, 1, 3);
  EXPECT_TRUE(predictor.has_direction());
  predictor.reset();
  EXPECT_FALSE(predictor.has_direction());
}

TEST(Predictor, JumpsAllocateNothing) {
  count_tensor_memory();
  Line line;
  Predictor predictor(PredictorKind::kLinear, line.flat);
  line.window(predictor, 0, 10);
  const TensorMemory before = tensor_memory();
  reset_tensor_memory_peak();
  predictor.apply(line.flat, {.steps = 3, .rate = 0.1});
  predictor.restore(line.flat);
  EXPECT_EQ(tensor_memory().now, before.now);
  EXPECT_LT(tensor_memory().peak.value - before.now.value, 64U);  // A scalar at most.
}

}  // namespace
}  // namespace berth::trainer
