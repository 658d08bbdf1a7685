// SPDX-License-Identifier: Apache-2.0
#include "train/phases.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::train {
namespace {

constexpr std::uint32_t kFullsWantedMax = 32;
constexpr double kRatioMin = 0.1;
constexpr double kRatioGrowth = 1.1;
// Without being shortened, a predict phase has this share of its greatest length at least.
constexpr double kShareMin = 1.0 / 3;
constexpr double kTiredness = 0.1;  // Less with each predict phase after another, to one half.

}  // namespace

PhaseController::PhaseController(const PhaseConfig& config)
    : config_(config), left_(config.warmup_steps), confidence_wanted_(config.confidence_min) {
  CHECK(config.full_steps > 0 && config.predict_steps_max > 0);
}

PlannedStep PhaseController::next(const Forecast& forecast) {
  // In the midst of a phase of several jumps the rate may have begun to change.
  const bool between_jumps = phase_ == Phase::kPredict && jump_left_ == 0;
  if (between_jumps && config_.only_stable_rate && !forecast.rate_stable) left_ = 0;
  while (left_ == 0) enter(successor(forecast), forecast);
  const bool begins = std::exchange(begins_, false);
  if (phase_ == Phase::kPredict) {
    PlannedStep step = predicted_step();
    step.begins = begins;
    return step;
  }
  --left_;
  return {.phase = phase_, .begins = begins};
}

PlannedStep PhaseController::predicted_step() {
  PlannedStep step{.phase = Phase::kPredict};
  if (jump_left_ == 0) {
    if (correction_due_) {
      correction_due_ = false;
      return {.phase = Phase::kCorrect};
    }
    const std::uint32_t interval = config_.correction_interval;
    jump_left_ = interval == 0 ? left_ : std::min(interval, left_);
    correction_due_ = true;
    step.jump = jump_left_;
  }
  --jump_left_;
  --left_;
  return step;
}

void PhaseController::accept_jump() {
  CHECK(phase_ == Phase::kPredict);
  fulls_since_jump_ = 0;
  fulls_wanted_ = 1;
  ratio_ = std::min(1.0, ratio_ * kRatioGrowth);
}

void PhaseController::reject_jump() {
  CHECK(phase_ == Phase::kPredict);
  fulls_since_jump_ = 0;
  fulls_wanted_ = std::min(fulls_wanted_ * 2, kFullsWantedMax);
  force_full(config_.full_steps);
}

void PhaseController::force_full(std::uint32_t steps) {
  if (phase_ == Phase::kWarmup && left_ > 0) return;
  if (phase_ != Phase::kFull) {
    enter(Phase::kFull, {});
    left_ = 0;
  }
  left_ = std::max({left_, steps, 1U});
}

void PhaseController::shorten(double factor) {
  CHECK(factor > 0 && factor <= 1);
  ratio_ = std::max(kRatioMin, ratio_ * factor);
}

void PhaseController::raise_confidence(double by) {
  CHECK(by >= 0);
  confidence_wanted_ =
      std::max(confidence_wanted_, std::min(kConfidenceMost, confidence_wanted_ + by));
}

void PhaseController::begin_regime() {
  fulls_since_jump_ = 0;
  fulls_wanted_ = 1;
  confidence_wanted_ = config_.confidence_min;
}

Phase PhaseController::successor(const Forecast& forecast) const {
  switch (phase_) {
    case Phase::kWarmup:
      return Phase::kFull;
    case Phase::kFull:
      return may_predict(forecast) ? Phase::kPredict : Phase::kFull;
    case Phase::kPredict:
      if (config_.correct_steps > 0) return Phase::kCorrect;
      break;
    case Phase::kCorrect:
      break;
  }
  return is_confident(forecast) && may_predict(forecast) ? Phase::kPredict : Phase::kFull;
}

void PhaseController::enter(Phase phase, const Forecast& forecast) {
  if (phase == Phase::kFull) {
    consecutive_ = 0;
    fulls_since_jump_ = std::min(fulls_since_jump_ + 1, kFullsWantedMax);
  }
  phase_ = phase;
  jump_left_ = 0;
  correction_due_ = false;
  begins_ = true;
  switch (phase) {
    case Phase::kWarmup:
      left_ = config_.warmup_steps;
      break;
    case Phase::kFull:
      left_ = config_.full_steps;
      break;
    case Phase::kPredict:
      left_ = predict_steps(forecast);
      ++consecutive_;
      break;
    case Phase::kCorrect:
      left_ = config_.correct_steps;
      break;
  }
}

bool PhaseController::is_confident(const Forecast& forecast) const {
  return forecast.confidence && *forecast.confidence >= confidence_wanted_;
}

bool PhaseController::may_predict(const Forecast& forecast) const {
  if (!forecast.pays || consecutive_ >= config_.consecutive_max) return false;
  if (config_.only_stable_rate && !forecast.rate_stable) return false;
  return is_confident(forecast) || fulls_since_jump_ >= fulls_wanted_;
}

std::uint32_t PhaseController::predict_steps(const Forecast& forecast) const {
  if (forecast.steps) {
    const auto steps = static_cast<std::uint32_t>(*forecast.steps * ratio_);
    return std::clamp(steps, 1U, config_.predict_steps_max);
  }
  const double confidence = forecast.confidence.value_or(confidence_wanted_);
  const double rested = 1 - std::min(kTiredness * consecutive_, 0.5);
  const double share = std::clamp(confidence * confidence * rested, kShareMin, 1.0) * ratio_;
  const auto steps = static_cast<std::uint32_t>(config_.predict_steps_max * share);
  return std::clamp(steps, 1U, config_.predict_steps_max);
}

void PhaseController::visit(StateText& state) {
  auto phase = static_cast<std::uint32_t>(phase_);
  state.field("phase", phase, static_cast<std::uint32_t>(Phase::kCorrect));
  phase_ = static_cast<Phase>(phase);
  state.field("left", left_);
  state.field("jump_left", jump_left_);
  state.field("correction_due", correction_due_);
  state.field("begins", begins_);
  state.field("consecutive", consecutive_);
  state.field("fulls_since_jump", fulls_since_jump_);
  state.field("fulls_wanted", fulls_wanted_);
  state.field("ratio", ratio_);
  state.field("confidence_wanted", confidence_wanted_);
}

}  // namespace berth::train
