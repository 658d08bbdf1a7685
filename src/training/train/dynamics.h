// SPDX-License-Identifier: Apache-2.0
// Choice of when to jump and how far, learnt from the jumps of a run: an ensemble of small
// recurrent models reads a few numbers of each real step, and says of each length which speedup a
// jump of it would have. It sees no weights and makes none: a jump that it asks for is judged like
// any other. Pure, and without errors; observing, learning and choosing allocate nothing. One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "train/average.h"
#include "train/benefit.h"
#include "train/speedup_model.h"
#include "train/state_text.h"

namespace berth::train {

struct DynamicsConfig {
  std::uint32_t steps_max = 15;  // Of one jump, above 0.
  std::uint64_t seed = 1;
};

/// What a real step looked like.
struct StepFeatures {
  double loss = 0;             // A cross-entropy or so: what is not above 0 counts as nearly 0.
  double gradient_norm = 0;    // Likewise.
  double rate = 0;             // Likewise.
  double predicted_share = 0;  // Of the run's steps so far, 0 to 1.
};

/// What became of a jump.
struct JumpOutcome {
  std::uint32_t steps = 0;  // That it was to stand for.
  double speedup = 0;       // In real steps for each predicted one; 0: it was rejected.
  double cost = 0;          // Of judging it, in real steps.
};

struct JumpChoice {
  std::uint32_t steps = 0;
  double speedup = 0;     // Mean of the ensemble, in real steps for each predicted one.
  double net_least = 0;   // Real steps won, costs taken off: its mean less its spread.
  double confidence = 0;  // That anything is won, 0 to 1.
};

/// Note [An ensemble as the scheduler]: models that differ in where they began, and in the order in
/// which they see the jumps, agree where they have seen enough, and differ where they have not
/// (Lakshminarayanan et al. 2017, arXiv 1612.01474). The length with the best lower bound is taken:
/// what the mean says is won, less one standard deviation of what the models say. Confidence is the
/// chance that anything is won, were it normal, with that deviation and the errors that the
/// ensemble made with the last jumps before it learnt them: where a regime changes these grow, and
/// it falls.
///
/// There are few jumps, so that the last kMemory of them are learnt again with each new one,
/// the newer the more often, each with the state that was kept of the models before it.
class Dynamics {
 public:
  explicit Dynamics(const DynamicsConfig& config);

  /// What is not finite is left out, here and below.
  void observe(const StepFeatures& step);
  void learn(const JumpOutcome& jump);
  /// Absent before kOutcomesMin jumps, and where the models say nothing finite.
  std::optional<JumpChoice> choose() const;
  /// As it was made.
  void reset() { *this = Dynamics(config_); }

  void visit(StateText& state);

  static constexpr std::uint64_t kOutcomesMin = BenefitEstimate::kTrialsMin;
  static constexpr std::size_t kModels = 5;
  static constexpr std::size_t kMemory = 32;

 private:
  using States = std::array<GruHidden, kModels>;
  struct Remembered {
    SpeedupCase jump;
    States before;  // Of each model, before the jump's history.
  };
  struct Guess {
    double mean = 0;
    double variance = 0;  // Among the models.
  };

  Guess guess(double share) const;
  double share_of(std::uint32_t steps) const;
  std::size_t remembered() const;
  std::size_t drawn();

  DynamicsConfig config_;
  std::vector<SpeedupModel> models_;
  std::vector<Remembered> memory_;  // The newest at outcomes_ - 1, the places taken in turn.
  std::uint64_t outcomes_ = 0;
  std::uint64_t draws_ = 0;
  SpeedupHistory history_;
  States before_{};  // The history.
  States now_{};
  Average loss_, loss_change_, norm_, norm_change_, rate_;  // Logarithms, by step.
  double last_log_loss_ = 0;
  double last_log_norm_ = 0;
  double last_speedup_ = 0;
  double last_share_ = 0;
  Average cost_;
  Average error_;  // Squared, of the predicted speedup of a jump.
};

}  // namespace berth::train
