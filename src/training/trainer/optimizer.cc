// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"
#include "trainer/offload.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // Less than this is not worth waking a thread.
constexpr std::int64_t kPiece = 1 << 22;  // Elements at once, where memory for them is made.
constexpr double kMeanSquareRoot = 0.2;

std::span<float> part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return {tensor.data_ptr<float>() + begin, static_cast<std::size_t>(end - begin)};
}

at::Tensor matrix_in(const at::Tensor& buffer, const FlatSegment& segment) {
  return buffer.narrow(0, segment.begin, segment.count).view({segment.shape[0], -1});
}

}  // namespace

bool is_layer_matrix(const FlatSegment& segment) {
  const bool is_embedding = segment.name.starts_with("wte.") || segment.name.starts_with("wpe.");
  return segment.decays && !is_embedding;
}

at::Tensor orthogonalized(const at::Tensor& matrix) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  constexpr int kSteps = 5;
  constexpr double kLeast = 1e-7;  // So that nothing is divided by 0.
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = is_tall ? matrix.t() : matrix;
  x = x / (x.norm() + kLeast);
  for (int i = 0; i < kSteps; ++i) {
    const at::Tensor square = x.mm(x.t());
    x = at::addmm(x, at::addmm(square, square, square, kB, kC), x, kA);
  }
  return is_tall ? x.t() : x;
}

Optimizer::Optimizer(const FlatParameters& parameters, const OptimizerConfig& config)
    : config_(config), first_(parameters.like()), second_(parameters.like()) {}

void Optimizer::step(FlatParameters& parameters, const Step& step) {
  ++steps_;
  const double decay = config_.adamw.decay;
  const std::int64_t all = parameters.values().numel();
  if (config_.kind == OptimizerKind::kAdamW) {
    adamw(parameters, step, 0, parameters.decaying(), decay);
  } else {
    const torch::NoGradGuard no_gradients;
    for (const FlatSegment& segment : parameters.segments()) {
      if (is_layer_matrix(segment)) {
        muon(parameters, step, segment);
      } else if (segment.decays) {
        adamw(parameters, step, segment.begin, segment.begin + segment.count, decay);
      }
    }
  }
  adamw(parameters, step, parameters.decaying(), all, 0);
}

void Optimizer::expected_update(const FlatParameters& parameters, at::Tensor& update) const {
  CHECK(config_.kind == OptimizerKind::kAdamW);
  const torch::NoGradGuard no_gradients;
  update.zero_();
  if (steps_ == 0) return;
  const AdamWConfig& adamw = config_.adamw;
  const auto steps = static_cast<double>(steps_);
  const double first = 1 - std::pow(adamw.beta1, steps);
  const double second = 1 - std::pow(adamw.beta2, steps);
  update.copy_(second_).sqrt_().div_(std::sqrt(second)).add_(adamw.epsilon);
  at::div_out(update, first_.to(update.device()), update);
  update.mul_(-1 / first);
  const std::int64_t decaying = parameters.decaying();
  update.narrow(0, 0, decaying).add_(parameters.values().narrow(0, 0, decaying), -adamw.decay);
}

void Optimizer::adamw(FlatParameters& parameters, const Step& step, std::int64_t from,
                      std::int64_t to, double decay) {
  const train::AdamWStep numbers{.rate = static_cast<float>(step.rate),
                                 .beta1 = static_cast<float>(config_.adamw.beta1),
                                 .beta2 = static_cast<float>(config_.adamw.beta2),
                                 .epsilon = static_cast<float>(config_.adamw.epsilon),
                                 .decay = static_cast<float>(decay),
                                 .gradient_scale = static_cast<float>(step.gradient_scale),
                                 .number = steps_};
  if (!parameters.values().is_cpu()) return composed(parameters, numbers, from, to);
  at::parallel_for(from, to, kGrain, [&](std::int64_t begin, std::int64_t end) {
    train::adamw({.values = part(parameters.values(), begin, end),
                  .gradients = part(parameters.gradients(), begin, end),
                  .first_moments = part(first_, begin, end),
                  .second_moments = part(second_, begin, end)},
                 numbers);
  });
}

void Optimizer::composed(FlatParameters& parameters, const train::AdamWStep& numbers,
                         std::int64_t from, std::int64_t to) {
  const torch::NoGradGuard no_gradients;
  for (std::int64_t begin = from; begin < to; begin += kPiece) {
    const std::int64_t count = std::min(kPiece, to - begin);
    const at::Tensor values = parameters.values().narrow(0, begin, count);
    const at::Tensor first = first_.narrow(0, begin, count).to(values.device());
    const at::Tensor second = second_.narrow(0, begin, count).to(values.device());
    composed_adamw(values, parameters.gradients().narrow(0, begin, count), first, second, numbers);
    if (!are_offloaded_) continue;
    first_.narrow(0, begin, count).copy_(first);
    second_.narrow(0, begin, count).copy_(second);
  }
}

void composed_adamw(const at::Tensor& values, const at::Tensor& gradients, const at::Tensor& first,
                    const at::Tensor& second, const train::AdamWStep& step) {
  const train::AdamWFactors factors = train::factors_of(step);
  at::Tensor work = gradients * step.gradient_scale;
  first.mul_(step.beta1).add_(work, factors.new1);
  second.mul_(step.beta2).addcmul_(work, work, factors.new2);
  at::sqrt_out(work, second).mul_(factors.root_scale).add_(step.epsilon);
  values.mul_(factors.kept).addcdiv_(first, work, -factors.rate);
}

Status Optimizer::offload_moments(const std::string& folder) {
  if (are_offloaded_) return Unit{};
  TRY(first, offloaded(first_, folder));
  TRY(second, offloaded(second_, folder));
  first_ = first;
  second_ = second;
  are_offloaded_ = true;
  return Unit{};
}

void Optimizer::muon(FlatParameters& parameters, const Step& step, const FlatSegment& segment) {
  const at::Tensor gradient = matrix_in(parameters.gradients(), segment) * step.gradient_scale;
  const at::Tensor kept = matrix_in(first_, segment);
  const at::Tensor momentum = kept.to(gradient.device());
  momentum.lerp_(gradient, 1 - config_.momentum);
  const at::Tensor ahead = at::lerp(gradient, momentum, config_.momentum);
  const auto longer = static_cast<double>(std::max(momentum.size(0), momentum.size(1)));
  const double length = step.rate * kMeanSquareRoot * std::sqrt(longer);
  matrix_in(parameters.values(), segment)
      .mul_(1 - step.rate * config_.adamw.decay)
      .add_(orthogonalized(ahead), -length);
  if (kept.device() != momentum.device()) kept.copy_(momentum);
}

}  // namespace berth::trainer
