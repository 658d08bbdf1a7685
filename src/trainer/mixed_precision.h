// SPDX-License-Identifier: Apache-2.0
// Products of matrices in 16 bits, all else in 32 (bfloat16, which needs no scaling of losses:
// Kalamkar et al. 2019, arXiv 1905.12322). Parameters, gradients and what an optimizer holds stay
// in 32 bits.
#pragma once

#include "trainer/libtorch.h"

namespace berth::trainer {

/// As long as one lives, in its thread, if `on`. To be ended before the backward pass, which takes
/// the precisions of what it goes back through.
class MixedPrecision {
 public:
  explicit MixedPrecision(bool on) : was_on_(at::autocast::is_cpu_enabled()) {
    at::autocast::increment_nesting();
    at::autocast::set_cpu_enabled(on);
    if (on) at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  }
  ~MixedPrecision() {
    // Weights that were rounded for this are of no use once they change.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(was_on_);
  }
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;

 private:
  bool was_on_;
};

}  // namespace berth::trainer
