// SPDX-License-Identifier: Apache-2.0
// Moments for measuring how long something took; they decide nothing. Any thread.
#pragma once

#include <chrono>

#include "base/units.h"

namespace berth::trainer {

/// Since some beginning that is the same for the whole process.
inline Duration moment() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

inline Duration since(Duration begin) {
  return {moment().ns - begin.ns};
}

}  // namespace berth::trainer
