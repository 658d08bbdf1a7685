// SPDX-License-Identifier: Apache-2.0
#include "server/pace.h"

#include <algorithm>

namespace berth::server {

std::optional<Duration> Pace::ask(UserId user, Instant now, const PaceLimits& limits) {
  if (limits.per_second == 0) return std::nullopt;
  if (full_again_.size() >= kUsersMax) {
    std::erase_if(full_again_, [now](const auto& entry) { return entry.second <= now; });
  }
  const Duration cost{seconds(1).ns / limits.per_second};
  const Duration all{cost.ns * std::max(limits.at_once, 1U)};
  const auto known = full_again_.find(user);
  // Bounds that were tightened meanwhile do not make anybody wait for longer than they say.
  Instant full = known == full_again_.end() ? now : std::clamp(known->second, now, now + all);
  full = full + cost;
  if (full > now + all) return full - (now + all);
  full_again_[user] = full;
  return std::nullopt;
}

}  // namespace berth::server
