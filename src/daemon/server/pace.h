// SPDX-License-Identifier: Apache-2.0
// Pace at which each user may ask for leases: so many at once, and so many a second from then on.
// Pure: it is told the instant. A user who has not asked for a while has all of it again and costs
// nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/units.h"

namespace berth::server {

struct PaceLimits {
  std::uint32_t per_second = 0;  // 0: no bound.
  std::uint32_t at_once = 1;
  friend constexpr bool operator==(const PaceLimits&, const PaceLimits&) = default;
};

class Pace {
 public:
  static constexpr std::size_t kUsersMax = 1'024;  // Beyond it, those with all of it are let go.

  /// Nothing: they may, and this counts. Else how long until they may, and nothing counts.
  std::optional<Duration> ask(UserId user, Instant now, const PaceLimits& limits);
  std::size_t users() const { return full_again_.size(); }

 private:
  // When each has all of it again. One request costs a `per_second`-th of a second.
  std::map<UserId, Instant> full_again_;
};

}  // namespace berth::server
