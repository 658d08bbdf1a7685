// SPDX-License-Identifier: Apache-2.0
// The table of messages that are to be sent, in history.db. The thread of its database.
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
/// These are kept, or kept as they are now, and those of these numbers not any more: all of it, or
/// nothing. On the disk itself when it returns.
Status keep_messages(Database& database, std::span<const AlertDelivery> put,
                     std::span<const std::uint64_t> drop);
/// All of them, in order.
Result<std::vector<AlertDelivery>> kept_messages(Database& database);

}  // namespace berth::store
