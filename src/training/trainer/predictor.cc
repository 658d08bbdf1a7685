// SPDX-License-Identifier: Apache-2.0
#include "trainer/predictor.h"

#include <algorithm>

namespace berth::trainer {
namespace {

constexpr double kLinearDecay = 0.5;  // Weight of what was learnt before, for each new window.
// As in the paper's runs at 125 M parameters.
constexpr double kOuterRate = 0.8;
constexpr double kOuterMomentum = 0.75;
constexpr std::int64_t kHistory = 4;    // Windows that kLowRank looks at.
constexpr std::uint32_t kStepsMin = 2;  // One step tells of its batch and nothing else.

}  // namespace

Predictor::Predictor(PredictorKind kind, const FlatParameters& parameters) : kind_(kind) {
  if (kind == PredictorKind::kNull) return;
  kept_ = parameters.like();
  if (kind == PredictorKind::kLowRank) {
    history_ = parameters.like(kHistory);
    return;
  }
  direction_ = parameters.like();
  if (kind == PredictorKind::kNesterov) velocity_ = parameters.like();
}

void Predictor::begin_window(const FlatParameters& parameters) {
  const torch::NoGradGuard no_gradients;
  window_steps_ = 0;
  window_rates_ = 0;
  if (kept_.defined()) kept_.copy_(parameters.values());
}

void Predictor::count_step(double rate) {
  ++window_steps_;
  window_rates_ += rate;
}

void Predictor::end_window(const FlatParameters& parameters, const Optimizer* optimizer) {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  if (window_steps_ >= kStepsMin) learn(parameters, optimizer);
  kept_.copy_(parameters.values());
}

void Predictor::learn(const FlatParameters& parameters, const Optimizer* optimizer) {
  const at::Tensor& values = parameters.values();
  if (kind_ == PredictorKind::kAdam) {
    if (optimizer == nullptr) return;
    optimizer->expected_update(parameters, direction_);
  } else if (kind_ == PredictorKind::kLowRank) {
    remember(values);
  } else if (kind_ == PredictorKind::kNesterov) {
    // In the paper's terms the fast weights have moved by d = values - kept, the velocity becomes
    // b = momentum * b + d, and the slow ones go to kept + rate * (momentum * b + d). Told from
    // where the fast ones are, that is a jump by rate * (momentum * b + d) - d.
    kept_.sub_(values).neg_();
    velocity_.mul_(kOuterMomentum).add_(kept_);
    at::mul_out(direction_, velocity_, at::scalar_tensor(kOuterRate * kOuterMomentum));
    direction_.add_(kept_, kOuterRate - 1).div_(window_rates_);
  } else {
    const double decay = kind_ == PredictorKind::kLinear && windows_ > 0 ? kLinearDecay : 0.0;
    const double weight = (1 - decay) / window_rates_;
    direction_.mul_(decay).add_(values, weight).add_(kept_, -weight);
  }
  ++windows_;
}

void Predictor::remember(const at::Tensor& values) {
  history_.select(0, windows_ % kHistory).copy_(values).sub_(kept_).div_(window_rates_);
  stride_rates_ = window_rates_;
  gram_.clear();
}

// In the history, the oldest first.
std::vector<std::int64_t> Predictor::slots() const {
  std::vector<std::int64_t> slots;
  const std::int64_t count = std::min<std::int64_t>(windows_, kHistory);
  for (std::int64_t i = windows_ - count; i < windows_; ++i) slots.push_back(i % kHistory);
  return slots;
}

void Predictor::apply_history(at::Tensor& values, const Jump& jump) {
  const std::vector<std::int64_t> order = slots();
  if (gram_.empty()) {
    gram_.assign(order.size(), std::vector<double>(order.size()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        const at::Tensor product = history_.select(0, order[i]).dot(history_.select(0, order[k]));
        gram_[i][k] = gram_[k][i] = product.item<double>();
      }
    }
  }
  values.copy_(kept_);
  const double strides = stride_rates_ > 0 ? jump.steps * jump.rate / stride_rates_ : 0;
  const std::vector<double> shares = train::continued(gram_, strides);
  for (std::size_t i = 0; i < order.size(); ++i) {
    values.add_(history_.select(0, order[i]), shares[i] * stride_rates_);
  }
}

void Predictor::apply(FlatParameters& parameters, const Jump& jump) {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  at::Tensor values = parameters.values();
  if (kind_ == PredictorKind::kLowRank) return apply_history(values, jump);
  at::add_out(values, kept_, direction_, jump.steps * jump.rate);
}

void Predictor::restore(FlatParameters& parameters) const {
  if (!kept_.defined()) return;
  const torch::NoGradGuard no_gradients;
  parameters.values().copy_(kept_);
}

void Predictor::reset() {
  windows_ = 0;
  gram_.clear();
  if (!direction_.defined()) return;
  const torch::NoGradGuard no_gradients;
  direction_.zero_();
  if (velocity_.defined()) velocity_.zero_();
}

void Predictor::visit(train::StateText& state) {
  state.section("predictor");
  // Checkpoints have these names: a window was a stretch when they were given.
  state.field("stretch_steps", window_steps_);
  state.field("stretch_rates", window_rates_);
  state.field("stretches", windows_);
  if (kind_ == PredictorKind::kLowRank) state.field("stride_rates", stride_rates_);
  gram_.clear();
}

}  // namespace berth::trainer
