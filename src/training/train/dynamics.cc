// SPDX-License-Identifier: Apache-2.0
#include "train/dynamics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/check.h"
#include "train/shuffle.h"

namespace berth::train {
namespace {

constexpr std::uint32_t kLengths = 16;  // Asked about: sixteenths of the greatest.
constexpr int kUpdates = 16;            // Of each model, with each new jump.
constexpr double kFeatureDecay = 0.99;
constexpr double kOutcomeDecay = 0.8;
constexpr double kLeast = 1e-30;  // Of what a logarithm is taken of.
constexpr double kDeviationLeast = 1e-4;
constexpr double kFeatureMost = 3;  // Standard deviations.
constexpr double kLastSpeedupMost = 2;
constexpr double kSpreadLeast = 1e-9;

// How far it is from what was usual, in standard deviations.
double states_of(double value, Average& usual) {
  usual.add(value);
  const double deviation = std::max(std::sqrt(usual.variance()), kDeviationLeast);
  return std::clamp((value - usual.mean()) / deviation, -kFeatureMost, kFeatureMost);
}

double logarithm(double value) {
  return std::log(std::max(value, kLeast));
}

// Of a normal number: that it is below its mean plus so many deviations.
double chance_below(double deviations) {
  return std::erfc(-deviations / std::numbers::sqrt2) / 2;
}

}  // namespace

Dynamics::Dynamics(const DynamicsConfig& config)
    : config_(config),
      memory_(kMemory),
      loss_(kFeatureDecay),
      loss_change_(kFeatureDecay),
      norm_(kFeatureDecay),
      norm_change_(kFeatureDecay),
      rate_(kFeatureDecay),
      cost_(kOutcomeDecay),
      error_(kOutcomeDecay) {
  CHECK(config.steps_max > 0);
  models_.reserve(kModels);
  for (std::size_t i = 0; i < kModels; ++i) models_.emplace_back(config.seed + i);
}

void Dynamics::observe(const StepFeatures& step) {
  for (const double number : {step.loss, step.gradient_norm, step.rate, step.predicted_share}) {
    if (!std::isfinite(number)) return;
  }
  const bool is_first = loss_.count() == 0;
  const double log_loss = logarithm(step.loss);
  const double log_norm = logarithm(step.gradient_norm);
  const std::array<double, kGruInputs> input = {
      states_of(log_loss, loss_),
      states_of(is_first ? 0 : log_loss - last_log_loss_, loss_change_),
      states_of(log_norm, norm_),
      states_of(is_first ? 0 : log_norm - last_log_norm_, norm_change_),
      states_of(logarithm(step.rate), rate_),
      std::clamp(step.predicted_share, 0.0, 1.0),
      std::min(last_speedup_, kLastSpeedupMost),
      last_share_};
  last_log_loss_ = log_loss;
  last_log_norm_ = log_norm;
  for (std::size_t i = 0; i < kModels; ++i) {
    if (history_.is_full()) before_[i] = models_[i].next(history_.input(0), before_[i]);
    now_[i] = models_[i].next(input, now_[i]);
  }
  history_.add(input);
}

void Dynamics::learn(const JumpOutcome& jump) {
  if (jump.steps == 0 || !std::isfinite(jump.speedup) || !std::isfinite(jump.cost)) return;
  last_share_ = share_of(jump.steps);
  last_speedup_ = std::clamp(jump.speedup, 0.0, kSpeedupMost);
  const double error = last_speedup_ - guess(last_share_).mean;
  error_.add(error * error);
  cost_.add(jump.cost);
  memory_[outcomes_ % kMemory] = {
      .jump = {.history = history_, .share = last_share_, .speedup = last_speedup_},
      .before = before_};
  ++outcomes_;
  for (int update = 0; update < kUpdates; ++update) {
    for (std::size_t i = 0; i < kModels; ++i) {
      const Remembered& again = memory_[drawn()];
      models_[i].learn(again.jump, again.before[i]);
    }
  }
  // What they are now would have read the last steps otherwise.
  for (std::size_t i = 0; i < kModels; ++i) now_[i] = models_[i].after(history_, before_[i]);
}

std::optional<JumpChoice> Dynamics::choose() const {
  if (outcomes_ < kOutcomesMin) return std::nullopt;
  std::optional<JumpChoice> best;
  for (std::uint32_t i = 1; i <= kLengths; ++i) {
    const std::uint64_t sixteenths = std::uint64_t{config_.steps_max} * i;
    const auto steps = static_cast<std::uint32_t>((sixteenths + kLengths - 1) / kLengths);
    const Guess speedup = guess(share_of(steps));
    const double net = speedup.mean * steps - cost_.mean();
    const double least = net - std::sqrt(speedup.variance) * steps;
    if (!std::isfinite(least) || (best && least <= best->net_least)) continue;
    const double spread = std::sqrt(speedup.variance + error_.mean()) * steps;
    best = {.steps = steps,
            .speedup = speedup.mean,
            .net_least = least,
            .confidence = chance_below(net / std::max(spread, kSpreadLeast))};
  }
  return best;
}

Dynamics::Guess Dynamics::guess(double share) const {
  std::array<double, kModels> each{};
  Guess guess;
  for (std::size_t i = 0; i < kModels; ++i) {
    each[i] = models_[i].speedup(now_[i], share);
    guess.mean += each[i] / kModels;
  }
  for (const double speedup : each) {
    guess.variance += (speedup - guess.mean) * (speedup - guess.mean) / (kModels - 1);
  }
  return guess;
}

double Dynamics::share_of(std::uint32_t steps) const {
  return std::min(1.0, static_cast<double>(steps) / config_.steps_max);
}

std::size_t Dynamics::remembered() const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(outcomes_, kMemory));
}

