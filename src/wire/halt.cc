// SPDX-License-Identifier: Apache-2.0
#include "wire/halt.h"

#include <string>
#include <string_view>
#include <utility>

#include "wire/fields.h"

namespace berth::wire {

void write_by(JsonWriter& writer, std::string_view key, std::optional<UserId> user,
              const UserNames& names) {
  const auto name = user ? names.find(*user) : names.end();
  writer.key(key).text_or_null(name == names.end() ? std::string() : name->second);
  writer.key(std::string(key) + "_id");
  user ? writer.number(user->value) : writer.null();
}

void read_by(ObjectReader& reader, std::string_view key, std::optional<UserId>& user) {
  const std::string number = std::string(key) + "_id";
  if (reader.has(number)) reader.number(number, user.emplace().value, {0, kMax64});
}

void write_pause(JsonWriter& writer, const std::optional<Pause>& pause, const UserNames& names) {
  writer.key("paused");
  if (!pause) {
    writer.null();
    return;
  }
  writer.begin_object().key("since").time(pause->since);
  writer.key("until").time(pause->until);
  writer.key("reason").text_or_null(pause->reason);
  write_by(writer, "by", pause->by, names);
  writer.end_object();
}

void read_pause(ObjectReader& reader, std::optional<Pause>& pause) {
  std::optional<ObjectReader> object = reader.object("paused");
  if (!object) return;
  pause.emplace();
  object->time("since", pause->since);
  object->time("until", pause->until);
  object->text("reason", pause->reason);
  read_by(*object, "by", pause->by);
}

void write_halt(JsonWriter& writer, const std::optional<Halt>& halt, const UserNames& names) {
  writer.key("halted");
  if (!halt) {
    writer.null();
    return;
  }
  writer.begin_object().key("reason").text(to_text(halt->reason));
  writer.key("since").time(halt->since);
  writer.key("cause").text_or_null(halt->cause ? to_text(*halt->cause) : std::string_view());
  writer.key("for");
  if (halt->lease) {
    const auto name = names.find(halt->user);
    writer.begin_object().key("id").number(halt->lease->value);
    writer.key("user").text_or_null(name == names.end() ? std::string() : name->second);
    writer.key("user_id").number(halt->user.value);
    writer.key("name").text_or_null(halt->name);
    writer.key("priority").text(to_text(halt->priority)).end_object();
  } else {
    writer.null();
  }
  writer.end_object();
}

// Reasons that a newer daemon knows are left out.
void read_halt(ObjectReader& reader, std::optional<Halt>& halt, UserNames& names) {
  std::optional<ObjectReader> object = reader.object("halted");
  if (!object) return;
  std::string word;
  object->text("reason", word);
  const std::optional<Halt::Reason> reason = parse_word<Halt::Reason>(word);
  if (!reason) return;
  halt.emplace().reason = *reason;
  object->time("since", halt->since);
  std::string cause;
  object->text("cause", cause);
  halt->cause = parse_word<Cause>(cause);
  std::optional<ObjectReader> other = object->object("for");
  if (!other) return;
  halt->lease = LeaseId{other->number("id", {1, kMax64}).value_or(0)};
  other->number("user_id", halt->user.value, {0, kMax64});
  std::string user;
  other->text("user", user);
  if (!user.empty()) names.emplace(halt->user, std::move(user));
  other->text("name", halt->name);
  other->word("priority", halt->priority);
}

}  // namespace berth::wire
