// SPDX-License-Identifier: Apache-2.0
// Levels of memory use: three thresholds, and the level that a figure means, which falls later than
// it rises. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "base/words.h"

namespace berth::vram {

enum class Level : std::uint8_t { kUnknown, kNormal, kWarn, kCleanup, kCritical };
constexpr auto words_of(Level) {
  using enum Level;
  return make_words<Level>({{kUnknown, "unknown"},
                            {kNormal, "normal"},
                            {kWarn, "warn"},
                            {kCleanup, "cleanup"},
                            {kCritical, "critical"}});
}

/// One threshold as it was asked for: bytes, or a share of the whole.
struct Limit {
  std::optional<Bytes> bytes;
  double share = 0;
};

struct Limits {
  Limit warn = {.bytes = {}, .share = 0.62};
  Limit cleanup = {.bytes = {}, .share = 0.75};
  Limit critical = {.bytes = {}, .share = 0.88};
};

/// kInvalid, naming the first that is wrong: a share is above 0 and at most 1, and of two of one
/// kind the later is not the lower one.
Status check(const Limits& limits);

struct Thresholds {
  Bytes warn;
  Bytes cleanup;
  Bytes critical;
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

/// Absent where a share is asked for and the whole is not known, or where of bytes and shares the
/// later would be the lower one.
std::optional<Thresholds> thresholds_of(const Limits& limits, std::optional<Bytes> whole);

/// The level of `used`: at once up to what it reaches; down only once it is a twentieth below the
/// threshold of the level that was.
Level level_of(const Thresholds& thresholds, Bytes used, Level before);

}  // namespace berth::vram
