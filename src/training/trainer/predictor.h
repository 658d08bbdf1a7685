// SPDX-License-Identifier: Apache-2.0
// Prediction of where weights are going, from where they have been in the real steps of a window.
// A jump is one addition in place; what was before it is kept and comes back to the last bit. Owns
// two buffers as large as the weights, a third for kNesterov, five for kLowRank; allocates nothing
// later. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "train/extrapolation.h"
#include "train/settings.h"
#include "train/state_text.h"
#include "trainer/flat_parameters.h"
#include "trainer/optimizer.h"

namespace berth::trainer {

using train::PredictorKind;

class Predictor {
 public:
  Predictor(PredictorKind kind, const FlatParameters& parameters);

  PredictorKind kind() const { return kind_; }
  /// Real steps follow, from these weights on.
  void begin_window(const FlatParameters& parameters);
  /// One of them was done.
  void count_step(double rate);
  /// Real steps of the window so far.
  std::uint32_t window_steps() const { return window_steps_; }
  /// The window is over: learns from it if it had two steps at least, and keeps the weights for
  /// restore(). kAdam learns from the optimizer instead, and learns nothing without.
  void end_window(const FlatParameters& parameters, const Optimizer* optimizer = nullptr);

  struct Jump {
    double steps = 0;  // May be a fraction.
    double rate = 0;   // Learning rate of these steps.
  };
  /// Sets the weights to those kept plus what is predicted for so many steps.
  void apply(FlatParameters& parameters, const Jump& jump);
  void restore(FlatParameters& parameters) const;

  /// Whether anything was learnt since the last reset().
  bool has_direction() const { return windows_ > 0; }
  /// Forgets what was learnt.
  void reset();
  void visit(train::StateText& state);
  /// For checkpoints; undefined where this kind has none.
  at::Tensor& kept() { return kept_; }
  at::Tensor& direction() { return direction_; }
  at::Tensor& velocity() { return velocity_; }
  at::Tensor& history() { return history_; }

 private:
  void learn(const FlatParameters& parameters, const Optimizer* optimizer);
  void remember(const at::Tensor& values);
  void apply_history(at::Tensor& values, const Jump& jump);
  std::vector<std::int64_t> slots() const;

  PredictorKind kind_;
  at::Tensor kept_;          // The weights as the window began, later as the jump begins.
  at::Tensor direction_;     // Of one step at a learning rate of 1.
  at::Tensor velocity_;      // Of kNesterov.
  at::Tensor history_;       // Of kLowRank: the displacements of the last windows, per rate.
  train::Gram gram_;         // Of these, the oldest first; empty: not known yet.
  double stride_rates_ = 0;  // Learning rates of the last window, summed up.
  std::uint32_t window_steps_ = 0;
  double window_rates_ = 0;  // Their sum.
  std::uint32_t windows_ = 0;
};

}  // namespace berth::trainer
