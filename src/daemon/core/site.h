// SPDX-License-Identifier: Apache-2.0
// Devices that a request would get if it were granted on those that lack least, and what is in its
// way there. A request for several devices is judged by all that it would get, not by the best.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/ledger.h"
#include "model/request.h"
#include "model/view.h"

namespace berth::core {

struct Site {
  std::uint32_t wanted = 1;
  std::uint32_t fitting = 0;  // Devices of those below that could take it now.
  /// Of one model, where it wants that; those that fit first, then those that lack least.
  std::vector<const Account*> accounts;

  /// All that it asks for could take it now.
  bool fits() const { return fitting >= wanted; }
  /// Fewer are there than it asks for.
  bool is_short_of_devices() const { return accounts.size() < wanted; }
};

/// Of devices that are there and could take the request if they were empty.
Site site_of(const Ledger& ledger, const Request& request, Bytes exclusive_unmanaged_max);

/// What the request lacks on the device; for a whole device all that is charged there.
Shortage shortage_on(const Account& account, const Request& request);

/// How many bytes could be granted now on each of as many devices as it asks for.
Bytes most_grantable(const Ledger& ledger, const Request& request);

/// The most that it takes of what its user may have: the budgets that it asks for, or the largest
/// devices that it could get for itself.
Bytes most_taken(const Ledger& ledger, const Request& request);

/// The largest budget that the devices could grant if they were empty, where they are enough by
/// number and what the request asks is more than that.
std::optional<Bytes> too_small_for(const Ledger& ledger, const Request& request);

}  // namespace berth::core
