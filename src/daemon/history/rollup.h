// SPDX-License-Identifier: Apache-2.0
// Conversion of figures of seconds to figures of minutes, hours and any step. Each second that is
// known counts once, however often it was looked at, so that a mean over an hour is one over time.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/history.h"

namespace berth::history {

/// The grains in which figures are kept. Their numbers are those of Retention's members.
enum class Grain : std::uint8_t { kSecond, kMinute, kHour };
constexpr std::uint32_t seconds_of(Grain grain) {
  return grain == Grain::kSecond ? 1 : grain == Grain::kMinute ? 60 : 3'600;
}
Duration kept_for(Grain grain, const Retention& retention);

/// The start of the stretch of `step` seconds that a second lies in.
std::int64_t start_of(std::int64_t second, std::uint32_t step);

/// Both together, of the same stretch of time.
Bucket merged(const Bucket& a, const Bucket& b);

/// Not more of it is known than there is, though a clock that was set back has told some of it
/// twice: the mean stays.
Bucket bounded(const Bucket& bucket, std::uint32_t step);

/// Seconds that follow one another with the same value become one bucket (`known` seconds long),
/// within a minute. Only seconds: oldest first, one for each.
std::vector<Bucket> runs_of(std::span<const Bucket> seconds);

/// Stretches of `step` seconds. What goes beyond one is taken apart: only runs do.
std::vector<Bucket> rolled_up(std::span<const Bucket> buckets, std::uint32_t step);

/// The step in which a time is told if none is asked for: about 60 of them.
std::uint32_t step_for(Duration time);

/// Where to look: the coarsest grain of which the step is made, if it reaches back that far; else
/// the finest one that does, or hours.
Grain grain_for(std::uint32_t step, Duration back, const Retention& retention);
/// The step that can be told from a grain: at least the one asked for.
std::uint32_t step_from(Grain grain, std::uint32_t step);

}  // namespace berth::history
