// SPDX-License-Identifier: Apache-2.0
#include "trainer/hybrid_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/memory.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

using train::Phase;

template <class Module>
LossFunction loss_of(Module& module) {
  return [&module](const Batch& batch) { return module.loss(batch); };
}

StepReport run_step(HybridTrainer& trainer) {
  const Batch batch = trainer.wants_batch() ? numbers(4) : Batch{};
  Result<StepReport> report = trainer.step(batch);
  EXPECT_TRUE(report.ok());
  return *report;
}

std::string letters(HybridTrainer& trainer, int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) text += to_text(run_step(trainer).phase).substr(0, 1);
  return text;
}

TEST(HybridTrainer, PlainTrainingIsTheLoopThatOneWouldWrite) {
  Bowl by_hand;
  FlatParameters flat(by_hand);
  Optimizer optimizer(flat, {.adamw = {.decay = 0}});
  Bowl trained;
  HybridTrainer trainer(trained, loss_of(trained), short_phases(Mode::kOff, {}), numbers());
  for (int i = 0; i < 30; ++i) {
    flat.clear_gradients();
    by_hand.loss(numbers(4)).backward();
    const double norm = flat.gradient_norm();
    optimizer.step(flat, {.rate = 0.01, .gradient_scale = norm > 1 ? 1 / norm : 1});
    run_step(trainer);
  }
  EXPECT_TRUE(at::equal(flat.values(), trainer.parameters().values()));
  EXPECT_EQ(trainer.totals().real_steps, 30U);
  EXPECT_EQ(trainer.totals().trials, 0U);
}

TEST(HybridTrainer, PhasesFollowTheController) {
  Slope slope;
  HybridTrainer trainer(slope, loss_of(slope), short_phases(Mode::kForced, PredictorKind::kNull),
                        numbers());
  EXPECT_EQ(letters(trainer, 20), "wwwwffffppppppccffff");
  EXPECT_EQ(trainer.totals().real_steps, 14U);
  EXPECT_EQ(trainer.totals().predicted_steps, 6U);
}

TEST(HybridTrainer, TheNullPredictorSkipsStepsAndChangesNothing) {
  Slope slope;
  HybridTrainer trainer(slope, loss_of(slope), short_phases(Mode::kForced, PredictorKind::kNull),
                        numbers());
  letters(trainer, 8);
  const at::Tensor before = trainer.parameters().values().clone();
  EXPECT_EQ(letters(trainer, 6), "pppppp");
  EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
  EXPECT_EQ(trainer.totals().trials, 0U);
}

TEST(HybridTrainer, OnAnEvenSlopePredictedStepsDoWhatRealOnesWould) {
  Slope slope;
  HybridConfig config = short_phases(Mode::kAuto, PredictorKind::kLinear);
  config.speedup_min = 0.9;
  HybridTrainer trainer(slope, loss_of(slope), config, numbers());
  EXPECT_EQ(letters(trainer, 8), "wwwwffff");
  const at::Tensor before = trainer.parameters().values().clone();
  EXPECT_EQ(letters(trainer, 1), "p");
  // Each real step moves each weight by the rate. The best of the lengths is twice that wanted; the
  // first jump is of four steps, because nothing was measured before it.
  EXPECT_EQ(trainer.totals().accepted, 1U);
  const at::Tensor moved = trainer.parameters().values() - before;
  const double each = 0.01 * 4 * 2;
  EXPECT_NEAR(moved.min().item<double>(), -each, 1e-4);
  EXPECT_NEAR(moved.max().item<double>(), -each, 1e-4);
  // The whole of it was made in the first of the predicted steps.
  const at::Tensor after = trainer.parameters().values().clone();
  EXPECT_EQ(letters(trainer, 3), "ppp");
  EXPECT_TRUE(at::equal(trainer.parameters().values(), after));
  EXPECT_EQ(trainer.benefit().confidence(), 1);
}

