// SPDX-License-Identifier: Apache-2.0
// By how much a loss is multiplied before its backward pass, so that gradients in 16 bits are not
// below the least of their numbers; they are divided by as much before they are used. It is halved
// whenever a gradient was too large for these numbers, and doubled after a while without (dynamic
// loss scaling: Micikevicius et al. 2018, arXiv 1710.03740; the figures are those of PyTorch's
// GradScaler). Only powers of two: gradients in 32 bits have the same bits with it and without.
// Pure.
#pragma once

#include <cstdint>

#include "train/state_text.h"

namespace berth::train {

class LossScale {
 public:
  static constexpr double kUsual = 65'536;
  static constexpr double kMost = 16'777'216;
  static constexpr std::uint32_t kGrowAfter = 2000;

  /// A power of two up to kMost; 0: losses are left as they are.
  explicit LossScale(double first) : scale_(first) {}
  static bool is_possible(double scale);

  /// What to multiply by; 1 without.
  double now() const { return scale_ == 0 ? 1 : scale_; }
  /// The gradient was finite.
  void fitted();
  /// It was not, though the loss was. Returns true if a smaller scale may help: then it is that
  /// from now on, and the batch is to be skipped.
  bool overflowed();

  void visit(StateText& state);

 private:
  double scale_;
  std::uint32_t fitted_ = 0;  // Steps since it was changed.
};

}  // namespace berth::train
