// SPDX-License-Identifier: Apache-2.0
// An order of n things that looks like chance and is decided by a seed: the place of each is
// computed, not stored, so that data of any size is shuffled without memory, and a position in it
// is one number. Pure.
#pragma once

#include <cstdint>

namespace berth::train {

/// Which of `count` things stands at `index` (below `count`). A permutation for each seed.
std::uint64_t shuffled(std::uint64_t index, std::uint64_t count, std::uint64_t seed);

/// A number that looks like chance (SplitMix64: Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t value);

}  // namespace berth::train