TEST(HybridTrainer, ARejectedJumpLeavesTheWeightsToTheLastBit) {
  // On the trial batch every other place is worse than the one where it is looked at.
  Slope slope;
  at::Tensor here;
  const LossFunction loss = [&](const Batch& batch) {
    if (at::GradMode::is_enabled() && !c10::InferenceMode::is_enabled()) return slope.loss(batch);
    if (!here.defined()) here = slope.weight.clone();
    return (slope.weight - here).abs().sum() + 5;
  };
  HybridTrainer trainer(slope, loss, short_phases(Mode::kAuto, PredictorKind::kLinear), numbers());
  letters(trainer, 8);
  here = at::Tensor();
  const at::Tensor before = trainer.parameters().values().clone();
  EXPECT_TRUE(trainer.wants_batch());
  EXPECT_EQ(trainer.totals().trials, 1U);
  EXPECT_EQ(trainer.totals().accepted, 0U);
  EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
  EXPECT_EQ(run_step(trainer).phase, Phase::kFull);
}

TEST(HybridTrainer, PredictionSwitchesItselfOffWhereItWinsNothing) {
  Slope slope;
  int trial_looks = 0;
  const LossFunction loss = [&](const Batch& batch) {
    if (!c10::InferenceMode::is_enabled()) return slope.loss(batch);
    ++trial_looks;
    return torch::ones({}) * (1 + trial_looks);
  };
  HybridTrainer trainer(slope, loss, short_phases(Mode::kAuto, PredictorKind::kLinear), numbers());
  letters(trainer, 400);
  EXPECT_EQ(trainer.totals().trials, train::BenefitEstimate::kTrialsMin);
  EXPECT_FALSE(trainer.benefit().pays());
  const int looks = trial_looks;
  EXPECT_EQ(letters(trainer, 20), std::string(20, 'f'));
  EXPECT_EQ(trial_looks, looks);
}

TEST(HybridTrainer, TheErrorOfAPredictionIsThatOfItsOwnStep) {
  Slope slope;
  HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  HybridTrainer trainer(slope, loss_of(slope), config, numbers());
  std::vector<StepReport> reports;
  for (int i = 0; i < 14; ++i) reports.push_back(run_step(trainer));
  // Sixteen weights fall by the rate in each step. Twice the six steps predicted were made.
  const StepReport& jump = reports[8];
  ASSERT_TRUE(jump.predicted);
  ASSERT_TRUE(jump.prediction_error);
  const double predicted = 1000 - 16 * 0.01 * (8 + 6);
  const double seen = 1000 - 16 * 0.01 * (8 + 12);
  EXPECT_NEAR(*jump.prediction_error, (predicted - seen) / (1000 - 16 * 0.01 * 8), 1e-6);
  EXPECT_NEAR(jump.loss, seen, 1e-2);
  for (std::size_t i = 9; i < 14; ++i) EXPECT_EQ(reports[i].prediction_error, std::nullopt);
}

TEST(HybridTrainer, WhatIsReportedOfARealStepIsWhatWasMeasured) {
  Bowl bowl(2);
  HybridTrainer trainer(bowl, loss_of(bowl), short_phases(Mode::kOff, {}), numbers());
  const StepReport first = run_step(trainer);
  EXPECT_EQ(first.step, 0U);
  EXPECT_NEAR(first.loss, 8, 1e-5);
  EXPECT_NEAR(first.gradient_norm.value_or(0),
              std::sqrt(15 * std::pow(4.0 / 15, 2) + 7 * std::pow(4.0 / 7, 2)), 1e-5);
  EXPECT_EQ(first.rate, 0.01);
  EXPECT_FALSE(first.predicted);
  EXPECT_GT(first.times.total.ns, 0);
  EXPECT_EQ(run_step(trainer).step, 1U);
}

// A loss that is not a number in steps from..to.
struct Fault {
  Bowl bowl{2};
  int calls = 0;
  int from = 0;
  int to = 0;

  LossFunction loss() {
    return [this](const Batch& batch) {
      const bool is_wrong = ++calls >= from && calls <= to;
      return bowl.loss(batch) * (is_wrong ? std::numeric_limits<double>::quiet_NaN() : 1);
    };
  }
};

