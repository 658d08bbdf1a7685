// SPDX-License-Identifier: Apache-2.0
#include "wire/audit.h"

#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

void write_name(JsonWriter& writer, std::string_view key, UserId user, const UserNames& names) {
  const auto name = names.find(user);
  writer.key(key).text_or_null(name == names.end() ? "" : name->second);
  writer.key(std::string(key) + "_id").number(user.value);
}

void write_entry(JsonWriter& writer, const AuditEntry& entry, const UserNames& names) {
  writer.begin_object().key("time").time(entry.at);
  writer.key("verb").text(to_text(entry.verb));
  if (entry.by) {
    write_name(writer, "by", *entry.by, names);
  } else {
    writer.key("by").null().key("by_id").null();
  }
  if (entry.lease == LeaseId{}) {
    writer.key("lease").null().key("user").null().key("user_id").null();
  } else {
    writer.key("lease").number(entry.lease.value);
    write_name(writer, "user", entry.owner, names);
  }
  writer.key("name").text_or_null(entry.name);
  writer.key("reason").text_or_null(entry.reason).end_object();
}

std::optional<UserId> read_name(ObjectReader& item, std::string_view key, UserNames& names) {
  const std::string number = std::string(key) + "_id";
  if (!item.has(number)) return std::nullopt;
  UserId user;
  std::string name;
  item.number(number, user.value, {0, kMax32});
  item.text(key, name);
  if (!name.empty()) names.emplace(user, std::move(name));
  return user;
}

AuditEntry read_entry(ObjectReader& item, UserNames& names) {
  AuditEntry entry;
  item.time("time", entry.at);
  item.require("verb");
  item.word("verb", entry.verb);
  entry.by = read_name(item, "by", names);
  entry.lease = {item.number("lease", kAny).value_or(0)};
  entry.owner = read_name(item, "user", names).value_or(UserId{});
  item.text("name", entry.name);
  item.text("reason", entry.reason);
  return entry;
}

}  // namespace

std::string encode_audit(const std::vector<AuditEntry>& audit, const PastFacts& facts) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/audit/v1").key("time").time(facts.time);
  writer.key("since").time(facts.since).key("until").time(facts.until);
  writer.key("items").begin_array();
  for (const AuditEntry& entry : audit) write_entry(writer, entry, facts.names);
  writer.end_array().end_object();
  return writer.take();
}

Result<AuditAnswer> decode_audit(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  AuditAnswer answer;
  reader.time("time", answer.facts.time);
  reader.time("since", answer.facts.since);
  reader.time("until", answer.facts.until);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    answer.audit.push_back(read_entry(item, answer.facts.names));
  }
  TRY_STATUS(document.status());
  return answer;
}

}  // namespace berth::wire
