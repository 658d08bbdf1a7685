// SPDX-License-Identifier: Apache-2.0
#include "trainer/hybrid_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/checked.h"
#include "trainer/memory.h"
#include "trainer/moment.h"
#include "trainer/offload.h"

namespace berth::trainer {
namespace {

using train::Action;
using train::Phase;

// What a forward pass costs of a step that has a backward pass, and a pass over all weights.
constexpr double kForwardShare = 1.0 / 3;
constexpr double kPassShare = 0.01;

at::Device device_of(const HybridConfig& config) {
  return config.device == train::Device::kCuda ? at::kCUDA : at::kCPU;
}

// Where jumps come at intervals, one of them is as long as an interval at most.
std::uint32_t jump_steps_max(const train::PhaseConfig& phases) {
  const std::uint32_t interval = phases.correction_interval;
  const std::uint32_t most = phases.predict_steps_max;
  return interval == 0 ? most : std::min(interval, most);
}

}  // namespace

HybridTrainer::HybridTrainer(torch::nn::Module& module, LossFunction loss, HybridConfig config,
                             Batch trial)
    : config_(config),
      trial_(std::move(trial)),
      parameters_(module, device_of(config)),
      gradient_(parameters_, std::move(loss), config),
      optimizer_(parameters_, config.optimizer),
      predictor_(config.mode == Mode::kOff ? PredictorKind::kNull : config.predictor, parameters_),
      lookahead_(config.lookahead, parameters_),
      phases_(config.phases),
      monitor_(config.divergence),
      recovery_(config.recovery, config.phases.full_steps) {
  if (config.snapshot_every > 0) {
    snapshot_ = parameters_.like(3);
    take_snapshot();
  }
  if (config.average_decay > 0) average_ = parameters_.like();
  // The null predictor's jumps are not judged: there is nothing to learn.
  if (config.scheduler == train::Scheduler::kDynamics &&
      predictor_.kind() != PredictorKind::kNull) {
    dynamics_.emplace(train::DynamicsConfig{.steps_max = jump_steps_max(config.phases)});
  }
}

double HybridTrainer::rate() const {
  return train::rate_at(config_.schedule, step_) * rate_factor_;
}

void HybridTrainer::begin_with_these_weights() {
  CHECK(step_ == 0 && !planned_);
  if (snapshot_.defined()) take_snapshot();
}

Status HybridTrainer::train_with(Peers& peers) {
  CHECK(!planned_);
  peers_ = &peers;
  gradient_.train_with(peers);
  TRY_STATUS(peers.broadcast(parameters_.values()));
  if (step_ == 0 && snapshot_.defined()) take_snapshot();
  return Unit{};
}

bool HybridTrainer::wants_batch() {
  plan();
  return checked(planned_).phase != Phase::kPredict;
}

Result<StepReport> HybridTrainer::step(const Batch& batch) {
  const Duration begin = moment();
  const bool is_real = wants_batch();
  const train::PlannedStep planned = checked(planned_);
  planned_.reset();
  StepReport report{.step = step_, .phase = planned.phase, .predicted = !is_real, .rate = rate()};
  report.times.trial = std::exchange(trial_time_, {});
  TRY_STATUS(peer_status_);
  TRY_STATUS(is_real ? real_step(batch, report) : predicted_step(report));
  const auto choice = this->choice();
  report.confidence = choice ? choice->confidence : benefit_.confidence();
  report.times.total = since(begin);
  ++step_;
  return report;
}

void HybridTrainer::plan() {
  if (planned_) return;
  if (config_.mode == Mode::kOff) {
    planned_ = {.phase = Phase::kFull};
    return;
  }
  const Duration begin = moment();
  note_regime();
  for (;;) {
    const train::PlannedStep step = phases_.next(forecast());
    if (step.begins && step.phase == Phase::kFull) begin_window();
    if (step.jump == 0 || make_jump(step.jump)) {
      planned_ = step;
      break;
    }
    phases_.reject_jump();
  }
  trial_time_ = since(begin);
}

// What was learnt while the rate changed says nothing about a stable one.
void HybridTrainer::note_regime() {
  const bool stable =
      train::rate_is_stable(config_.schedule, step_, config_.phases.predict_steps_max);
  if (stable && !rate_was_stable_) {
    benefit_.begin_regime();
    if (dynamics_) dynamics_->reset();
    phases_.begin_regime();
  }
  rate_was_stable_ = stable;
}

bool HybridTrainer::always_jumps() const {
  return config_.mode == Mode::kForced || predictor_.kind() == PredictorKind::kNull;
}

bool HybridTrainer::can_predict() const {
  if (config_.phases.only_stable_rate && !rate_was_stable_) return false;
  return always_jumps() || benefit_.pays();
}

std::optional<train::JumpChoice> HybridTrainer::choice() const {
  return dynamics_ ? dynamics_->choose() : std::nullopt;
}

train::Forecast HybridTrainer::forecast() const {
  const bool is_ready = window_loss_ || predictor_.kind() == PredictorKind::kNull;
  train::Forecast forecast{.confidence = benefit_.confidence(),
                           .rate_stable = rate_was_stable_,
                           .pays = is_ready && can_predict()};
  if (const auto choice = this->choice()) {
    forecast.confidence = choice->confidence;
    forecast.steps = choice->steps;
  }
  if (always_jumps()) forecast.confidence = 1;
  return forecast;
}

// A window is looked at only where a jump may follow it: judging has its price.
void HybridTrainer::begin_window() {
  window_loss_.reset();
  if (!can_predict() || predictor_.kind() == PredictorKind::kNull) return;
  predictor_.begin_window(parameters_);
  trial_cost_ += kPassShare;
  window_loss_ = trial_loss();
}

double HybridTrainer::trial_loss() {
  if (!trial_loss_) trial_loss_ = evaluate_trial();
  return *trial_loss_;
}

double HybridTrainer::evaluate_trial() {
  const double share = static_cast<double>(trial_.tokens()) / std::max(batch_tokens_, 1.0);
  trial_cost_ += kForwardShare * share;
  // All look at the same batch: the mean is what keeps unlike machines of one mind.
  double loss = evaluate(trial_);
  if (peer_status_.ok()) peer_status_ = peers_->sum({&loss, 1});
  return loss / peers_->size();
}

bool HybridTrainer::make_jump(std::uint32_t steps) {
  jump_error_.reset();
  if (predictor_.kind() != PredictorKind::kNull) {
    ++totals_.trials;
    const train::Judgement judgement = try_lengths(steps);
    if (judgement.share == 0 && !always_jumps()) return false;
    if (judgement.share > 0) ++totals_.accepted;
    predictor_.begin_window(parameters_);
    window_loss_ = trial_loss_ = last_loss_ = judgement.loss;
  }
  phases_.accept_jump();
  return true;
}

// Note [Judging a jump]: what the real steps before it did to the loss of the trial batch foretells
// what as many more would do. The jump is made with several lengths, one after the other and in
// place, and judged by the same loss. So both sides are of the same batch and the same weights, and
// nothing is compared with what was measured at another step.
train::Judgement HybridTrainer::try_lengths(std::uint32_t steps) {
  const double before = trial_loss();
  const std::uint32_t seen = predictor_.window_steps();
  predictor_.end_window(parameters_, &optimizer_);
  if (window_loss_ && seen > 1) drop_per_step_ = (*window_loss_ - before) / seen;
  std::vector<train::Candidate> candidates;
  const auto length = [&](double share) {
    return Predictor::Jump{.steps = share * steps, .rate = rate()};
  };
  if (predictor_.has_direction()) {
    for (const double share : train::kShares) {
      predictor_.apply(parameters_, length(share));
      candidates.push_back({.share = share, .loss = evaluate_trial()});
      trial_cost_ += kPassShare;
    }
  }
  const train::Trial trial{.steps = steps,
                           .loss_before = before,
                           .drop_per_step = drop_per_step_,
                           .cost = std::exchange(trial_cost_, 0),
                           .speedup_wanted = always_jumps() ? 0 : config_.speedup_min};
  const train::Judgement judgement = train::judge(trial, candidates);
  benefit_.add(trial, judgement);
  if (dynamics_) {
    dynamics_->learn({.steps = steps,
                      .speedup = judgement.share > 0 ? judgement.speedup : 0,
                      .cost = trial.cost});
  }
  if (judgement.share > 0) {
    predictor_.apply(parameters_, length(judgement.share));
    const double predicted = before - drop_per_step_ * steps;
    jump_error_ = std::abs(judgement.loss - predicted) / std::abs(before);
  } else {
    predictor_.restore(parameters_);
  }
  return judgement;
}

Status HybridTrainer::predicted_step(StepReport& report) {
  ++totals_.predicted_steps;
  report.loss = last_loss_;
  report.prediction_error = std::exchange(jump_error_, std::nullopt);
  if (!report.prediction_error) return Unit{};
  report.verdict = monitor_.observe({.prediction_error = report.prediction_error});
  return perform(recovery_.decide(report.verdict, report.phase), report);
}

Status HybridTrainer::real_step(const Batch& batch, StepReport& report) {
  batch_tokens_ = static_cast<double>(batch.tokens());
  if (config_.snapshot_every > 0 && healthy_ && totals_.real_steps % config_.snapshot_every == 0) {
    take_snapshot();
  }
  lookahead_.go(parameters_,
                config_.lookahead.steps * train::lookahead_at(config_.schedule, step_));
  const Status taken = take_gradient(batch, report);
  if (!taken.ok()) {
    lookahead_.go_back(parameters_);
    return taken.error();
  }
  ++totals_.real_steps;
  last_loss_ = report.loss;
  const Duration begin = moment();
  // A gradient that its numbers could not hold tells nothing of the run.
  if (!report.skipped) TRY_STATUS(judge_step(report));
  if (!report.skipped && !report.rolled_back) update(checked(report.gradient_norm));
  lookahead_.go_back(parameters_);
  report.times.update = since(begin);
  return Unit{};
}

Status HybridTrainer::judge_step(StepReport& report) {
  report.verdict = monitor_.observe({.loss = report.loss, .gradient_norm = report.gradient_norm});
  if (dynamics_ && report.gradient_norm) {
    dynamics_->observe({.loss = report.loss,
                        .gradient_norm = *report.gradient_norm,
                        .rate = report.rate,
                        .predicted_share = static_cast<double>(totals_.predicted_steps) /
                                           static_cast<double>(step_ + 1)});
  }
  healthy_ = report.verdict.level < train::Level::kWarning;
  return perform(recovery_.decide(report.verdict, report.phase), report);
}

Status HybridTrainer::take_gradient(const Batch& batch, StepReport& report) {
  TRY(taken, gradient_.take(batch, totals_.out_of_memory));
  report.loss = taken.loss;
  report.gradient_norm = taken.norm;
  report.pieces = taken.pieces;
  report.times.forward = taken.forward;
  report.times.backward = taken.backward;
  if (!taken.overflowed) return Unit{};
  ++totals_.skipped;
  report.skipped = true;
  report.gradient_norm.reset();
  return Unit{};
}

void HybridTrainer::update(double gradient_norm) {
  const bool clips = config_.clip > 0 && gradient_norm > config_.clip;
  const double clipped = clips ? config_.clip / gradient_norm : 1;
  optimizer_.step(parameters_, {.rate = rate(), .gradient_scale = clipped * gradient_.unscale()});
  lookahead_.made(parameters_);
  predictor_.count_step(rate());
  trial_loss_.reset();
  if (averages()) add_to_average();
}

// A plain mean at first: where a run begins is not what it is to be measured by for long.
void HybridTrainer::add_to_average() {
  const torch::NoGradGuard no_gradients;
  ++averaged_;
  const double share = std::max(1 - config_.average_decay, 1 / static_cast<double>(averaged_));
  average_.lerp_(parameters_.values(), share);
}

void HybridTrainer::with_average(const std::function<void()>& work) {
  CHECK(averages());
  const torch::NoGradGuard no_gradients;
  const at::Tensor kept = parameters_.values().clone();
  if (averaged_ > 0) parameters_.values().copy_(average_);
  work();
  parameters_.values().copy_(kept);
}

Status HybridTrainer::perform(const std::vector<Action>& actions, StepReport& report) {
  for (const Action& action : actions) {
    if (const auto* shorten = std::get_if<train::Shorten>(&action)) {
      phases_.shorten(shorten->factor);
    } else if (const auto* force = std::get_if<train::ForceFull>(&action)) {
      phases_.force_full(force->steps);
    } else if (const auto* raise = std::get_if<train::RaiseConfidence>(&action)) {
      phases_.raise_confidence(raise->by);
    } else if (const auto* back = std::get_if<train::RollBack>(&action)) {
      roll_back(back->rate_factor);
      report.rolled_back = true;
    } else if (std::holds_alternative<train::SkipBatch>(action)) {
      ++totals_.skipped;
      report.skipped = true;
    } else if (std::holds_alternative<train::ResetPredictor>(action)) {
      predictor_.reset();
      window_loss_.reset();
    } else {
      return Error{Errc::kInvalid, "step " + std::to_string(report.step) + ": " +
                                       std::get<train::Abort>(action).reason};
    }
  }
  return Unit{};
}

Status HybridTrainer::offload(const std::string& folder) {
  TRY_STATUS(optimizer_.offload_moments(folder));
  if (!snapshot_.defined() || snapshot_is_offloaded_) return Unit{};
  TRY(away, offloaded(snapshot_, folder));
  snapshot_ = away;
  snapshot_is_offloaded_ = true;
  return Unit{};
}

void HybridTrainer::take_snapshot() {
  const torch::NoGradGuard no_gradients;
  snapshot_.select(0, 0).copy_(parameters_.values());
  snapshot_.select(0, 1).copy_(optimizer_.first_moments());
  snapshot_.select(0, 2).copy_(optimizer_.second_moments());
  snapshot_steps_ = optimizer_.steps();
}

// Without snapshots the weights are what they were before this step, which was not made.
void HybridTrainer::roll_back(double rate_factor) {
  ++totals_.rollbacks;
  rate_factor_ *= rate_factor;
  monitor_.forget_warnings();
  trial_loss_.reset();
  lookahead_.go_back(parameters_);
  if (!snapshot_.defined()) return;
  const torch::NoGradGuard no_gradients;
  parameters_.values().copy_(snapshot_.select(0, 0));
  optimizer_.first_moments().copy_(snapshot_.select(0, 1));
  optimizer_.second_moments().copy_(snapshot_.select(0, 2));
  optimizer_.steps() = snapshot_steps_;
}

void HybridTrainer::visit(train::StateText& state) {
  CHECK(!planned_);
  state.section("trainer");
  state.field("step", step_);
  state.field("rate_factor", rate_factor_);
  state.field("rate_was_stable", rate_was_stable_);
  state.field("healthy", healthy_);
  state.field("trial_loss", trial_loss_);
  state.field("stretch_loss", window_loss_);
  state.field("drop_per_step", drop_per_step_);
  state.field("trial_cost", trial_cost_);
  state.field("batch_tokens", batch_tokens_);
  state.field("last_loss", last_loss_);
  state.field("optimizer_steps", optimizer_.steps());
  state.field("snapshot_steps", snapshot_steps_);
  if (averages()) state.field("averaged", averaged_);
  gradient_.visit(state);
  state.section("totals");
  state.field("real_steps", totals_.real_steps);
  state.field("predicted_steps", totals_.predicted_steps);
  state.field("trials", totals_.trials);
  state.field("accepted", totals_.accepted);
  state.field("rollbacks", totals_.rollbacks);
  state.field("skipped", totals_.skipped);
  state.field("out_of_memory", totals_.out_of_memory);
  state.section("phases");
  phases_.visit(state);
  monitor_.visit(state);
  recovery_.visit(state);
  benefit_.visit(state);
  if (dynamics_) dynamics_->visit(state);
  predictor_.visit(state);
}

std::vector<HybridTrainer::NamedTensor> HybridTrainer::tensors() {
  std::vector<NamedTensor> all = {{"adamw.first", optimizer_.first_moments()},
                                  {"adamw.second", optimizer_.second_moments()},
                                  {"predictor.kept", predictor_.kept()},
                                  {"predictor.direction", predictor_.direction()},
                                  {"predictor.velocity", predictor_.velocity()},
                                  {"predictor.history", predictor_.history()},
                                  {"snapshot", snapshot_},
                                  {"lookahead", lookahead_.mean()},
                                  {"average", average_}};
  std::erase_if(all, [](const NamedTensor& named) { return !named.tensor.defined(); });
  return all;
}

}  // namespace berth::trainer