TEST(HybridTrainer, AfterALossThatIsNoNumberItGoesBackToTheSnapshotAtHalfTheRate) {
  Fault fault{.from = 13, .to = 13};
  HybridTrainer trainer(fault.bowl, fault.loss(), short_phases(Mode::kOff, {}), numbers());
  at::Tensor kept, moments;
  for (int i = 0; i < 12; ++i) {
    if (i == 10) {  // A snapshot is taken before each fifth step.
      kept = trainer.parameters().values().clone();
      moments = trainer.optimizer().second_moments().clone();
    }
    run_step(trainer);
  }
  EXPECT_FALSE(at::equal(trainer.parameters().values(), kept));
  const StepReport broken = run_step(trainer);
  EXPECT_TRUE(broken.rolled_back);
  EXPECT_TRUE(std::isnan(broken.loss));
  EXPECT_TRUE(at::equal(trainer.parameters().values(), kept));
  EXPECT_TRUE(at::equal(trainer.optimizer().second_moments(), moments));
  EXPECT_EQ(trainer.optimizer().steps(), 10U);
  EXPECT_EQ(trainer.rate(), 0.005);
  EXPECT_EQ(trainer.totals().rollbacks, 1U);
  EXPECT_FALSE(run_step(trainer).rolled_back);
}

TEST(HybridTrainer, ARunThatCannotBeSavedEndsWithAReason) {
  Fault fault{.from = 5, .to = 1000};
  HybridTrainer trainer(fault.bowl, fault.loss(), short_phases(Mode::kOff, {}), numbers());
  for (int i = 0; i < 7; ++i) run_step(trainer);
  const Result<StepReport> last = trainer.step(numbers());
  ASSERT_FALSE(last.ok());
  EXPECT_NE(last.error().message.find("step 7"), std::string::npos);
  EXPECT_NE(last.error().message.find("not_finite"), std::string::npos);
  EXPECT_TRUE(trainer.parameters().values().isfinite().all().item<bool>());
}

TEST(HybridTrainer, WithoutSnapshotsABrokenStepIsNotMade) {
  Fault fault{.from = 5, .to = 5};
  HybridConfig config = short_phases(Mode::kOff, {});
  config.snapshot_every = 0;
  HybridTrainer trainer(fault.bowl, fault.loss(), config, numbers());
  for (int i = 0; i < 4; ++i) run_step(trainer);
  const at::Tensor before = trainer.parameters().values().clone();
  EXPECT_TRUE(run_step(trainer).rolled_back);
  EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
  EXPECT_EQ(trainer.rate(), 0.005);
}

TEST(HybridTrainer, AnExplodedGradientIsNotApplied) {
  Slope slope;
  int calls = 0;
  const LossFunction loss = [&](const Batch& batch) {
    // The loss stays what it is, its slope does not.
    const at::Tensor usual = slope.loss(batch);
    return ++calls == 15 ? usual * 500 - usual.item<double>() * 499 : usual;
  };
  HybridTrainer trainer(slope, loss, short_phases(Mode::kOff, {}), numbers());
  for (int i = 0; i < 14; ++i) run_step(trainer);
  const at::Tensor before = trainer.parameters().values().clone();
  const at::Tensor moments = trainer.optimizer().second_moments().clone();
  const StepReport report = run_step(trainer);
  EXPECT_TRUE(report.skipped);
  EXPECT_TRUE(report.verdict.has(train::Sign::kGradientExplosion));
  EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
  EXPECT_TRUE(at::equal(trainer.optimizer().second_moments(), moments));
  EXPECT_EQ(trainer.totals().skipped, 1U);
}

TEST(HybridTrainer, PredictionsThatWereWrongShortenWhatFollows) {
  // Around the first jump the trial loss is a lie: with each look it falls to a tenth.
  Slope slope;
  double lie = 1e6;
  int looks = 0;
  const LossFunction loss = [&](const Batch& batch) {
    if (!c10::InferenceMode::is_enabled() || ++looks > 5) return slope.loss(batch);
    return torch::ones({}) * (lie /= 10);
  };
  HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  HybridTrainer trainer(slope, loss, config, numbers());
  EXPECT_EQ(letters(trainer, 9), "wwwwffffp");
  // A warning forces four full steps at once, the next predict phase is half as long.
  EXPECT_EQ(letters(trainer, 9), "ffffpppcc");
}

