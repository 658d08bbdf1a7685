// SPDX-License-Identifier: Apache-2.0
#include "core/share.h"

#include <algorithm>
#include <cmath>

#include "core/limits.h"

namespace berth::core {

double share_at(const Usage& share, Instant now) {
  const double elapsed = std::max(0.0, static_cast<double>((now - share.at).ns) * 1e-9);
  const double half_life = static_cast<double>(limits::kShareHalfLife.ns) * 1e-9;
  const double decay = std::log(2.0) / half_life;
  const double kept = std::exp(-decay * elapsed);
  return share.byte_seconds * kept + share.rate / decay * (1.0 - kept);
}

void change_rate(Usage& share, Instant now, double bytes) {
  share.byte_seconds = share_at(share, now);
  share.rate = std::max(0.0, share.rate + bytes);
  share.at = std::max(share.at, now);
}

}  // namespace berth::core
