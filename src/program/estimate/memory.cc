// SPDX-License-Identifier: Apache-2.0
#include "estimate/memory.h"

#include <algorithm>

namespace berth::estimate {
namespace {

constexpr std::uint64_t kFullBytes = 4;
constexpr std::uint64_t kHalfBytes = 2;
constexpr std::uint64_t kBatchMax = 1U << 20U;
// A batch, a sequence and a model near their bounds make more than 64 bits can count.
__extension__ using Wide = unsigned __int128;

Bytes bytes(Wide count) {
  return count > Bytes::max().value ? Bytes::max() : Bytes{static_cast<std::uint64_t>(count)};
}

std::uint64_t weight_bytes(Precision precision) {
  return precision == Precision::kHalf ? kHalfBytes : kFullBytes;
}
std::uint64_t activation_bytes(Precision precision) {
  return precision == Precision::kFull ? kFullBytes : kHalfBytes;
}
// What goes from layer to layer, and into its norms.
std::uint64_t stream_bytes(Precision precision) {
  return precision == Precision::kHalf ? kHalfBytes : kFullBytes;
}

// Per parameter. The moments of Adam are of the weights' type; with eight bits each is a byte.
Bytes optimizer_bytes(std::uint64_t parameters, const Training& training) {
  const Wide of_one = weight_bytes(training.precision);
  switch (training.optimizer) {
    case Optimizer::kAdamW:
      return bytes(Wide{parameters} * 2 * of_one);
    case Optimizer::kAdamW8bit:
      return bytes(Wide{parameters} * 2);
    case Optimizer::kMomentum:
      return bytes(Wide{parameters} * of_one);
    case Optimizer::kSgd:
    case Optimizer::kAdafactor:  // A row and a column for each matrix.
      return {};
  }
  return {};
}

// What one layer keeps for one token, in bytes.
struct OfLayer {
  Wide norms = 0;
  Wide attention = 0;
  Wide feed_forward = 0;

  Wide total() const { return norms + attention + feed_forward; }
};

OfLayer of_layer(const ModelShape& shape, const Training& training) {
  const Wide one = activation_bytes(training.precision);
  const Wide stream = stream_bytes(training.precision);
  const Wide width = shape.width;
  const Wide queries = shape.attention_width();
  const Wide keys = shape.key_value_width();
  OfLayer result;
  // What goes into both norms and comes out of them, and what they have divided by.
  result.norms = 2 * width * stream + 2 * width * one + 4 * one;
  result.attention = (queries + 2 * keys + queries) * one;  // What goes in, and what comes out.
  if (shape.kind == ModelShape::Kind::kLlama)
    result.attention += (queries + keys) * one;  // Turned.
  if (training.attention == Attention::kEager) {
    result.attention += Wide{shape.heads} * training.sequence * one;
  }
  const Wide matrices = shape.kind == ModelShape::Kind::kLlama ? 4 : 2;
  result.feed_forward = matrices * shape.inner_width * one;
  return result;
}

Activations activations_of(const ModelShape& shape, const Training& training,
                           std::uint64_t parameters) {
  const Wide tokens = Wide{training.batch} * training.sequence;
  const Wide stream = stream_bytes(training.precision);
  const OfLayer layer = of_layer(shape, training);
  const Wide layers = shape.layers;
  Activations result;
  if (training.checkpointing == Checkpointing::kLayers) {
    result.norms = bytes(tokens * layers * shape.width * stream);
  } else {
    result.norms = bytes(tokens * layers * layer.norms);
    result.attention = bytes(tokens * layers * layer.attention);
    result.feed_forward = bytes(tokens * layers * layer.feed_forward);
  }
  // The logarithms of probabilities are of four bytes, unless all is of two.
  result.output = bytes(tokens * (2 * Wide{shape.width} + shape.vocabulary) * stream);
  if (training.precision == Precision::kMixed) {
    result.half_copies = bytes(Wide{parameters} * kHalfBytes);
  }
  return result;
}

}  // namespace

Estimate estimate_states(std::uint64_t parameters, const Training& training) {
  const Wide of_one = weight_bytes(training.precision);
  Estimate result;
  result.parameters = parameters;
  result.weights = bytes(parameters * of_one);
  result.gradients = bytes(parameters * of_one);
  result.optimizer = optimizer_bytes(parameters, training);
  result.peak = result.weights + result.gradients + result.optimizer;
  return result;
}

Estimate estimate_training(const ModelShape& shape, const Training& training) {
  Estimate result = estimate_states(parameters_of(shape).total(), training);
  result.activations = activations_of(shape, training, result.parameters);
  const Wide tokens = Wide{training.batch} * training.sequence;
  const Wide of_one = weight_bytes(training.precision);
  // At the start of the backward pass, all activations and what is derived of each word's number,
  // twice.
  const Bytes at_start = result.activations.total() +
                         bytes(tokens * 2 * shape.vocabulary * stream_bytes(training.precision));
  // At its end, all gradients; a head that is the embedding has its gradient from both for a
  // moment.
  const Wide embedding = Wide{shape.vocabulary} * shape.width * of_one;
  const Bytes at_end = result.gradients + (shape.tied_head ? bytes(2 * embedding) : Bytes{});
  Bytes over_base = std::max(at_start, at_end);
  if (training.checkpointing == Checkpointing::kLayers) {
    const OfLayer layer = of_layer(shape, training);
    over_base = std::max(over_base, result.gradients + result.activations.half_copies +
                                        bytes(tokens * layer.total()));
  }
  result.peak = result.weights + result.optimizer + over_base;
  return result;
}

std::uint64_t largest_batch(const ModelShape& shape, Training training, Bytes room) {
  std::uint64_t fits = 0;
  std::uint64_t fails = kBatchMax + 1;
  while (fits + 1 < fails) {
    training.batch = fits + (fails - fits) / 2;
    (estimate_training(shape, training).peak <= room ? fits : fails) = training.batch;
  }
  return fits;
}

}  // namespace berth::estimate
