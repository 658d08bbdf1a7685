// SPDX-License-Identifier: Apache-2.0
// One training run from settings to a summary: it reads the text, steps the trainer, validates,
// and writes metrics and plots. One thread, but for `stop`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "train/peer_place.h"
#include "train/settings.h"
#include "trainer/coordination.h"
#include "trainer/step_report.h"

namespace berth::trainer {

struct Progress {
  StepReport report;
  std::uint64_t steps = 0;  // Of the whole run.
  double tokens_per_second = 0;
  Duration left;
  Bytes memory;
};

struct RunControl {
  bool resume = false;                            // Go on from the newest checkpoint in the folder.
  const std::atomic<bool>* stop = nullptr;        // Looked at between steps.
  std::function<void(const Progress&)> progress;  // After each step.
  std::function<void(const std::string&)> say;    // What a person should know besides.
  Coordination* coordination = nullptr;           // Null: nobody coordinates.
  std::optional<train::PeerPlace> place = {};     // Among the processes that train together.
};

/// Training is all but validation and the writing of plots: what both sides of a comparison do.
struct Summary {
  std::uint64_t steps = 0;
  Totals totals;
  double loss = 0;  // Mean of the last twenty real steps.
  double validation_loss = 0;
  std::optional<double> average_loss;  // The same, of the running mean of the weights.
  Duration training;
  Bytes memory;       // Of tensors, between steps.
  Bytes memory_peak;  // Of tensors.
  bool stopped = false;
  std::string checkpoint;  // The last one, if there is any.
};

/// kInvalid where settings and text do not fit; what ends a run that came apart. Of several
/// processes the one of rank 0 writes, and the others' summaries have no validation and no
/// checkpoint; kUnavailable when another of them is lost, and then what there was is saved. With a
/// folder it holds metrics.ndjson and three plots afterwards, also of a run that failed; and
/// checkpoints, one of them of where the run was stopped.
Result<Summary> run_training(const train::Settings& settings, const RunControl& control);

}  // namespace berth::trainer
