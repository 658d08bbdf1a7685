// SPDX-License-Identifier: Apache-2.0
#include "train/recovery.h"

namespace berth::train {
namespace {

constexpr double kShorten = 0.5;
constexpr double kMoreConfidence = 0.05;

// What a finding that is not critical calls for.
void answer(const Finding& finding, std::uint32_t full_steps, std::vector<Action>& actions) {
  const bool is_warning = finding.level >= Level::kWarning;
  switch (finding.sign) {
    case Sign::kNotFinite:
      break;  // Always critical.
    case Sign::kLossDeviation:
      if (is_warning) actions.emplace_back(ForceFull{.steps = full_steps});
      break;
    case Sign::kGradientExplosion:
      actions.emplace_back(SkipBatch{});
      break;
    case Sign::kGradientVanishing:
      actions.emplace_back(ResetPredictor{});
      break;
    case Sign::kPredictionError:
      actions.emplace_back(Shorten{.factor = kShorten});
      if (is_warning) {
        actions.emplace_back(RaiseConfidence{.by = kMoreConfidence});
        actions.emplace_back(ForceFull{.steps = full_steps});
      }
      break;
    case Sign::kOscillation:
      actions.emplace_back(Shorten{.factor = kShorten});
      if (is_warning) actions.emplace_back(RaiseConfidence{.by = kMoreConfidence});
      break;
  }
}

}  // namespace

Recovery::Recovery(const RecoveryConfig& config, std::uint32_t full_steps)
    : config_(config), full_steps_(full_steps) {}

std::vector<Action> Recovery::decide(const Verdict& verdict, Phase phase) {
  if (verdict.level == Level::kCritical) return rescue(verdict);
  if (verdict.level < Level::kWarning && ++clean_ >= config_.clean_steps) rollbacks_ = 0;
  std::vector<Action> actions;
  // What only keeps from predicting has nothing to do yet in a warmup.
  for (const Finding& finding : verdict.findings) {
    if (phase != Phase::kWarmup || finding.sign == Sign::kGradientExplosion) {
      answer(finding, full_steps_, actions);
    }
  }
  return actions;
}

std::vector<Action> Recovery::rescue(const Verdict& verdict) {
  clean_ = 0;
  if (rollbacks_ >= config_.rollbacks_max) {
    std::string reason =
        "the run came apart again after " + std::to_string(rollbacks_) + " rollbacks:";
    for (const Finding& finding : verdict.findings) {
      reason += " " + std::string(to_text(finding.sign));
    }
    return {Abort{.reason = reason}};
  }
  ++rollbacks_;
  return {RollBack{.rate_factor = config_.rate_factor}, ResetPredictor{},
          ForceFull{.steps = full_steps_}};
}

void Recovery::visit(StateText& state) {
  state.section("recovery");
  state.field("rollbacks", rollbacks_);
  state.field("clean", clean_);
}

}  // namespace berth::train
