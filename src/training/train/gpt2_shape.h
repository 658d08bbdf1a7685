// SPDX-License-Identifier: Apache-2.0
// Sizes of the members of the GPT-2 family (Radford et al. 2019), and smaller ones for tests and
// small machines. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::train {

struct Gpt2Shape {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;     // The most tokens in a row.
  std::int64_t vocabulary = 0;  // 256 for bytes.
};

/// nano, micro, small, medium, large, xl. The two smallest read bytes.
std::optional<Gpt2Shape> gpt2_shape(std::string_view name);
/// "nano, micro, small, medium, large or xl"
std::string_view gpt2_names();

/// The output layer shares the weights of the embedding.
std::int64_t parameter_count(const Gpt2Shape& shape);

}  // namespace berth::train
