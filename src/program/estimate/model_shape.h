// SPDX-License-Identifier: Apache-2.0
// Dimensions of a transformer that decide how much memory it takes: layers, widths, heads. Read
// from the config.json that models are published with, of GPT-2's kind or of Llama's. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::estimate {

struct ModelShape {
  /// What a layer is made of: LayerNorm, biases and a GELU between two matrices, or RMSNorm, rotary
  /// positions and a gate between three.
  enum class Kind : std::uint8_t { kGpt2, kLlama };
  Kind kind = Kind::kGpt2;
  std::uint64_t layers = 0;
  std::uint64_t width = 0;  // Of what goes from layer to layer.
  std::uint64_t heads = 0;  // Of queries.
  std::uint64_t key_value_heads = 0;
  std::uint64_t head_width = 0;
  std::uint64_t inner_width = 0;  // Of the part behind attention.
  std::uint64_t vocabulary = 0;
  std::uint64_t positions = 0;  // The longest sequence; with GPT-2's kind each has parameters.
  bool tied_head = true;        // The output is the embedding once more.
  bool query_biases = false;    // With Llama's kind: of queries, keys and values.
  bool output_bias = false;     // And of what attention puts out.

  std::uint64_t key_value_width() const { return key_value_heads * head_width; }
  std::uint64_t attention_width() const { return heads * head_width; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// kInvalid, naming the key that is missing, wrong or not understood.
Result<ModelShape> parse_model_config(std::string_view json);

struct Parameters {
  std::uint64_t embeddings = 0;  // Tokens and positions.
  std::uint64_t layers = 0;      // All of them.
  std::uint64_t head = 0;        // Norm and output, without what is tied.

  std::uint64_t total() const { return embeddings + layers + head; }
};
Parameters parameters_of(const ModelShape& shape);

}  // namespace berth::estimate
