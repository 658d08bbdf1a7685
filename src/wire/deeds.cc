// SPDX-License-Identifier: Apache-2.0
#include "wire/deeds.h"

#include <optional>
#include <utility>

#include "wire/fields.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

namespace berth::wire {
namespace {

void write_name(JsonWriter& writer, std::string_view key, UserId user, const UserNames& names) {
  const auto name = names.find(user);
  writer.key(key).text_or_null(name == names.end() ? "" : name->second);
  writer.key(std::string(key) + "_id").number(user.value);
}

void write_deed(JsonWriter& writer, const Deed& deed, const UserNames& names) {
  writer.begin_object().key("time").time(deed.at);
  writer.key("verb").text(to_text(deed.verb));
  if (deed.by) {
    write_name(writer, "by", *deed.by, names);
  } else {
    writer.key("by").null().key("by_id").null();
  }
  if (deed.lease == LeaseId{}) {
    writer.key("lease").null().key("user").null().key("user_id").null();
  } else {
    writer.key("lease").number(deed.lease.value);
    write_name(writer, "user", deed.owner, names);
  }
  writer.key("name").text_or_null(deed.name);
  writer.key("reason").text_or_null(deed.reason).end_object();
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

Deed read_deed(ObjectReader& item, UserNames& names) {
  Deed deed;
  item.time("time", deed.at);
  item.require("verb");
  item.word("verb", deed.verb, parse_verb, "a verb");
  deed.by = read_name(item, "by", names);
  deed.lease = {item.number("lease", kAny).value_or(0)};
  deed.owner = read_name(item, "user", names).value_or(UserId{});
  item.text("name", deed.name);
  item.text("reason", deed.reason);
  return deed;
}

}  // namespace

std::string encode_deeds(const std::vector<Deed>& deeds, const PastFacts& facts) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/deeds/v1").key("time").time(facts.time);
  writer.key("since").time(facts.since).key("until").time(facts.until);
  writer.key("items").begin_array();
  for (const Deed& deed : deeds) write_deed(writer, deed, facts.names);
  writer.end_array().end_object();
  return writer.take();
}

Result<DeedsAnswer> decode_deeds(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  DeedsAnswer answer;
  reader.time("time", answer.facts.time);
  reader.time("since", answer.facts.since);
  reader.time("until", answer.facts.until);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    answer.deeds.push_back(read_deed(item, answer.facts.names));
  }
  TRY_STATUS(document.status());
  return answer;
}

}  // namespace berth::wire
