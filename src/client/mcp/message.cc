// SPDX-License-Identifier: Apache-2.0
#include "mcp/message.h"

#include <utility>

#include "base/check.h"
#include "base/json_copy.h"
#include "wire/json_reader.h"

namespace berth::mcp {
namespace {

using Kind = JsonTree::Kind;

std::optional<Id> id_of(const JsonTree::Node& node) {
  if (node.kind == Kind::kText) return Id{'"' + std::string(node.text) + '"'};
  if (node.kind != Kind::kNumber) return std::nullopt;
  if (node.text.find_first_of(".eE") != std::string_view::npos) return std::nullopt;
  return Id{std::string(node.text)};
}

Fault fault_of(const JsonTree::Fault& fault) {
  switch (fault.kind) {
    case JsonTree::Fault::Kind::kNoJson:
      return {Code::kParse, "the line is not valid JSON (byte " + std::to_string(fault.byte) + ")"};
    case JsonTree::Fault::Kind::kTooDeep:
      return {Code::kInvalidRequest, "the message is nested deeper than " +
                                         std::to_string(JsonTree::kDepthMax) + " levels"};
    case JsonTree::Fault::Kind::kKeyTwice:
      return {Code::kInvalidRequest,
              "the message gives the field '" + wire::shown(fault.key) + "' twice"};
  }
  std::unreachable();
}

// Empty: it is well-formed. A response is never answered, whatever it is.
std::string what_is_wrong(const Object& whole, const Message& message) {
  if (message.kind == Message::Kind::kResponse) return {};
  if (whole.text("jsonrpc") != "2.0") return "'jsonrpc' must be \"2.0\"";
  const bool has_id = message.tree.find(0, "id").has_value();
  if (has_id && !message.id) return "'id' must be text or a whole number";
  if (message.method.empty()) return "'method' must be text";
  if (whole.has("params") && !whole.has_object("params")) return "'params' must be an object";
  return {};
}

// An end of a line inside of JSON that was passed on would end the message.
std::string end_line(JsonWriter& out) {
  std::string line = out.end_object().take();
  CHECK(line.find('\n') == std::string::npos);
  return line;
}

JsonWriter& begin_line(JsonWriter& out) {
  return out.begin_object().plain_key("jsonrpc").plain_text("2.0");
}

}  // namespace

std::optional<std::uint32_t> Object::find(std::string_view field) const {
  if (!at_) return std::nullopt;
  const std::optional<std::uint32_t> found = tree_->find(*at_, field);
  return found && (*tree_)[*found].kind != Kind::kNull ? found : std::nullopt;
}

bool Object::has_object(std::string_view field) const {
  const auto found = find(field);
  return found && (*tree_)[*found].kind == Kind::kObject;
}

std::optional<std::string> Object::text(std::string_view field) const {
  const auto found = find(field);
  return found ? text_of((*tree_)[*found]) : std::nullopt;
}

std::optional<Id> Object::id(std::string_view field) const {
  const auto found = find(field);
  return found ? id_of((*tree_)[*found]) : std::nullopt;
}

Object Object::object(std::string_view field) const {
  return {*tree_, has_object(field) ? find(field) : std::nullopt};
}

std::string Object::json(std::string_view field, std::string_view otherwise) const {
  const auto found = find(field);
  return found ? json_at(*tree_, *found) : std::string(otherwise);
}

std::string Object::json() const {
  return at_ ? json_at(*tree_, *at_) : "{}";
}

void Object::for_each(const std::function<void(std::string_view, bool)>& visit) const {
  if (!at_) return;
  for (std::uint32_t key = *at_ + 1; key < (*tree_)[*at_].end; key = (*tree_)[key + 1].end) {
    visit(text_of((*tree_)[key]).value_or(""), (*tree_)[key + 1].kind == Kind::kText);
  }
}

std::optional<std::vector<std::string>> Object::texts(std::string_view field) const {
  const auto found = find(field);
  if (!found || (*tree_)[*found].kind != Kind::kArray) return std::nullopt;
  std::vector<std::string> all;
  for (std::uint32_t at = *found + 1; at < (*tree_)[*found].end; at = (*tree_)[at].end) {
    std::optional<std::string> text = text_of((*tree_)[at]);
    if (!text) return std::nullopt;
    all.push_back(*std::move(text));
  }
  return all;
}

std::variant<Message, Unreadable> read_message(std::string_view line) {
  const auto refused = [](std::optional<Id> id, std::string why) {
    return Unreadable{std::move(id), {Code::kInvalidRequest, std::move(why)}};
  };
  if (line.size() > kLineMax) {
    return refused({}, "the line has more than " + std::to_string(kLineMax) + " bytes");
  }
  auto read = JsonTree::parse_strictly(line);
  if (const auto* fault = std::get_if<JsonTree::Fault>(&read))
    return Unreadable{{}, fault_of(*fault)};
  Message message{.tree = std::get<JsonTree>(std::move(read))};
  if (message.tree[0].kind == Kind::kArray) return refused({}, "batches are not taken");
  if (message.tree[0].kind != Kind::kObject) return refused({}, "a message must be an object");
  const Object whole = message.whole();
  message.id = whole.id("id");
  message.method = whole.text("method").value_or("");
  const auto is_there = [&](std::string_view field) { return message.tree.find(0, field); };
  if (!is_there("method") && (is_there("result") || is_there("error"))) {
    message.kind = Message::Kind::kResponse;
  } else if (!is_there("id")) {
    message.kind = Message::Kind::kNotification;
  }
  std::string wrong = what_is_wrong(whole, message);
  if (!wrong.empty()) return refused(message.id, std::move(wrong));
  return message;
}

std::string result_line(const Id& id, const std::function<void(JsonWriter&)>& members) {
  JsonWriter out;
  begin_line(out).plain_key("id").json(id.json).plain_key("result").begin_object();
  members(out);
  return end_line(out.end_object());
}

std::string error_line(const std::optional<Id>& id, const Fault& fault) {
  JsonWriter out;
  begin_line(out);
  if (id) out.plain_key("id").json(id->json);
  out.plain_key("error").begin_object();
  out.plain_key("code").integer(static_cast<int>(fault.code));
  out.plain_key("message").text(fault.message);
  if (!fault.data.empty()) out.plain_key("data").json(fault.data);
  return end_line(out.end_object());
}

std::string notification_line(std::string_view method, std::string_view params) {
  JsonWriter out;
  begin_line(out).plain_key("method").text(method).plain_key("params").json(params);
  return end_line(out);
}

std::string request_line(std::uint64_t id, std::string_view method, std::string_view params) {
  JsonWriter out;
  begin_line(out).plain_key("id").number(id).plain_key("method").text(method);
  out.plain_key("params").json(params);
  return end_line(out);
}

}  // namespace berth::mcp
