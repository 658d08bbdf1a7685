// SPDX-License-Identifier: Apache-2.0
// Update of flat parameters by their gradients: AdamW (train/adamw.h), in parallel, or Muon for the
// matrices of layers and AdamW for all else. Owns the two moments. One thread calls.
//
// Note [Muon]: the momentum of a matrix is pulled towards the nearest one of orthogonal rows or
// columns before it is added, so that no direction of it dominates (Jordan et al. 2024,
// https://kellerjordan.github.io/posts/muon/). It is scaled so that its mean square is that of
// AdamW's usual steps, 0.2, and takes AdamW's learning rates and decay (Liu et al. 2025, arXiv
// 2502.16982). Embeddings, though matrices, are tables of vectors, and AdamW's.
//
// Note [Offloaded moments]: half of what training holds between steps are the moments, and a step
// looks at each of them once. They can be moved into host memory that libtorch does not count
// (trainer/offload.h). Parameters of the host are updated from there as they were before; for
// those of a GPU a piece at a time is fetched, used and put back.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "train/adamw.h"
#include "train/settings.h"
#include "trainer/flat_parameters.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

using train::AdamWConfig;
using train::OptimizerConfig;
using train::OptimizerKind;

class Optimizer {
 public:
  Optimizer(const FlatParameters& parameters, const OptimizerConfig& config);

  struct Step {
    double rate = 0;
    double gradient_scale = 1;
  };
  void step(FlatParameters& parameters, const Step& step);

  /// What AdamW would add in the next step at a learning rate of 1, were its gradient the mean of
  /// those before: into a buffer as large as the weights, without another one. Zeros before the
  /// first step. For kAdamW alone.
  void expected_update(const FlatParameters& parameters, at::Tensor& update) const;

  /// The moments make room, for good; what becomes of the parameters does not change by a bit. As
  /// offloaded(), and then nothing has changed.
  Status offload_moments(const std::string& folder);
  bool moments_are_offloaded() const { return are_offloaded_; }

  /// Of Muon's matrices the momentum; they have no second moment.
  at::Tensor& first_moments() { return first_; }
  at::Tensor& second_moments() { return second_; }
  std::uint64_t& steps() { return steps_; }

 private:
  void adamw(FlatParameters& parameters, const Step& step, std::int64_t from, std::int64_t to,
             double decay);
  void composed(FlatParameters& parameters, const train::AdamWStep& numbers, std::int64_t from,
                std::int64_t to);
  void muon(FlatParameters& parameters, const Step& step, const FlatSegment& segment);

  OptimizerConfig config_;
  at::Tensor first_;
  at::Tensor second_;
  std::uint64_t steps_ = 0;
  bool are_offloaded_ = false;
};

/// A step of AdamW made of operations on tensors, all of one length and on one device: for those on
/// which no loop of ours runs.
void composed_adamw(const at::Tensor& values, const at::Tensor& gradients, const at::Tensor& first,
                    const at::Tensor& second, const train::AdamWStep& step);

/// A matrix of a layer: not a vector, and no embedding (named "wte…" or "wpe…").
bool is_layer_matrix(const FlatSegment& segment);

/// About the nearest matrix of which all singular values are 1: five steps of a Newton-Schulz
/// iteration with Jordan's coefficients bring them to between 0.7 and 1.2, but for those of less
/// than a hundredth of its norm. Of nothing: nothing.
at::Tensor orthogonalized(const at::Tensor& matrix);

}  // namespace berth::trainer
