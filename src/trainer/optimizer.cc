// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include <span>

#include "train/adamw.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // Less than this is not worth waking a thread.

std::span<float> part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return {tensor.data_ptr<float>() + begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

AdamW::AdamW(const FlatParameters& parameters, const AdamWConfig& config)
    : config_(config), first_(parameters.like()), second_(parameters.like()) {}

void AdamW::step(FlatParameters& parameters, const Step& step) {
  ++steps_;
  train::AdamWStep numbers{.rate = static_cast<float>(step.rate),
                           .beta1 = static_cast<float>(config_.beta1),
                           .beta2 = static_cast<float>(config_.beta2),
                           .epsilon = static_cast<float>(config_.epsilon),
                           .gradient_scale = static_cast<float>(step.gradient_scale),
                           .number = steps_};
  const auto run = [&](std::int64_t from, std::int64_t to) {
    at::parallel_for(from, to, kGrain, [&](std::int64_t begin, std::int64_t end) {
      train::adamw({.values = part(parameters.values(), begin, end),
                    .gradients = part(parameters.gradients(), begin, end),
                    .first_moments = part(first_, begin, end),
                    .second_moments = part(second_, begin, end)},
                   numbers);
    });
  };
  numbers.decay = static_cast<float>(config_.decay);
  run(0, parameters.decaying());
  numbers.decay = 0;
  run(parameters.decaying(), parameters.values().numel());
}

}  // namespace berth::trainer
