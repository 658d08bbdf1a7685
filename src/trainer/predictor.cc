// SPDX-License-Identifier: Apache-2.0
#include "trainer/predictor.h"

namespace berth::trainer {
namespace {

constexpr double kLinearDecay = 0.5;  // Weight of what was learnt before, for each new stretch.
// As in the paper's runs at 125 M parameters.
constexpr double kOuterRate = 0.8;
constexpr double kOuterMomentum = 0.75;
constexpr std::uint32_t kStepsMin = 2;  // One step tells of its batch and nothing else.

}  // namespace

Predictor::Predictor(PredictorKind kind, const FlatParameters& parameters) : kind_(kind) {
  if (kind == PredictorKind::kNull) return;
  kept_ = parameters.like();
  direction_ = parameters.like();
  if (kind == PredictorKind::kNesterov) velocity_ = parameters.like();
}

void Predictor::begin_stretch(const FlatParameters& parameters) {
  const torch::NoGradGuard no_gradients;
  stretch_steps_ = 0;
  stretch_rates_ = 0;
  if (kept_.defined()) kept_.copy_(parameters.values());
}

void Predictor::count_step(double rate) {
  ++stretch_steps_;
  stretch_rates_ += rate;
}

void Predictor::end_stretch(const FlatParameters& parameters) {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  if (stretch_steps_ >= kStepsMin) learn(parameters.values());
  kept_.copy_(parameters.values());
}

void Predictor::learn(const at::Tensor& values) {
  if (kind_ == PredictorKind::kNesterov) {
    // In the paper's terms the fast weights have moved by d = values - kept, the velocity becomes
    // b = momentum * b + d, and the slow ones go to kept + rate * (momentum * b + d). Told from
    // where the fast ones are, that is a jump by rate * (momentum * b + d) - d.
    kept_.sub_(values).neg_();
    velocity_.mul_(kOuterMomentum).add_(kept_);
    at::mul_out(direction_, velocity_, at::scalar_tensor(kOuterRate * kOuterMomentum));
    direction_.add_(kept_, kOuterRate - 1).div_(stretch_rates_);
  } else {
    const double decay = kind_ == PredictorKind::kLinear && stretches_ > 0 ? kLinearDecay : 0.0;
    const double weight = (1 - decay) / stretch_rates_;
    direction_.mul_(decay).add_(values, weight).add_(kept_, -weight);
  }
  ++stretches_;
}

void Predictor::apply(FlatParameters& parameters, const Jump& jump) const {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  at::Tensor values = parameters.values();
  at::add_out(values, kept_, direction_, jump.steps * jump.rate);
}

void Predictor::restore(FlatParameters& parameters) const {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  parameters.values().copy_(kept_);
}

void Predictor::reset() {
  stretches_ = 0;
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  direction_.zero_();
  if (velocity_.defined()) velocity_.zero_();
}

void Predictor::visit(train::StateText& state) {
  state.section("predictor");
  state.field("stretch_steps", stretch_steps_);
  state.field("stretch_rates", stretch_rates_);
  state.field("stretches", stretches_);
}

}  // namespace berth::trainer
