// SPDX-License-Identifier: Apache-2.0
// How much of the machine a (user, session) pair has had: granted byte-seconds that are forgotten
// with a half-life of limits::kShareHalfLife.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/units.h"

namespace berth::core {

struct ShareKey {
  UserId user;
  std::string session;
  friend auto operator<=>(const ShareKey&, const ShareKey&) = default;
};

struct Usage {
  double byte_seconds = 0;  // At `at`.
  double rate = 0;          // Bytes granted since `at`.
  Instant at;
};

/// The share at `now`. With rate r and decay l, s' = r - l s has the closed form used here, so that
/// the order of two shares does not depend on how often they were looked at.
double share_at(const Usage& share, Instant now);

/// From `now` on the rate is larger by `bytes` (negative: smaller).
void change_rate(Usage& share, Instant now, double bytes);

}  // namespace berth::core
