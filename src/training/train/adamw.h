// SPDX-License-Identifier: Apache-2.0
// One step of AdamW (Loshchilov, Hutter 2019) over buffers as long as one likes: a single loop that
// compilers turn into vector instructions. Every element is computed alone, so that a step over
// parts gives the same bits as one over the whole. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace berth::train {

struct AdamWStep {
  float rate = 0;
  float beta1 = 0.9F;
  float beta2 = 0.99F;
  float epsilon = 1e-8F;
  float decay = 0;           // Of the weights, times the rate.
  float gradient_scale = 1;  // Below 1 where gradients are clipped.
  std::uint64_t number = 1;  // Of the step, from 1 on, for the correction of the moments' start.
};

/// What a step does with numbers, worked out of the above once for all elements:
/// m = beta1 m + new1 g, v = beta2 v + new2 g², w = kept w - rate m / (root_scale √v + epsilon).
struct AdamWFactors {
  float rate = 0, root_scale = 0, kept = 0, new1 = 0, new2 = 0;
};
AdamWFactors factors_of(const AdamWStep& step);

struct AdamWBuffers {  // All of one length.
  std::span<float> values;
  std::span<const float> gradients;
  std::span<float> first_moments;
  std::span<float> second_moments;
};

void adamw(const AdamWBuffers& buffers, const AdamWStep& step);

}  // namespace berth::train
