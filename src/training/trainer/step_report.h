// SPDX-License-Identifier: Apache-2.0
// Reports of each step of a run, and of a run as a whole.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "train/divergence.h"
#include "train/phases.h"
#include "train/settings.h"

namespace berth::trainer {

using train::HybridConfig;
using train::Mode;

/// Of one step, or of a part of it.
struct StepTimes {
  Duration forward, backward, update, trial, total;
};

struct StepReport {
  std::uint64_t step = 0;  // From 0 on.
  train::Phase phase = train::Phase::kWarmup;
  bool predicted = false;
  /// Of the batch; of a predicted step that of the trial batch as last judged.
  double loss = 0;
  std::optional<double> gradient_norm;
  std::optional<double> prediction_error;
  std::optional<double> confidence;
  double rate = 0;
  train::Verdict verdict;
  bool skipped = false;      // The gradient was not applied.
  std::uint64_t pieces = 0;  // In which the batch was taken, one after the other.
  bool rolled_back = false;  // Weights and optimizer are those of the last snapshot.
  StepTimes times;
};

/// What is counted over a run.
struct Totals {
  std::uint64_t real_steps = 0;
  std::uint64_t predicted_steps = 0;
  std::uint64_t trials = 0;
  std::uint64_t accepted = 0;
  std::uint64_t rollbacks = 0;
  std::uint64_t skipped = 0;
  std::uint64_t out_of_memory = 0;  // How often a batch was begun anew in smaller pieces.
};

}  // namespace berth::trainer
