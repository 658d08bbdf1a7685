// SPDX-License-Identifier: Apache-2.0
#include "train/benefit.h"

#include <algorithm>
#include <cmath>

namespace berth::train {

Judgement judge(const Trial& trial, std::span<const Candidate> candidates) {
  Judgement judgement{.loss = trial.loss_before};
  Candidate best{.share = 0, .loss = trial.loss_before};
  for (const Candidate& candidate : candidates) {
    if (std::isfinite(candidate.loss) && candidate.loss < best.loss) best = candidate;
  }
  const double predicted = trial.drop_per_step * trial.steps;
  if (best.share == 0 || predicted <= 0) return judgement;
  judgement.speedup = std::clamp((trial.loss_before - best.loss) / predicted, 0.0, kSpeedupMost);
  if (judgement.speedup < trial.speedup_wanted) return judgement;
  judgement.share = best.share;
  judgement.loss = best.loss;
  return judgement;
}

void BenefitEstimate::add(const Trial& trial, const Judgement& judgement) {
  const double speedup = judgement.share > 0 ? judgement.speedup : 0;
  speedup_.add(std::clamp(speedup, 0.0, 1.0));
  net_.add(speedup * trial.steps - trial.cost);
}

std::optional<double> BenefitEstimate::confidence() const {
  if (speedup_.count() == 0) return std::nullopt;
  return speedup_.mean();
}

bool BenefitEstimate::pays() const {
  return net_.count() < kTrialsMin || net_.mean() > 0;
}

void BenefitEstimate::visit(StateText& state) {
  speedup_.visit(state, "benefit.worth");
  net_.visit(state, "benefit.net");
}

}  // namespace berth::train
