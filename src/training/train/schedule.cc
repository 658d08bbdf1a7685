// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace berth::train {
namespace {

constexpr double kStable = 0.01;

// How far down the rate has gone: 0 at the top to 1 at its lowest.
double descent(const ScheduleConfig& config, std::uint64_t step) {
  const std::uint64_t last = config.steps > 0 ? config.steps - 1 : 0;
  double begin = config.warmup_steps;
  if (config.shape == Schedule::kConstant) return 0;
  if (config.shape == Schedule::kStableDecay) {
    begin = std::max(begin, static_cast<double>(config.steps) * (1 - config.decay_share));
  }
  const double length = static_cast<double>(last) - begin;
  if (length <= 0) return 0;
  const double share = std::clamp((static_cast<double>(step) - begin) / length, 0.0, 1.0);
  if (config.shape == Schedule::kStableDecay) return share;
  return (1 - std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace

double rate_at(const ScheduleConfig& config, std::uint64_t step) {
  if (step < config.warmup_steps) {
    return config.rate * static_cast<double>(step + 1) / config.warmup_steps;
  }
  return config.rate * (1 - descent(config, step) * (1 - config.rate_min_share));
}

bool rate_is_stable(const ScheduleConfig& config, std::uint64_t step, std::uint32_t length) {
  // Within a warmup and after it the rate goes one way only, so the ends tell.
  if (step < config.warmup_steps) return false;
  const double now = rate_at(config, step);
  return std::abs(rate_at(config, step + length) - now) <= kStable * now;
}

double lookahead_at(const ScheduleConfig& config, std::uint64_t step) {
  const bool settles = step >= std::uint64_t{config.steps} * 2 / 3;
  if (step < config.warmup_steps || settles) return 0;
  return rate_at(config, step) / config.rate;
}

}  // namespace berth::train
