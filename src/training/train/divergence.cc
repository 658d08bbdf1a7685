// SPDX-License-Identifier: Apache-2.0
#include "train/divergence.h"

#include <algorithm>
#include <cmath>

namespace berth::train {
namespace {

constexpr double kDecay = 0.99;
constexpr double kRecentDecay = 0.9;
constexpr std::uint64_t kObservationsMin = 10;  // Before that nothing is usual.
constexpr double kCautionShare = 0.7;           // Of deviation_max.
constexpr double kCriticalFactor = 2;
constexpr double kExplosionCriticalFactor = 10;
constexpr double kDeviationFloor = 0.01;  // Of the mean: a loss that stood still may move a little.
constexpr double kErrorCaution = 0.2;
constexpr double kErrorWarning = 0.5;
constexpr double kChangesCaution = 0.5;
constexpr double kChangesWarning = 0.8;
constexpr double kSwingFactor = 2;
constexpr std::uint32_t kWarningsMax = 3;

void add(Verdict& verdict, Sign sign, std::optional<Level> level) {
  if (!level) return;
  verdict.findings.push_back({.sign = sign, .level = *level});
  verdict.level = std::max(verdict.level, *level);
}

std::optional<Level> prediction_level(double error) {
  if (error > kErrorWarning) return Level::kWarning;
  if (error > kErrorCaution) return Level::kCaution;
  return std::nullopt;
}

}  // namespace

bool Verdict::has(Sign sign) const {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.sign == sign; });
}

DivergenceMonitor::DivergenceMonitor(const DivergenceConfig& config)
    : config_(config),
      loss_(kDecay),
      gradient_(kDecay),
      swing_(kDecay),
      recent_swing_(kRecentDecay),
      sign_changes_(kRecentDecay) {}

Verdict DivergenceMonitor::observe(const Observation& seen) {
  Verdict verdict;
  const double error = seen.prediction_error.value_or(0);
  if (!std::isfinite(seen.loss.value_or(0)) || !std::isfinite(seen.gradient_norm.value_or(0)) ||
      !std::isfinite(error)) {
    add(verdict, Sign::kNotFinite, Level::kCritical);
  } else {
    if (seen.loss) add(verdict, Sign::kLossDeviation, loss_deviation(*seen.loss));
    if (seen.gradient_norm) judge_gradient(*seen.gradient_norm, verdict);
    add(verdict, Sign::kPredictionError, prediction_level(error));
    if (seen.loss) add(verdict, Sign::kOscillation, oscillation());
    if (verdict.level != Level::kCritical) learn(seen);
  }
  warnings_ = verdict.level >= Level::kWarning ? warnings_ + 1 : 0;
  if (warnings_ >= kWarningsMax) verdict.level = Level::kCritical;
  return verdict;
}

// One-sided: a loss that falls fast is no trouble.
std::optional<Level> DivergenceMonitor::loss_deviation(double loss) const {
  if (loss_.count() < kObservationsMin) return std::nullopt;
  const double usual =
      std::max(std::sqrt(loss_.variance()), kDeviationFloor * std::abs(loss_.mean()));
  const double off = loss - loss_.mean();
  const double allowed = config_.deviation_max * usual;
  if (off > kCriticalFactor * allowed) return Level::kCritical;
  if (off > allowed) return Level::kWarning;
  if (off > kCautionShare * allowed) return Level::kCaution;
  return std::nullopt;
}

void DivergenceMonitor::judge_gradient(double norm, Verdict& verdict) const {
  if (gradient_.count() < kObservationsMin) return;
  const double usual = gradient_.mean();
  if (norm > usual * config_.explosion_factor * kExplosionCriticalFactor) {
    add(verdict, Sign::kGradientExplosion, Level::kCritical);
  } else if (norm > usual * config_.explosion_factor) {
    add(verdict, Sign::kGradientExplosion, Level::kWarning);
  } else if (norm < usual * config_.vanishing_factor) {
    add(verdict, Sign::kGradientVanishing, Level::kWarning);
  }
}

// Losses of batches swing by nature: two of three differences of pure noise change their sign. It
// is trouble where the swings grow as well.
std::optional<Level> DivergenceMonitor::oscillation() const {
  if (sign_changes_.count() < kObservationsMin) return std::nullopt;
  if (recent_swing_.mean() < kSwingFactor * swing_.mean()) return std::nullopt;
  if (sign_changes_.mean() > kChangesWarning) return Level::kWarning;
  if (sign_changes_.mean() > kChangesCaution) return Level::kCaution;
  return std::nullopt;
}

void DivergenceMonitor::learn(const Observation& seen) {
  if (seen.gradient_norm) gradient_.add(*seen.gradient_norm);
  if (!seen.loss) return;
  if (loss_.count() > 0) {
    const double difference = *seen.loss - last_loss_;
    swing_.add(std::abs(difference));
    recent_swing_.add(std::abs(difference));
    sign_changes_.add(difference * last_difference_ < 0 ? 1 : 0);
    last_difference_ = difference;
  }
  last_loss_ = *seen.loss;
  loss_.add(*seen.loss);
}

void DivergenceMonitor::visit(StateText& state) {
  loss_.visit(state, "monitor.loss");
  gradient_.visit(state, "monitor.gradient");
  swing_.visit(state, "monitor.swing");
  recent_swing_.visit(state, "monitor.recent_swing");
  sign_changes_.visit(state, "monitor.sign_changes");
  state.section("monitor");
  state.field("last_loss", last_loss_);
  state.field("last_difference", last_difference_);
  state.field("warnings", warnings_);
}

}  // namespace berth::train
