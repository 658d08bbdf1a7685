// SPDX-License-Identifier: Apache-2.0
// Past shares of users in the machine, and of each of their sessions: granted byte-seconds that are
// forgotten with a half-life of limits::kShareHalfLife.
#pragma once

#include <functional>
#include <map>
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

/// The use of everybody, bounded by user: what a user has had is the sum over their sessions, and
/// no number of names makes it less. See Note [Names beyond the bound].
class Shares {
 public:
  using Sessions = std::map<std::string, Usage, std::less<>>;

  /// From `now` on the session is granted so much more (negative: less).
  void charge(const ShareKey& key, Instant now, double bytes);
  /// What it had had at `at`. Its rate comes from the leases, which are restored before.
  void restore(const ShareKey& key, double byte_seconds, Instant at, Instant now);

  const std::map<UserId, Sessions>& users() const { return users_; }

 private:
  void bound_users(Instant now);

  std::map<UserId, Sessions> users_;
};

}  // namespace berth::core
