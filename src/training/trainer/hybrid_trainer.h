// SPDX-License-Identifier: Apache-2.0
// Trains a module with steps of which some are predicted: the pure parts of train/ decide, this
// performs. It owns the optimizer's state, the predictor's and one snapshot to go back to; all of
// it is allocated when it is made, and nothing afterwards outlives a step. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "train/benefit.h"
#include "train/divergence.h"
#include "train/dynamics.h"
#include "train/phases.h"
#include "train/recovery.h"
#include "train/schedule.h"
#include "train/settings.h"
#include "trainer/batch_gradient.h"
#include "trainer/flat_parameters.h"
#include "trainer/gpt2.h"
#include "trainer/lookahead.h"
#include "trainer/optimizer.h"
#include "trainer/peers.h"
#include "trainer/predictor.h"
#include "trainer/step_report.h"

namespace berth::trainer {

class HybridTrainer {
 public:
  /// The module must outlive it; `trial` is held out from training.
  HybridTrainer(torch::nn::Module& module, LossFunction loss, HybridConfig config, Batch trial);
  HybridTrainer(const HybridTrainer&) = delete;
  HybridTrainer& operator=(const HybridTrainer&) = delete;

  /// Whether the next step is a real one, so that its batch is trained on. A jump that is due is
  /// made here.
  bool wants_batch();
  /// One step. The batch is looked at only if wants_batch(). An error ends the run: it says why.
  /// kExhausted: there was no memory for it, and the weights are what they were before it.
  Result<StepReport> step(const Batch& batch);
  /// What to do when not even one row fits: true if less is needed now, and the step is worth
  /// another try.
  void set_last_resort(std::function<bool()> resort) {
    gradient_.set_last_resort(std::move(resort));
  }
  /// Others train the same model, each with as many other rows of each batch: before the first step
  /// that is made here. The weights become those of rank 0. A step fails with kUnavailable when one
  /// of them is lost; the weights are then what they were before it. They must outlive it.
  Status train_with(Peers& peers);

  /// What is wanted once a step or less makes room: the moments and the snapshot, which are five
  /// buffers as large as the weights. As Optimizer::offload_moments().
  Status offload(const std::string& folder);
  /// As BatchGradient::shrink(). For one that trains alone.
  bool shrink() { return gradient_.shrink(); }
  bool is_offloaded() const { return optimizer_.moments_are_offloaded(); }

  std::uint64_t steps_done() const { return step_; }
  const Totals& totals() const { return totals_; }
  const train::BenefitEstimate& benefit() const { return benefit_; }
  /// What the ensemble would do next; absent without one, and while it has seen too little.
  std::optional<train::JumpChoice> choice() const;
  double rate() const;
  /// The weights are others than when it was made: what there is to go back to is them.
  void begin_with_these_weights();
  /// Mean loss without gradients.
  double evaluate(const Batch& batch) const { return gradient_.evaluate(batch); }
  /// A running mean of the weights is kept; of those that real steps have left, each so many steps
  /// ago the less it weighs. Nothing is trained with it.
  bool averages() const { return average_.defined(); }
  /// Does it with the mean in the weights' place, which have their bits again afterwards.
  void with_average(const std::function<void()>& work);
  FlatParameters& parameters() { return parameters_; }
  Optimizer& optimizer() { return optimizer_; }
  Predictor& predictor() { return predictor_; }

  /// All that is needed to go on to the last bit, but for the tensors below. Between steps only.
  void visit(train::StateText& state);
  struct NamedTensor {
    std::string name;
    at::Tensor tensor;
  };
  /// Flat ones, to be saved or copied into.
  std::vector<NamedTensor> tensors();

 private:
  void plan();
  bool make_jump(std::uint32_t steps);
  train::Judgement try_lengths(std::uint32_t steps);
  void begin_window();
  bool can_predict() const;
  train::Forecast forecast() const;
  void note_regime();
  double trial_loss();
  double evaluate_trial();
  Status real_step(const Batch& batch, StepReport& report);
  Status take_gradient(const Batch& batch, StepReport& report);
  Status judge_step(StepReport& report);
  Status predicted_step(StepReport& report);
  Status perform(const std::vector<train::Action>& actions, StepReport& report);
  void update(double gradient_norm);
  void add_to_average();
  void take_snapshot();
  void roll_back(double rate_factor);
  bool always_jumps() const;

  HybridConfig config_;
  Batch trial_;
  Peers single_process_;
  Peers* peers_ = &single_process_;
  Status peer_status_ = Unit{};  // Or whom the last trial was not judged with.
  FlatParameters parameters_;
  BatchGradient gradient_;
  Optimizer optimizer_;
  Predictor predictor_;
  Lookahead lookahead_;
  at::Tensor snapshot_;               // Weights and both moments, one after the other.
  std::uint64_t snapshot_steps_ = 0;  // Of the optimizer, then.
  bool snapshot_is_offloaded_ = false;
  at::Tensor average_;          // As long as the weights, or not there.
  std::uint64_t averaged_ = 0;  // Steps that are in it.
  train::PhaseController phases_;
  train::DivergenceMonitor monitor_;
  train::Recovery recovery_;
  train::BenefitEstimate benefit_;
  std::optional<train::Dynamics> dynamics_;  // Where it is the scheduler, and jumps are judged.
  Totals totals_;

  std::uint64_t step_ = 0;
  double rate_factor_ = 1;  // Made smaller by rollbacks.
  bool rate_was_stable_ = false;
  bool healthy_ = true;  // The last real step raised no warning.
  std::optional<train::PlannedStep> planned_;
  std::optional<double> trial_loss_;   // With the weights as they are, if it was looked at.
  std::optional<double> window_loss_;  // The same, as the window began.
  double drop_per_step_ = 0;           // Of the trial loss, in the last window.
  double trial_cost_ = 0;              // Since the last jump, in real steps.
  double batch_tokens_ = 0;            // Of a real step.
  double last_loss_ = 0;               // As the last jump left it.
  std::optional<double> jump_error_;   // Of the jump that the planned step begins with.
  Duration trial_time_;                // Spent on it.
};

}  // namespace berth::trainer
