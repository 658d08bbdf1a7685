// SPDX-License-Identifier: Apache-2.0
#include "train/adamw.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace berth::train {

AdamWFactors factors_of(const AdamWStep& step) {
  CHECK(step.number > 0);
  const auto number = static_cast<double>(step.number);
  const auto correction1 = static_cast<float>(1 - std::pow(step.beta1, number));
  const auto correction2 = static_cast<float>(1 - std::pow(step.beta2, number));
  return {.rate = step.rate / correction1,
          .root_scale = 1 / std::sqrt(correction2),
          .kept = 1 - step.rate * step.decay,
          .new1 = 1 - step.beta1,
          .new2 = 1 - step.beta2};
}

void adamw(const AdamWBuffers& buffers, const AdamWStep& step) {
  const std::size_t count = buffers.values.size();
  CHECK(buffers.gradients.size() == count && buffers.first_moments.size() == count &&
        buffers.second_moments.size() == count);
  float* __restrict value = buffers.values.data();
  const float* __restrict gradient = buffers.gradients.data();
  float* __restrict first = buffers.first_moments.data();
  float* __restrict second = buffers.second_moments.data();

  const auto [rate, root_scale, kept, new1, new2] = factors_of(step);
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * step.gradient_scale;
    first[i] = step.beta1 * first[i] + new1 * g;
    second[i] = step.beta2 * second[i] + new2 * g * g;
    const float scale = std::sqrt(second[i]) * root_scale + step.epsilon;
    value[i] = kept * value[i] - rate * first[i] / scale;
  }
}

}  // namespace berth::train
