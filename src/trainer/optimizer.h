// SPDX-License-Identifier: Apache-2.0
// AdamW over flat parameters (train/adamw.h), in parallel. Owns the two moments. One thread calls.
#pragma once

#include <cstdint>

#include "train/settings.h"
#include "trainer/flat_parameters.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

using train::AdamWConfig;

class AdamW {
 public:
  AdamW(const FlatParameters& parameters, const AdamWConfig& config);

  struct Step {
    double rate = 0;
    double gradient_scale = 1;
  };
  void step(FlatParameters& parameters, const Step& step);

  at::Tensor& first_moments() { return first_; }
  at::Tensor& second_moments() { return second_; }
  std::uint64_t& steps() { return steps_; }

 private:
  AdamWConfig config_;
  at::Tensor first_;
  at::Tensor second_;
  std::uint64_t steps_ = 0;
};

}  // namespace berth::trainer
