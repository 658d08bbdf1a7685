// SPDX-License-Identifier: Apache-2.0
// Gradients of where the weights are going rather than of where they are: each step is made from a
// point ahead of them, along the running mean of what the last steps did (EMA-Nesterov, Yau et al.
// 2026, arXiv 2605.25395). Two buffers as large as the weights, or none. One thread.
#pragma once

#include <cstdint>

#include "train/settings.h"
#include "trainer/flat_parameters.h"

namespace berth::trainer {

class Lookahead {
 public:
  Lookahead(const train::LookaheadConfig& config, const FlatParameters& parameters);

  /// Nothing below does anything without.
  bool exists() const { return mean_.defined(); }
  /// The weights become those ahead of them, by so many of the mean's steps.
  void go(FlatParameters& parameters, double steps);
  /// The step was made from there, and the mean takes it up.
  void made(const FlatParameters& parameters);
  /// It was not made: the weights are, to the last bit, what they were. Nothing, unless they are
  /// ahead.
  void go_back(FlatParameters& parameters);

  /// Of what a step did, for checkpoints.
  at::Tensor& mean() { return mean_; }

 private:
  double decay_;
  at::Tensor mean_;
  at::Tensor kept_;  // The weights, while they are ahead of themselves.
  bool is_ahead_ = false;
};

}  // namespace berth::trainer
