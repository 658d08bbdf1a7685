// SPDX-License-Identifier: Apache-2.0
#include "wire/audit.h"

#include <utility>

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace berth::wire {

std::string encode_audit(const AuditAnswer& answer) {
  return answer_text(answer, answer.facts.names);
}

Result<AuditAnswer> decode_audit(std::string_view text) {
  UserNames names;
  TRY(answer, read_answer<AuditAnswer>(text, names));
  answer.facts.names = std::move(names);
  return answer;
}

std::string encode_audit_entry(const AuditEntry& entry, const UserNames& names) {
  return answer_text(entry, names);
}

Result<AuditEntry> decode_audit_entry(std::string_view text) {
  return read_answer<AuditEntry>(text);
}

}  // namespace berth::wire
