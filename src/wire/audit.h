// SPDX-License-Identifier: Apache-2.0
// GET /v1/history/events: who did what to whose lease. Names and numbers only: neither command
// lines nor handles. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/audit_entry.h"
#include "wire/history.h"

namespace berth::wire {

std::string encode_audit(const std::vector<AuditEntry>& audit, const PastFacts& facts);
struct AuditAnswer {
  std::vector<AuditEntry> audit;
  PastFacts facts;
};
Result<AuditAnswer> decode_audit(std::string_view text);

}  // namespace berth::wire
