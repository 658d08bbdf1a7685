// SPDX-License-Identifier: Apache-2.0
#include "cli/render/saves.h"

#include "base/quantity.h"

namespace berth::cli {

std::string_view outcome_text(CheckpointOutcome outcome) {
  if (outcome == CheckpointOutcome::kTimedOut) return "timed out";
  if (outcome == CheckpointOutcome::kUncaught) return "not caught";
  return to_text(outcome);
}

std::string saved_text(const CheckpointEnd& end, Charset charset) {
  const std::string detail = escape_control(end.detail, charset);
  if (end.outcome == CheckpointOutcome::kSaved) {
    return "has saved itself" + (detail.empty() ? "" : " (" + detail + ")");
  }
  return "has not saved itself: " + std::string(outcome_text(end.outcome)) +
         (detail.empty() ? "" : ", " + detail);
}

std::string measure_text(const MeasureTaken& taken, Charset charset) {
  const std::string detail = escape_control(taken.detail, charset);
  return std::string(to_text(taken.measure)) + " for " + std::string(to_text(taken.cause)) + ": " +
         (taken.outcome ? std::string(to_text(*taken.outcome)) : "under way") +
         (detail.empty() ? "" : ", " + detail);
}

std::string way_text(const CheckpointWay& way) {
  return "by " + std::string(to_text(way.kind)) + ", within " + to_text(way.grace) +
         (way.every ? ", each " + to_text(*way.every) : "");
}

}  // namespace berth::cli
