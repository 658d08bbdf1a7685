// SPDX-License-Identifier: Apache-2.0
// Actions of the trainer when training goes astray, by what it would save of itself before and
// after.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "trainer/hybrid_trainer.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

std::string saved(HybridTrainer& trainer, const std::string& name) {
  train::StateText state;
  trainer.visit(state);
  const auto found = state.values().find(name);
  EXPECT_NE(found, state.values().end()) << name;
  return found == state.values().end() ? std::string() : found->second;
}

// On an even slope, and what its loss is made of instead of the slope's own in one step or look.
struct Astray {
  Slope slope;
  int broken_step = 0;  // Of the real ones, from 1.
  int lies = 0;         // Looks at the trial batch of which each finds a tenth of the last one.
  int steps = 0;
  int looks = 0;
  HybridTrainer trainer;

  explicit Astray(const HybridConfig& config)
      : trainer(slope, [this](const Batch& batch) { return loss(batch); }, config, numbers()) {}
  at::Tensor loss(const Batch& batch) {
    if (c10::InferenceMode::is_enabled()) {
      if (++looks > lies) return slope.loss(batch);
      return torch::ones({}) * (1e6 / std::pow(10, looks));
    }
    const bool is_broken = ++steps == broken_step;
    return slope.loss(batch) * (is_broken ? std::numeric_limits<double>::quiet_NaN() : 1);
  }
  StepReport step() {
    Result<StepReport> report = trainer.step(trainer.wants_batch() ? numbers(4) : Batch{});
    EXPECT_TRUE(report.ok());
    return *report;
  }
};

TEST(RecoveryActions, AfterAWrongPredictionMoreConfidenceIsWanted) {
  Astray run(short_phases(Mode::kForced, PredictorKind::kLinear));
  run.lies = 5;
  for (int i = 0; i < 8; ++i) run.step();
  const std::string before = saved(run.trainer, "phases.confidence_wanted");
  EXPECT_TRUE(run.step().verdict.has(train::Sign::kPredictionError));
  EXPECT_GT(std::stod(saved(run.trainer, "phases.confidence_wanted")), std::stod(before) + 0.04);
}

TEST(RecoveryActions, AfterARollbackNothingOfBeforeIsGoneByAndNoWarningIsRemembered) {
  Astray run(short_phases(Mode::kForced, PredictorKind::kLinear));
  run.broken_step = 12;  // In the window of full ones after the first jump.
  for (int i = 0; i < 17; ++i) run.step();
  EXPECT_NE(saved(run.trainer, "trainer.stretch_loss"), "none");
  EXPECT_NE(saved(run.trainer, "predictor.stretches"), "0");
  EXPECT_TRUE(run.step().rolled_back);
  EXPECT_EQ(saved(run.trainer, "trainer.stretch_loss"), "none");
  EXPECT_EQ(saved(run.trainer, "predictor.stretches"), "0");
  EXPECT_EQ(saved(run.trainer, "monitor.warnings"), "0");
}

// The speedup of a jump while the rate rose says nothing of the time after that.
TEST(RecoveryActions, WhenTheRateIsStableConfidenceBeginsAnew) {
  HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  config.phases.only_stable_rate = false;
  config.schedule.warmup_steps = 30;
  Astray run(config);
  run.lies = 5;
  run.step();
  const std::string at_first = saved(run.trainer, "phases.confidence_wanted");
  for (int i = 1; i < 30; ++i) run.step();
  EXPECT_GT(run.trainer.totals().trials, 0U);
  EXPECT_NE(saved(run.trainer, "phases.confidence_wanted"), at_first);
  const std::uint64_t trials = run.trainer.totals().trials;
  run.step();
  EXPECT_EQ(saved(run.trainer, "phases.confidence_wanted"), at_first);
  EXPECT_EQ(run.trainer.totals().trials, trials) << "else the next line tells nothing";
  EXPECT_EQ(saved(run.trainer, "benefit.worth.count"), "0");
}

}  // namespace
}  // namespace berth::trainer