TEST(HybridTrainer, AMeanOfTheWeightsIsKeptBesideThem) {
  Bowl bowl(2);
  HybridConfig config = short_phases(Mode::kOff, {});
  config.average_decay = 0.75;
  HybridTrainer trainer(bowl, loss_of(bowl), config, numbers());
  at::Tensor expected;
  for (int step = 1; step <= 12; ++step) {
    run_step(trainer);
    const at::Tensor& now = trainer.parameters().values();
    const double share = std::max(0.25, 1.0 / step);
    expected = step == 1 ? now.clone() : expected * (1 - share) + now * share;
  }
  const at::Tensor before = trainer.parameters().values().clone();
  at::Tensor seen;
  trainer.with_average([&] { seen = trainer.parameters().values().clone(); });
  EXPECT_TRUE(at::allclose(seen, expected));
  EXPECT_FALSE(at::allclose(seen, before));
  EXPECT_TRUE(at::equal(trainer.parameters().values(), before)) << "to the last bit";
}

TEST(HybridTrainer, AMeanChangesNothingThatIsTrained) {
  at::Tensor weights[2];
  for (const int i : {0, 1}) {
    Bowl bowl(2);
    HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
    config.average_decay = i * 0.9;
    HybridTrainer trainer(bowl, loss_of(bowl), config, numbers());
    for (int step = 0; step < 30; ++step) run_step(trainer);
    EXPECT_EQ(trainer.averages(), i == 1);
    weights[i] = trainer.parameters().values().clone();
  }
  EXPECT_TRUE(at::equal(weights[0], weights[1]));
}

TEST(HybridTrainer, GradientsAreClippedToTheNormThatIsAllowed) {
  at::Tensor moments[2];
  for (const int i : {0, 1}) {
    Bowl bowl(2);
    HybridConfig config = short_phases(Mode::kOff, {});
    config.clip = i == 0 ? 0 : 0.5;
    HybridTrainer trainer(bowl, loss_of(bowl), config, numbers());
    const double norm = run_step(trainer).gradient_norm.value_or(0);
    moments[i] = trainer.optimizer().first_moments() * (i == 0 ? 0.5 / norm : 1);
  }
  EXPECT_TRUE(at::allclose(moments[0], moments[1]));
}

struct TinyRun {
  Gpt2 model{kTinyGpt2};
  HybridTrainer trainer;

  explicit TinyRun(const HybridConfig& config)
      : trainer(initialized(model), loss_of(model), config, batch(1'000'000)) {}
  static Gpt2& initialized(Gpt2& model) {
    at::set_num_threads(1);  // Too small to share.
    model.initialize(3);
    return model;
  }
  static Batch batch(std::uint64_t seed) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    const at::Tensor first = at::randint(16, {2, 1}, generator, at::kLong);
    const at::Tensor all = (first + torch::arange(9, at::kLong)) % 32;  // Numbers that go up.
    return {.inputs = all.narrow(1, 0, 8).contiguous(),
            .targets = all.narrow(1, 1, 8).contiguous()};
  }
  StepReport step() {
    const bool wants = trainer.wants_batch();
    Result<StepReport> report = trainer.step(wants ? batch(trainer.steps_done()) : Batch{});
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return *report;
  }
};

TEST(HybridTrainer, ASeededRunIsRepeatedToTheLastBit) {
  const HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  TinyRun first(config);
  TinyRun second(config);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(first.step().loss, second.step().loss) << i;
  EXPECT_TRUE(at::equal(first.trainer.parameters().values(), second.trainer.parameters().values()));
}

TEST(HybridTrainer, ItLearns) {
  TinyRun run(short_phases(Mode::kForced, PredictorKind::kLinear));
  const double first = run.step().loss;
  double last = first;
  for (int i = 0; i < 150; ++i) last = run.step().loss;
  EXPECT_NEAR(first, std::log(32.0), 0.1);
  EXPECT_LT(last, first / 4);
  EXPECT_GT(run.trainer.totals().predicted_steps, 30U);
}

TEST(HybridTrainer, WithTheEnsemblePredictPhasesAreAsLongAsItSays) {
  for (const Mode mode : {Mode::kAuto, Mode::kForced}) {
    HybridConfig config = short_phases(mode, PredictorKind::kLinear);
    config.scheduler = train::Scheduler::kDynamics;
    config.speedup_min = 0.1;
    config.phases.predict_steps_max = 32;
    Slope slope;
    HybridTrainer trainer(slope, loss_of(slope), config, numbers());
    std::optional<train::JumpChoice> told;
    std::uint32_t made = 0;
    int followed = 0;
    for (int i = 0; i < 600; ++i) {
      const auto before = trainer.choice();
      const StepReport report = run_step(trainer);
      const auto after = trainer.choice();
      ASSERT_EQ(after.has_value(), trainer.totals().trials >= train::Dynamics::kOutcomesMin) << i;
      if (after) {
        ASSERT_EQ(report.confidence, after->confidence) << i;
      }
      if (report.predicted) {
        if (made++ == 0) told = before;
        continue;
      }
      if (made > 0 && told) {
        ASSERT_EQ(made, told->steps) << i;
        ++followed;
      }
      made = 0;
    }
    EXPECT_GT(followed, 5);
  }
}

