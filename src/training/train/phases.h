// SPDX-License-Identifier: Apache-2.0
// The phase of each step of a training run: warmup, full, predict, correct. What is measured is
// handed in before each step; what follows from it is decided here and nowhere else. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/words.h"
#include "train/state_text.h"

namespace berth::train {

enum class Phase : std::uint8_t { kWarmup, kFull, kPredict, kCorrect };
constexpr auto words_of(Phase) {
  using enum Phase;
  return make_words<Phase>(
      {{kWarmup, "warmup"}, {kFull, "full"}, {kPredict, "predict"}, {kCorrect, "correct"}});
}

struct PhaseConfig {
  std::uint32_t warmup_steps = 100;
  std::uint32_t full_steps = 20;
  std::uint32_t predict_steps_max = 15;
  std::uint32_t correct_steps = 5;
  std::uint32_t correction_interval = 0;  // A real step after so many predicted ones; 0: none.
  std::uint32_t consecutive_max = 5;      // Predict phases with no full phase between them.
  double confidence_min = 0.85;           // 0 to 1.
  bool only_stable_rate = true;           // Predict only where the learning rate is stable.
};

/// What is so before a step.
struct Forecast {
  std::optional<double> confidence;    // As measured at the jumps so far; none if there were none.
  bool rate_stable = true;             // For as long as a predict phase can last.
  bool pays = true;                    // Predicting has not been found to cost more than it gives.
  std::optional<std::uint32_t> steps;  // Of a predict phase, where confidence is not to decide it.
};

struct PlannedStep {
  Phase phase = Phase::kWarmup;
  /// Of the first of several predicted steps: how many steps the jump to be made now stands for.
  /// The others of them need nothing done.
  std::uint32_t jump = 0;
  bool begins = false;  // The first step of its phase.
};

/// Note [Phases]: warmup -> full once; full -> predict if prediction may be tried, else another
/// full phase; predict -> correct always; correct -> predict if there is confidence, else full.
///
/// Prediction may be tried where it pays, the learning rate is stable, no full steps are demanded,
/// and fewer than consecutive_max predict phases came one after the other. Without confidence it is
/// tried all the same now and then, after 1, 2, 4 … 32 full phases: things change.
class PhaseController {
 public:
  explicit PhaseController(const PhaseConfig& config);

  /// The phase of the next step.
  PlannedStep next(const Forecast& forecast);

  /// What became of the jump of the last planned step. A rejected one ends the phase: the step is
  /// planned anew.
  void accept_jump();
  void reject_jump();

  /// The next steps are full ones, whatever was planned. A warmup goes on.
  void force_full(std::uint32_t steps);
  /// Predict phases get shorter by this factor; each accepted jump gives a tenth of it back.
  void shorten(double factor);
  /// More confidence is demanded, at most kConfidenceMost.
  void raise_confidence(double by);
  /// Nothing is known any more: prediction is tried again after the next full phase.
  void begin_regime();

  Phase phase() const { return phase_; }
  double confidence_wanted() const { return confidence_wanted_; }
  void visit(StateText& state);

  static constexpr double kConfidenceMost = 0.99;

 private:
  Phase successor(const Forecast& forecast) const;
  void enter(Phase phase, const Forecast& forecast);
  PlannedStep predicted_step();
  bool is_confident(const Forecast& forecast) const;
  bool may_predict(const Forecast& forecast) const;
  std::uint32_t predict_steps(const Forecast& forecast) const;

  PhaseConfig config_;
  Phase phase_ = Phase::kWarmup;
  std::uint32_t left_;             // Steps of this phase that are yet to come.
  std::uint32_t jump_left_ = 0;    // Predicted steps for which no new jump is needed.
  bool correction_due_ = false;    // Before the next jump of this phase.
  bool begins_ = true;             // No step of this phase has been planned yet.
  std::uint32_t consecutive_ = 0;  // Predict phases since the last full one.
  std::uint32_t fulls_since_jump_ = 0;
  std::uint32_t fulls_wanted_ = 1;  // Between two jumps without confidence.
  double ratio_ = 1;                // Of the length of predict phases.
  double confidence_wanted_;
};

}  // namespace berth::train
