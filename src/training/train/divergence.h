// SPDX-License-Identifier: Apache-2.0
// Detection of a run that comes apart: the loss against what it was, the gradient's norm against
// what it was, numbers that are none, swings that grow, predictions that were wrong. Says how bad
// it is; train/recovery.h says what is done about it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/words.h"
#include "train/average.h"
#include "train/state_text.h"

namespace berth::train {

enum class Level : std::uint8_t { kNormal, kCaution, kWarning, kCritical };
constexpr auto words_of(Level) {
  using enum Level;
  return make_words<Level>(
      {{kNormal, "normal"}, {kCaution, "caution"}, {kWarning, "warning"}, {kCritical, "critical"}});
}

enum class Sign : std::uint8_t {
  kNotFinite,
  kLossDeviation,
  kGradientExplosion,
  kGradientVanishing,
  kPredictionError,
  kOscillation,
};
constexpr auto words_of(Sign) {
  using enum Sign;
  return make_words<Sign>({{kNotFinite, "not_finite"},
                           {kLossDeviation, "loss_deviation"},
                           {kGradientExplosion, "gradient_explosion"},
                           {kGradientVanishing, "gradient_vanishing"},
                           {kPredictionError, "prediction_error"},
                           {kOscillation, "oscillation"}});
}

/// What was measured in one step. A predicted step has neither loss nor gradient, a real one no
/// prediction.
struct Observation {
  std::optional<double> loss;
  std::optional<double> gradient_norm;
  /// |observed - predicted| of one step, as a share of the loss from which it was predicted.
  std::optional<double> prediction_error;
};

struct Finding {
  Sign sign;
  Level level;
};

struct Verdict {
  Level level = Level::kNormal;  // The worst of the findings, or worse by escalation.
  std::vector<Finding> findings;

  bool has(Sign sign) const;
};

struct DivergenceConfig {
  double deviation_max = 3;       // Standard deviations above the mean loss that are a warning.
  double explosion_factor = 100;  // Times the usual gradient norm; ten times as much is critical.
  double vanishing_factor = 0.01;
};

class DivergenceMonitor {
 public:
  explicit DivergenceMonitor(const DivergenceConfig& config);

  /// Judges by what came before, then learns from what is finite and not critical.
  Verdict observe(const Observation& seen);
  /// Three warnings one after the other are critical. After a rollback the count begins anew.
  void forget_warnings() { warnings_ = 0; }

  void visit(StateText& state);

 private:
  std::optional<Level> loss_deviation(double loss) const;
  void judge_gradient(double norm, Verdict& verdict) const;
  std::optional<Level> oscillation() const;
  void learn(const Observation& seen);

  DivergenceConfig config_;
  Average loss_;
  Average gradient_;
  Average swing_;         // |difference of neighbouring losses|, over the long run.
  Average recent_swing_;  // The same, of the last ten or so.
  Average sign_changes_;  // 1 where a difference has another sign than the one before, else 0.
  double last_loss_ = 0;
  double last_difference_ = 0;
  std::uint32_t warnings_ = 0;
};

}  // namespace berth::train
