// SPDX-License-Identifier: Apache-2.0
// Choice of the next token, by the logits of a model and one number of chance. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace berth::train {

struct SamplingConfig {
  double temperature = 1;   // Below 1 the likely ones come oftener; 0: always the likeliest.
  std::uint32_t top_k = 0;  // Of so many of the likeliest alone; 0: of all.
};

/// Its place among the logits. `chance` is from 0 on and below 1: tokens have their share of that
/// in the order of their places, and of equal ones the earlier is the likelier. What is no number
/// is never taken; absent: nothing else is there.
std::optional<std::size_t> sample(std::span<const float> logits, const SamplingConfig& config,
                                  double chance);

}  // namespace berth::train
