// SPDX-License-Identifier: Apache-2.0
// Entries of the audit: actions on leases, and their authors. Told in the log, and kept with the
// past. Never read by what decides.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/told_facts.h"

namespace berth {

/// A lease for which something was done to another.
struct Beneficiary {
  LeaseId lease;
  UserId user;
  std::string name;
  friend bool operator==(const Beneficiary&, const Beneficiary&) = default;
};

struct AuditEntry {
  UnixMs at;
  Verb verb = Verb::kGrant;
  std::optional<UserId> by = {};  // Absent: the daemon, by its rules.
  LeaseId lease = {};             // 0: of no lease.
  UserId owner = {};              // Of the lease.
  std::string name = {};          // Of the lease; may be empty.
  std::string reason = {};        // One line: why, to what, or with what result. May be empty.
  std::optional<Beneficiary> whom = {};  // In place of a reason, until its user is named.
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};
constexpr auto fields_of(Is<AuditEntry> auto*) {
  using Entry = AuditEntry;
  return fields({"AuditEntry", "What was done, and by whom."}, field("time", &Entry::at, "When."),
                field("verb", &Entry::verb, "What.").required(side::kAnswer),
                field("by", &Entry::by,
                      "Who did it; null: the daemon by its rules, or nobody knows the name."),
                field("lease", &Entry::lease, "Null: it was done to the daemon.").null_at_default(),
                computed(
                    "user", "Whose lease it was.",
                    [](const Entry& entry) {
                      return entry.lease == LeaseId{} ? std::nullopt : std::optional(entry.owner);
                    },
                    [](Entry& entry, UserId owner) { entry.owner = owner; }),
                field("name", &Entry::name, "Of the lease."),
                field("reason", &Entry::reason, "Why, to what, or with what result."));
}

}  // namespace berth
