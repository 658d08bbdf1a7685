// SPDX-License-Identifier: Apache-2.0
// Responses to a verdict on a run, as values; the owner of the weights performs them. Rollbacks are
// counted: a run that cannot be saved ends with a reason instead of going round. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "train/divergence.h"
#include "train/phases.h"
#include "train/state_text.h"

namespace berth::train {

struct Shorten {  // Predict phases.
  double factor;
};
struct ForceFull {
  std::uint32_t steps;
};
struct RaiseConfidence {
  double by;
};
struct RollBack {  // To the last good weights and optimizer state.
  double rate_factor;
};
struct SkipBatch {};  // The gradient is not applied.
struct ResetPredictor {};
struct Abort {
  std::string reason;
};
using Action =
    std::variant<Shorten, ForceFull, RaiseConfidence, RollBack, SkipBatch, ResetPredictor, Abort>;

struct RecoveryConfig {
  std::uint32_t rollbacks_max = 3;  // Without clean_steps between them; then the run is aborted.
  double rate_factor = 0.5;         // The learning rate after a rollback, of what it was.
  std::uint32_t clean_steps = 100;
};

class Recovery {
 public:
  Recovery(const RecoveryConfig& config, std::uint32_t full_steps);

  /// In the order in which they are to be performed; empty: go on.
  std::vector<Action> decide(const Verdict& verdict, Phase phase);

  void visit(StateText& state);

 private:
  std::vector<Action> rescue(const Verdict& verdict);

  RecoveryConfig config_;
  std::uint32_t full_steps_;
  std::uint32_t rollbacks_ = 0;
  std::uint32_t clean_ = 0;
};

}  // namespace berth::train
