// SPDX-License-Identifier: Apache-2.0
#include "train/shuffle.h"

#include <bit>

#include "base/check.h"

namespace berth::train {
namespace {

constexpr std::uint64_t kRounds = 6;

}  // namespace

std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// A Feistel network permutes numbers of an even count of bits; one that leads outside is led on
// until it comes back, which keeps it a permutation (Black, Rogaway 2002).
std::uint64_t shuffled(std::uint64_t index, std::uint64_t count, std::uint64_t seed) {
  CHECK(index < count);
  const auto half = static_cast<unsigned>(std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(mixed(seed + round) ^ right) & mask);
      left = right;
      right = next;
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

}  // namespace berth::train
