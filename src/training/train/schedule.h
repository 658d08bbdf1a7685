// SPDX-License-Identifier: Apache-2.0
// The learning rate of each step, and where it is stable enough to predict. Pure.
#pragma once

#include <cstdint>

#include "base/words.h"

namespace berth::train {

enum class Schedule : std::uint8_t {
  kConstant,
  kCosine,       // Half a cosine from the rate down to its lowest.
  kStableDecay,  // The rate, then in a straight line down to its lowest.
};
constexpr auto words_of(Schedule) {
  using enum Schedule;
  return make_words<Schedule>(
      {{kConstant, "constant"}, {kCosine, "cosine"}, {kStableDecay, "stable_decay"}});
}

struct ScheduleConfig {
  Schedule shape = Schedule::kStableDecay;
  double rate = 8e-3;
  double rate_min_share = 0;  // Of the rate, in the last step.
  double decay_share = 0.4;   // Of all steps, those in which kStableDecay goes down.
  std::uint32_t warmup_steps = 50;
  std::uint32_t steps = 1000;
};

/// Of a step from 0 on; those after the last have its rate.
double rate_at(const ScheduleConfig& config, std::uint64_t step);

/// Whether the rate of `length` steps from this one on stays within a hundredth of what it is.
bool rate_is_stable(const ScheduleConfig& config, std::uint64_t step, std::uint32_t length);

/// How far ahead of the weights a step is made, of the most: as much as the rate is of its own
/// most, and nothing in the warmup and the last third of all steps, where the weights are to
/// settle.
double lookahead_at(const ScheduleConfig& config, std::uint64_t step);

}  // namespace berth::train
