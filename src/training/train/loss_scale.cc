// SPDX-License-Identifier: Apache-2.0
#include "train/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace berth::train {

bool LossScale::is_possible(double scale) {
  int exponent = 0;
  return scale == 0 || (scale >= 1 && scale <= kMost && std::frexp(scale, &exponent) == 0.5);
}

void LossScale::fitted() {
  if (scale_ == 0 || ++fitted_ < kGrowAfter) return;
  scale_ = std::min(2 * scale_, kMost);
  fitted_ = 0;
}

bool LossScale::overflowed() {
  fitted_ = 0;
  if (scale_ <= 1) return false;
  scale_ /= 2;
  return true;
}

void LossScale::visit(StateText& state) {
  if (scale_ == 0) return;
  state.section("loss_scale");
  state.field("scale", scale_);
  state.field("fitted", fitted_);
}

}  // namespace berth::train
