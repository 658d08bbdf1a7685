// SPDX-License-Identifier: Apache-2.0
// GET /v1/history/events: who did what to whose lease. Names and numbers only: neither command
// lines nor handles. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "model/audit_entry.h"
#include "wire/history.h"

namespace berth::wire {

struct AuditAnswer {
  std::vector<AuditEntry> audit;
  PastFacts facts;
};
constexpr auto fields_of(Is<AuditAnswer> auto*) {
  return fields({"Audit", "", "berth/audit/v1"}, all_fields(&AuditAnswer::facts),
                field("items", &AuditAnswer::audit, "Oldest first."));
}
std::string encode_audit(const AuditAnswer& answer);
Result<AuditAnswer> decode_audit(std::string_view text);

/// The event `audit`.
std::string encode_audit_entry(const AuditEntry& entry, const UserNames& names);
Result<AuditEntry> decode_audit_entry(std::string_view text);

}  // namespace berth::wire
