// SPDX-License-Identifier: Apache-2.0
// FNV-1a of 64 bits (Fowler, Noll, Vo): a hash for texts that nobody chose in order to deceive it.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

constexpr std::uint64_t kFnv1aBasis = 0xcbf29ce484222325U;

/// `hash` is what came before it.
constexpr std::uint64_t fnv1a(unsigned char byte, std::uint64_t hash) {
  return (hash ^ byte) * 0x100000001b3U;
}

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnv1aBasis) {
  for (const char letter : text) hash = fnv1a(static_cast<unsigned char>(letter), hash);
  return hash;
}

}  // namespace berth
