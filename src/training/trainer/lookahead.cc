// SPDX-License-Identifier: Apache-2.0
#include "trainer/lookahead.h"

#include <utility>

namespace berth::trainer {

Lookahead::Lookahead(const train::LookaheadConfig& config, const FlatParameters& parameters)
    : decay_(config.decay) {
  if (config.steps == 0) return;
  mean_ = parameters.like();
  kept_ = parameters.like();
}

void Lookahead::go(FlatParameters& parameters, double steps) {
  if (!exists()) return;
  const torch::NoGradGuard no_gradients;
  kept_.copy_(parameters.values());
  if (steps > 0) parameters.values().add_(mean_, steps);
  is_ahead_ = true;
}

void Lookahead::made(const FlatParameters& parameters) {
  if (!std::exchange(is_ahead_, false)) return;
  const torch::NoGradGuard no_gradients;
  mean_.mul_(decay_).add_(parameters.values(), 1 - decay_).add_(kept_, decay_ - 1);
}

void Lookahead::go_back(FlatParameters& parameters) {
  if (!std::exchange(is_ahead_, false)) return;
  const torch::NoGradGuard no_gradients;
  parameters.values().copy_(kept_);
}

}  // namespace berth::trainer
