// SPDX-License-Identifier: Apache-2.0
// GPT-2: a decoder of layers with attention, parameters named and laid out as in the public
// checkpoints ("h.0.attn.c_attn.weight" of [width, 3 * width]). No dropout. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/gpt2_shape.h"
#include "train/settings.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

/// Tokens and what follows each of them, [rows, columns] of 64-bit integers.
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;

  std::int64_t rows() const { return inputs.size(0); }
  std::int64_t tokens() const { return inputs.numel(); }
  Batch part(std::int64_t first, std::int64_t count) const {
    return {.inputs = inputs.narrow(0, first, count), .targets = targets.narrow(0, first, count)};
  }
};

class Gpt2 : public torch::nn::Module {
 public:
  /// Its weights are what memory holds, until initialize().
  explicit Gpt2(const train::Gpt2Shape& shape);
  ~Gpt2() override = default;

  /// As GPT-2's: normally distributed, deviation 0.02, less where a layer adds to the residual
  /// stream. That of the embedding is smaller in wide models, so that the first logits have a
  /// variance of 0.04 at most and the first loss is ln(vocabulary) within a hundredth.
  void initialize(std::uint64_t seed);

  /// Of [rows, columns, vocabulary], 32 bits each.
  at::Tensor logits(const at::Tensor& inputs);
  /// Mean cross-entropy of all tokens.
  at::Tensor loss(const Batch& batch);

  /// What layers computed is not kept for the backward pass but computed again, to the same bits:
  /// less memory, and a forward pass more.
  void set_recompute(bool recompute) { recompute_ = recompute; }
  bool recomputes() const { return recompute_; }

  /// Of the numbers of which products of matrices are computed.
  void set_precision(train::Precision precision) { precision_ = precision; }

  const train::Gpt2Shape& shape() const { return shape_; }

 private:
  class Recomputed;
  struct Layer {
    at::Tensor norm1_weight, norm1_bias, attention_weight, attention_bias, projection_weight,
        projection_bias, norm2_weight, norm2_bias, inner_weight, inner_bias, outer_weight,
        outer_bias;
  };
  at::Tensor attention(const Layer& layer, const at::Tensor& stream);
  at::Tensor layer_of(const Layer& layer, const at::Tensor& stream);

  train::Gpt2Shape shape_;
  bool recompute_ = false;
  train::Precision precision_ = train::Precision::kFp32;
  at::Tensor tokens_, positions_, norm_weight_, norm_bias_;
  std::vector<Layer> layers_;
  at::Tensor mask_;  // True where a token would see what follows it.
};

}  // namespace berth::trainer
