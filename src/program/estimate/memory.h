// SPDX-License-Identifier: Apache-2.0
// Estimate of the memory that training a transformer takes, before it is tried: weights, gradients,
// optimizer, and activations by kind of layer. The formulas were held against measurements of GPT-2
// (docs/estimate.md has the table); what they leave out is said there. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "base/words.h"
#include "estimate/model_shape.h"

namespace berth::estimate {

/// kMixed: weights of four bytes, most activations of two (autocast). kHalf: two bytes throughout.
enum class Precision : std::uint8_t { kFull, kMixed, kHalf };
constexpr auto words_of(Precision) {
  using enum Precision;
  return make_words<Precision>({{kFull, "fp32"}, {kMixed, "mixed"}, {kHalf, "bf16", "fp16"}});
}
enum class Optimizer : std::uint8_t { kAdamW, kAdamW8bit, kMomentum, kSgd, kAdafactor };
constexpr auto words_of(Optimizer) {
  using enum Optimizer;
  return make_words<Optimizer>({{kAdamW, "adamw", "adam"},
                                {kAdamW8bit, "adamw8bit"},
                                {kMomentum, "momentum"},
                                {kSgd, "sgd"},
                                {kAdafactor, "adafactor"}});
}
/// kEager keeps a number for each pair of positions, kFlash does not.
enum class Attention : std::uint8_t { kEager, kFlash };
constexpr auto words_of(Attention) {
  using enum Attention;
  return make_words<Attention>({{kEager, "eager"}, {kFlash, "flash"}});
}
/// kLayers: of each layer only what goes in is kept, and the rest is computed again.
enum class Checkpointing : std::uint8_t { kNone, kLayers };

struct Training {
  std::uint64_t batch = 1;  // Sequences at once.
  std::uint64_t sequence = 1'024;
  Precision precision = Precision::kFull;
  Optimizer optimizer = Optimizer::kAdamW;
  Attention attention = Attention::kEager;
  Checkpointing checkpointing = Checkpointing::kNone;
};

/// Kept from the forward pass for the backward pass, of all layers together.
struct Activations {
  Bytes norms;
  Bytes attention;
  Bytes feed_forward;
  Bytes output;       // The last norm, and a number for each word of the vocabulary.
  Bytes half_copies;  // Of weights, with mixed precision.

  Bytes total() const { return norms + attention + feed_forward + output + half_copies; }
};

struct Estimate {
  std::uint64_t parameters = 0;
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Activations activations;
  /// The most there is at one moment: weights and optimizer, and either most of the activations or
  /// all gradients. Without the context of the driver.
  Bytes peak;
};

Estimate estimate_training(const ModelShape& shape, const Training& training);
/// Of weights alone, where nothing else is known: no activations, and a peak without them.
Estimate estimate_states(std::uint64_t parameters, const Training& training);

/// The largest batch whose peak is at most that; 0 where not even one sequence fits.
std::uint64_t largest_batch(const ModelShape& shape, Training training, Bytes room);

}  // namespace berth::estimate
