// SPDX-License-Identifier: Apache-2.0
// Products of matrices in 16 bits, all else in 32: bfloat16, which needs no scaling of losses
// (Kalamkar et al. 2019, arXiv 1905.12322), or fp16, which does (train/loss_scale.h). Parameters,
// gradients and what an optimizer holds stay in 32 bits.
#pragma once

#include "train/settings.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

/// As long as one lives, in its thread, for what is computed on such a device. To be ended before
/// the backward pass, which takes the precisions of what it goes back through.
class MixedPrecision {
 public:
  MixedPrecision(at::DeviceType device, train::Precision precision)
      : device_(device), was_on_(autocasts(device)) {
    at::autocast::increment_nesting();
    const bool on = precision != train::Precision::kFp32;
    set_autocast(device, on);
    if (!on) return;
    set_autocast_type(device, precision == train::Precision::kFp16 ? at::kHalf : at::kBFloat16);
  }
  ~MixedPrecision() {
    // Weights that were rounded for this are of no use once they change.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set_autocast(device_, was_on_);
  }
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;

 private:
  at::DeviceType device_;
  bool was_on_;
};

}  // namespace berth::trainer