// The youngest of three by chance.
std::size_t Dynamics::drawn() {
  std::uint64_t age = kMemory;
  for (int i = 0; i < 3; ++i) {
    age = std::min(age, mixed(mixed(config_.seed) + ++draws_) % remembered());
  }
  return static_cast<std::size_t>((outcomes_ - 1 - age) % kMemory);
}

void Dynamics::visit(StateText& state) {
  loss_.visit(state, "dynamics.loss");
  loss_change_.visit(state, "dynamics.loss_change");
  norm_.visit(state, "dynamics.norm");
  norm_change_.visit(state, "dynamics.norm_change");
  rate_.visit(state, "dynamics.rate");
  cost_.visit(state, "dynamics.cost");
  error_.visit(state, "dynamics.error");
  state.section("dynamics");
  state.field("outcomes", outcomes_);
  state.field("draws", draws_);
  state.field("last_log_loss", last_log_loss_);
  state.field("last_log_norm", last_log_norm_);
  state.field("last_worth", last_speedup_);
  state.field("last_share", last_share_);
  const auto visit_history = [&](SpeedupHistory& history) {
    state.field("inputs", std::span<double>(history.inputs));
    state.field("steps", history.count, kSpeedupWindow);
  };
  visit_history(history_);
  for (std::size_t i = 0; i < kModels; ++i) {
    state.section("dynamics.model" + std::to_string(i));
    models_[i].visit(state);
    state.field("before", std::span<double>(before_[i]));
    state.field("now", std::span<double>(now_[i]));
  }
  for (std::size_t place = 0; place < remembered(); ++place) {
    Remembered& each = memory_[place];
    state.section("dynamics.jump" + std::to_string(place));
    visit_history(each.jump.history);
    state.field("share", each.jump.share);
    state.field("worth", each.jump.speedup);
    for (std::size_t i = 0; i < kModels; ++i) {
      state.field("before" + std::to_string(i), std::span<double>(each.before[i]));
    }
  }
}

}  // namespace berth::train
