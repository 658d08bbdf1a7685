// SPDX-License-Identifier: Apache-2.0
// The parameters of a module in one buffer, their gradients in another: what the module holds
// become views of these. So an optimizer's step is one loop, a snapshot one copy, a jump one
// addition, and no copy of a model is ever made. One thread.
#pragma once

#include <cstddef>
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
  /// Takes over the values that the module has, and to that device. All its parameters are of 32
  /// bits and of the host.
  explicit FlatParameters(torch::nn::Module& module, at::Device device = at::kCPU);

  const at::Tensor& values() const { return values_; }
  const at::Tensor& gradients() const { return gradients_; }
  /// Those that decay first. Between two there may be a gap of zeros.
  const std::vector<FlatSegment>& segments() const { return segments_; }
  /// The module's own, of each segment.
  const at::Tensor& parameter(std::size_t segment) const { return parameters_[segment]; }
  /// Elements before this belong to matrices.
  std::int64_t decaying() const { return decaying_; }
  std::int64_t parameter_count() const { return parameter_count_; }
  /// As large as the buffers and on their device, of zeros; or so many of them.
  at::Tensor like() const;
  at::Tensor like(std::int64_t count) const;

  void clear_gradients();
  double gradient_norm() const;
  /// Whether the module's parameters and gradients are views of these buffers still.
  bool is_attached(const torch::nn::Module& module) const;

 private:
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<FlatSegment> segments_;
  std::vector<at::Tensor> parameters_;
  std::int64_t decaying_ = 0;
  std::int64_t parameter_count_ = 0;
};

}  // namespace berth::trainer