TEST(HybridTrainer, WhereAnEnsembleWouldHaveNothingToLearnThereIsNone) {
  const auto keeps_one = [](Mode mode, PredictorKind kind) {
    HybridConfig config = short_phases(mode, kind);
    config.scheduler = train::Scheduler::kDynamics;
    Slope slope;
    HybridTrainer trainer(slope, loss_of(slope), config, numbers());
    train::StateText state;
    trainer.visit(state);
    return state.values().contains("dynamics.outcomes");
  };
  EXPECT_TRUE(keeps_one(Mode::kAuto, PredictorKind::kLinear));
  EXPECT_FALSE(keeps_one(Mode::kForced, PredictorKind::kNull));
  EXPECT_FALSE(keeps_one(Mode::kOff, PredictorKind::kLinear));
}

TEST(HybridTrainer, MemoryIsTheSameFiftyStepsLaterInEveryPhase) {
  count_tensor_memory();
  for (const PredictorKind kind : {PredictorKind::kLinear, PredictorKind::kNesterov}) {
    HybridConfig config = short_phases(Mode::kForced, kind);
    // It has nothing left to learn after some time, and then what is usual is nearly nothing.
    config.divergence = {.deviation_max = 1e6, .explosion_factor = 1e9, .vanishing_factor = 0};
    config.recovery.rollbacks_max = 1000;
    TinyRun run(config);
    const int steps = kind == PredictorKind::kLinear ? 1000 : 300;
    std::map<Phase, Bytes> after_step;
    std::map<Phase, int> looks;
    for (int i = 0; i < steps; ++i) {
      const Phase phase = run.step().phase;
      const Bytes now = tensor_memory().now;
      if (i < 50) {
        after_step[phase] = now;
      } else {
        ASSERT_EQ(now, after_step[phase]) << "step " << i << ", " << to_text(phase);
        ++looks[phase];
      }
    }
    EXPECT_GT(looks[Phase::kFull], 50);
    EXPECT_GT(looks[Phase::kPredict], 50);
    EXPECT_GT(looks[Phase::kCorrect], 30);
  }
}

void expect_goes_on(const HybridConfig& config, int cut) {
  TinyRun whole(config);
  for (int i = 0; i < cut; ++i) whole.step();
  train::StateText saved;
  whole.trainer.visit(saved);
  TinyRun resumed(config);
  train::StateText loaded(saved.values());
  resumed.trainer.visit(loaded);
  ASSERT_TRUE(loaded.outcome().ok()) << loaded.outcome().error().message;
  {
    const torch::NoGradGuard no_gradients;
    resumed.trainer.parameters().values().copy_(whole.trainer.parameters().values());
    auto from = whole.trainer.tensors();
    auto to = resumed.trainer.tensors();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].tensor.copy_(from[i].tensor);
  }
  for (int i = 0; i < 30; ++i) {
    const StepReport a = whole.step();
    const StepReport b = resumed.step();
    ASSERT_EQ(a.loss, b.loss) << cut << ' ' << i;
    ASSERT_EQ(a.phase, b.phase) << cut << ' ' << i;
    ASSERT_EQ(a.confidence, b.confidence) << cut << ' ' << i;
  }
}

TEST(HybridTrainer, GoesOnFromItsSavedStateToTheLastBit) {
  HybridConfig config = short_phases(Mode::kForced, PredictorKind::kNesterov);
  for (const int cut : {3, 8, 10, 14, 37}) expect_goes_on(config, cut);
  config.scheduler = train::Scheduler::kDynamics;
  for (const int cut : {3, 14, 37, 75}) expect_goes_on(config, cut);
  HybridConfig ahead = short_phases(Mode::kOff, PredictorKind::kNull);
  ahead.lookahead.steps = 0.5;
  expect_goes_on(ahead, 14);
}

}  // namespace
}  // namespace berth::trainer
