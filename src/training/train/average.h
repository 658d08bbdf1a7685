// SPDX-License-Identifier: Apache-2.0
// A running mean and variance that forget: each new value weighs 1 - decay, and the first ones as
// in a plain mean, so that a run's beginning is not its measure for ever. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "train/state_text.h"

namespace berth::train {

class Average {
 public:
  explicit Average(double decay) : decay_(decay) {}

  void add(double value) {
    ++count_;
    const double weight = std::max(1 - decay_, 1 / static_cast<double>(count_));
    const double off = value - mean_;
    mean_ += weight * off;
    variance_ = (1 - weight) * (variance_ + weight * off * off);
  }
  double mean() const { return mean_; }
  double variance() const { return variance_; }
  std::uint64_t count() const { return count_; }

  void visit(StateText& state, std::string_view section) {
    state.section(section);
    state.field("mean", mean_);
    state.field("variance", variance_);
    state.field("count", count_);
  }

 private:
  double decay_;
  double mean_ = 0;
  double variance_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace berth::train
