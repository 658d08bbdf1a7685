// SPDX-License-Identifier: Apache-2.0
// The oldest driver of the tests: a program may be linked with no more than that has.
#pragma once

/// The version of CUDA of the oldest.
inline constexpr int kOldestCuda = 11'040;

/// Null for what came later: nothing refers to it then.
template <int kSince, auto* kFunction>
constexpr auto* if_always_there() {
  if constexpr (kSince <= kOldestCuda) {
    return kFunction;
  } else {
    return static_cast<decltype(kFunction)>(nullptr);
  }
}
