// SPDX-License-Identifier: Apache-2.0
// The parameters of a module in one buffer, their gradients in another: what the module holds
// become views of these. So an optimizer's step is one loop, a snapshot one copy, a jump one
// addition, and no copy of a model is ever made. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/libtorch.h"

namespace berth::trainer {

struct FlatSegment {
  std::string name;
  std::int64_t begin = 0;  // In elements of the buffers.
  std::int64_t count = 0;
  std::vector<std::int64_t> shape;
  bool decays = false;  // Weight decay is for matrices.
};

class FlatParameters {
 public:
  /// Takes over the values that the module has. All its parameters are of 32 bits and on the CPU.
  explicit FlatParameters(torch::nn::Module& module);

  const at::Tensor& values() const { return values_; }
  const at::Tensor& gradients() const { return gradients_; }
  /// Those that decay first. Between two there may be a gap of zeros.
  const std::vector<FlatSegment>& segments() const { return segments_; }
  /// Elements before this belong to matrices.
  std::int64_t decaying() const { return decaying_; }
  std::int64_t parameter_count() const { return parameter_count_; }
  /// As large as the buffers, of zeros.
  at::Tensor like() const;

  void clear_gradients();
  double gradient_norm() const;
  /// Whether the module's parameters and gradients are views of these buffers still.
  bool is_attached(const torch::nn::Module& module) const;

 private:
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<FlatSegment> segments_;
  std::int64_t decaying_ = 0;
  std::int64_t parameter_count_ = 0;
};

}  // namespace berth::trainer
