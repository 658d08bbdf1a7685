// SPDX-License-Identifier: Apache-2.0
// The tables of messages that are to be sent and of alerts that fire, in history.db. The thread of
// its database.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/alert.h"
#include "store/database.h"

namespace berth::store {

/// Where it is missing: it came later than the others, and a release that does not know it passes
/// it by.
Status make_messages_table(Database& database);
/// What of them changes: all of it, or nothing.
struct AlertChanges {
  std::span<const AlertDelivery> put;           // Kept, or kept as they are now.
  std::span<const std::uint64_t> drop;          // Of these numbers: not any more.
  const std::vector<FiringAlert>* firing = {};  // Those, and no others; null: as before.
};
/// On the disk itself when it returns.
Status keep_messages(Database& database, const AlertChanges& changes);
Result<KeptAlerts> kept_messages(Database& database);

}  // namespace berth::store
