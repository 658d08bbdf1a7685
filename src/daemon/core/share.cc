// SPDX-License-Identifier: Apache-2.0
#include "core/share.h"

#include <algorithm>
#include <cmath>

#include "core/limits.h"

namespace berth::core {
namespace {

// Note [Names beyond the bound]
// A session's name is whatever its user says. Of each user limits::kShareSessions are told apart.
// Where one more comes, the one that has had least of those that hold nothing is forgotten, and its
// use is counted for the least of the others, as a rule the one that came. What the user has had in
// all thus stays what it was, no name of theirs pushes out another user's, and a fresh name is not
// better off among their own than the least of them was.
void bound_sessions(Shares::Sessions& sessions, Instant now) {
  while (sessions.size() > limits::kShareSessions) {
    auto least = sessions.end();
    for (auto i = sessions.begin(); i != sessions.end(); ++i) {
      if (i->second.rate > 0) continue;
      const bool less =
          least == sessions.end() || share_at(i->second, now) < share_at(least->second, now);
      if (less) least = i;
    }
    if (least == sessions.end()) return;  // All hold something: there are no more than leases.
    const double share = share_at(least->second, now);
    sessions.erase(least);
    Usage& next = std::ranges::min_element(sessions, {}, [now](const auto& entry) {
                    return share_at(entry.second, now);
                  })->second;
    change_rate(next, now, 0);
    next.byte_seconds += share;
  }
}

double sum_at(const Shares::Sessions& sessions, Instant now) {
  double sum = 0;
  for (const auto& [name, usage] : sessions) sum += share_at(usage, now);
  return sum;
}

bool holds_nothing(const Shares::Sessions& sessions) {
  return std::ranges::none_of(sessions, [](const auto& entry) { return entry.second.rate > 0; });
}

}  // namespace

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

void Shares::charge(const ShareKey& key, Instant now, double bytes) {
  Sessions& sessions = users_[key.user];
  change_rate(sessions[key.session], now, bytes);
  bound_sessions(sessions, now);
  bound_users(now);
}

void Shares::restore(const ShareKey& key, double byte_seconds, Instant at, Instant now) {
  Sessions& sessions = users_[key.user];
  Usage& usage = sessions[key.session];
  usage.byte_seconds = byte_seconds;
  usage.at = at;
  bound_sessions(sessions, now);
  bound_users(now);
}

void Shares::bound_users(Instant now) {
  if (users_.size() <= limits::kShareUsers) return;
  auto least = users_.end();
  for (auto i = users_.begin(); i != users_.end(); ++i) {
    if (!holds_nothing(i->second)) continue;
    if (least == users_.end() || sum_at(i->second, now) < sum_at(least->second, now)) least = i;
  }
  if (least != users_.end()) users_.erase(least);
}

}  // namespace berth::core
