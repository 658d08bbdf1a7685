// SPDX-License-Identifier: Apache-2.0
// The table of what was done to leases and by whom, in history.db. The thread of its database.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/audit_entry.h"
#include "store/database.h"

namespace berth::store {

struct AuditQuestion {
  UnixMs since;
  UnixMs until;
  std::optional<LeaseId> lease = {};
  std::optional<UserId> user = {};  // Who did it, or whose lease it was.
};

constexpr std::size_t kAuditKept = 200'000;  // Beyond, the oldest of the user with most goes.
constexpr std::size_t kAuditTold = 10'000;   // In one answer: the youngest.

/// Where it is missing: it came later than the others, and a release that does not know it passes
/// it by.
Status make_audit_table(Database& database);
/// In the transaction of the caller.
Status keep_audit(Database& database, std::span<const AuditEntry> audit);
Status drop_audit(Database& database, UnixMs before);
/// Oldest first.
Result<std::vector<AuditEntry>> kept_audit(Database& database, const AuditQuestion& question);

}  // namespace berth::store
