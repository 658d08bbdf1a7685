// SPDX-License-Identifier: Apache-2.0
// The texts of OpenAPI, made from the tables of fields and of routes, for the test that keeps
// share/openapi.json up to date. Not part of a program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/history.h"
#include "model/routes.h"
#include "model/view.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/field_writer.h"
#include "wire/history.h"
#include "wire/limits.h"
#include "wire/request.h"

namespace berth::wire::schemas {

using Json = nlohmann::ordered_json;

inline std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> all;
  for (const auto word : std::views::split(words, ' ')) {
    if (!word.empty()) all.emplace_back(std::string_view(word));
  }
  return all;
}

inline Json reference_to(std::string_view noun) {
  return {{"$ref", "#/components/schemas/" + std::string(noun)}};
}

// ---- One value. `Rules` are those of its field: bounds for numbers of a body.

template <Sides kSide>
Json number(const FieldRules& rules, std::uint64_t most) {
  Json schema = {{"type", "integer"}};
  if (kSide == side::kBody || rules.min > 0) schema["minimum"] = rules.min;
  const std::uint64_t bound = std::min(rules.max, most);
  if (kSide == side::kBody && bound <= limits::kVramMax.value) schema["maximum"] = bound;
  return schema;
}

template <class T>
struct Of {};

template <Sides kSide>
Json of(Of<bool>, const FieldRules&) {
  return {{"type", "boolean"}};
}
template <Sides kSide, std::integral T>
Json of(Of<T>, const FieldRules& rules) {
  if (kSide == side::kAnswer && std::is_signed_v<T>) return {{"type", "integer"}};
  return number<kSide>(rules, std::numeric_limits<T>::max());
}
template <Sides kSide>
Json of(Of<Bytes>, const FieldRules& rules) {
  return number<kSide>(rules, limits::kVramMax.value);
}
template <Sides kSide>
Json of(Of<Duration>, const FieldRules& rules) {
  return number<kSide>(rules, static_cast<std::uint64_t>(limits::kDurationMax.ns / 1'000'000));
}
template <Sides kSide>
Json of(Of<UnixMs>, const FieldRules&) {
  return {{"type", "string"}, {"format", "date-time"}};
}
template <Sides kSide>
Json of(Of<LeaseId>, const FieldRules& rules) {
  return number<kSide>(rules, std::numeric_limits<std::uint64_t>::max());
}
template <Sides kSide>
Json of(Of<Handle>, const FieldRules&) {
  return {{"type", "string"}};
}
template <Sides kSide>
Json of(Of<DeviceId>, const FieldRules&) {
  return {{"type", "string"}};
}
template <Sides kSide>
Json of(Of<std::string>, const FieldRules&) {
  return {{"type", "string"}};
}
template <Sides kSide>
Json of(Of<ApiVersion>, const FieldRules&) {
  return {{"type", "string"}};
}
template <Sides kSide>
Json of(Of<Thousandths>, const FieldRules&) {
  return {{"type", "number"}};
}
template <Sides kSide, class... T>
Json of(Of<std::variant<std::monostate, T...>>, const FieldRules& rules) {
  return {{"type", {of<kSide>(Of<T>(), rules)["type"]..., "null"}}};
}
template <Sides kSide>
Json of(Of<DeviceName>, const FieldRules&) {
  return {{"type", {"integer", "string"}}, {"description", "An index in PCI order, or a UUID."}};
}
template <Sides kSide, HasWords Enum>
Json of(Of<Enum>, const FieldRules&) {
  return {{"type", "string"}, {"enum", texts_of<Enum>()}};
}
template <Sides kSide>
Json of(Of<std::map<std::string, std::string>>, const FieldRules&) {
  return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
}
template <Sides kSide, class T>
Json of(Of<std::vector<T>>, const FieldRules& rules) {
  return {{"type", "array"}, {"items", of<kSide>(Of<T>(), rules)}};
}
template <Sides kSide, class T>
Json of(Of<std::optional<T>>, const FieldRules& rules) {
  return of<kSide>(Of<T>(), rules);
}
template <Sides kSide, HasFields T>
Json schema_of();

template <Sides kSide, HasFields T>
Json of(Of<T>, const FieldRules& rules) {
  constexpr std::string_view kName = kFieldsOf<T>.noun.name;
  if (!rules.is_words) return kName.empty() ? schema_of<kSide, T>() : reference_to(kName);
  Json words = Json::array();
  for_each_field<T, kSide>([&](auto at) { words.push_back(decltype(at)::kField.wire.text()); });
  return {{"type", "array"}, {"items", {{"type", "string"}, {"enum", words}}}};
}

inline Json with_null(Json schema) {
  if (schema.contains("$ref")) return {{"anyOf", {schema, {{"type", "null"}}}}};
  schema["type"] = {schema["type"], "null"};
  if (!schema.contains("enum")) return schema;
  Json& words = schema["enum"];
  if (words.front() == "") words.erase(0);  // What is said by null.
  words.push_back(nullptr);
  return schema;
}

/// With the description behind type and format, where a reader looks for it.
inline Json described(const Json& schema, std::string_view doc) {
  Json out;
  for (const char* first : {"type", "format", "$ref", "anyOf"}) {
    if (schema.contains(first)) out[first] = schema[first];
  }
  if (!doc.empty()) out["description"] = doc;
  for (const auto& [key, value] : schema.items()) out[key] = value;
  return out;
}

// ---- A struct.

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class At, class T>
auto value_of(const T& object) {
  if constexpr (requires { At::kField.place.get(object); }) {
    return At::kField.place.get(object);
  } else {
    return At::kField.place.get(object, Extras());
  }
}

template <Sides kSide, HasFields T>
void add_fields(Json& properties, Json& required) {
  for_each_field<T, kSide>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    using Value = decltype(value_of<decltype(at)>(std::declval<const T&>()));
    const std::string name(kField.wire.text());
    const bool is_required = kSide == side::kAnswer || kField.is_required(kSide);
    if constexpr (kIsSpliced<std::remove_cvref_t<decltype(kField.place)>>) {
      add_fields<kSide, Value>(properties, required);
    } else if constexpr (std::is_same_v<typename ElementOf<Value>::Type, UserId>) {
      constexpr bool kMayBeNobody = kIsOptional<Value>;
      const Json id = {{"type", "integer"}};
      properties[name] = described(with_null({{"type", "string"}}), kField.doc);
      properties[name + "_id"] = kMayBeNobody ? described(with_null(id), "The uid; null: nobody's.")
                                              : described(id, "The uid.");
      required.push_back(name);
      required.push_back(name + "_id");
    } else {
      constexpr bool kIsText =
          std::is_same_v<Value, std::string> && !kField.is_always_written(side::kAnswer);
      const bool may_be_null = kSide == side::kBody
                                   ? !is_required
                                   : kIsOptional<Value> || kIsText || kField.default_is_null ||
                                         kField.secret != Secret::kNo;
      constexpr bool kLeftOut = kField.is_left_out(side::kAnswer);
      Json schema = of<kSide>(Of<Value>(), kField);
      if (!kField.words.empty()) schema["enum"] = split(kField.words);
      const bool has_null = may_be_null && !kLeftOut;
      properties[name] = described(has_null ? with_null(schema) : schema, kField.doc);
      if (is_required && !kLeftOut) required.push_back(name);
    }
  });
}

template <Sides kSide, HasFields T>
Json schema_of() {
  constexpr const Noun& kNoun = kFieldsOf<T>.noun;
  Json schema = {{"type", "object"}};
  if (!kNoun.doc.empty()) schema["description"] = kNoun.doc;
  Json properties = Json::object();
  Json required = Json::array();
  if (!kNoun.schema.empty()) {
    properties["schema"] = {{"const", kNoun.schema}};
    required.push_back("schema");
  }
  add_fields<kSide, T>(properties, required);
  schema["properties"] = properties;
  if (!required.empty()) schema["required"] = required;
  if (kSide == side::kBody) schema["additionalProperties"] = false;
  return schema;
}

template <class... Body>
void put_bodies(Json& schemas, const std::variant<Body...>* /*all*/) {
  ((schemas[std::string(kFieldsOf<Body>.noun.name)] = schema_of<side::kBody, Body>()), ...);
}
template <class... Answer>
void put_answers(Json& schemas) {
  ((schemas[std::string(kFieldsOf<Answer>.noun.name)] = schema_of<side::kAnswer, Answer>()), ...);
}

/// Replaces those that tables tell of.
inline void put_all(Json& schemas) {
  put_bodies(schemas, static_cast<AnyBody*>(nullptr));
  put_bodies(schemas, static_cast<std::variant<CheckpointWay, MessageRule>*>(nullptr));
  put_answers<LeaseView, LeasePart, LeaseCheckpoint, CheckpointAsk, CheckpointEnd, MeasureTaken,
              Message, Predecessor, SetMember, SetProgress, Retries, Retry, Pause, OnHold, Halt,
              YieldedTo, Progress, Stray, DeviceView, UnmanagedProcess, UnmanagedNews, DeviceList,
              StatusAnswer, WhyView, Shortage, Holder, HeldThere, Remedy, LoweredLimit, FitView,
              DaemonView, history::Session, LeaseList, LeaseQueue, PastAnswer, PastPoint,
              SessionsAnswer, AuditAnswer, AuditEntry, ServerHello, Alert, Alert::Subject,
              Alert::Action, Delivered, RuleStateView, RuleView, AlertTest, AlertList, ApiError>(
      schemas);
  schemas["ErrorBody"]["properties"]["code"]["enum"] = error_words();
  Json& lease = schemas["Lease"]["properties"];  // What some answers add.
  lease["env"] = {{"type", "object"},
                  {"description",
                   "In answers to claim and join: variables for the command, all named CUDA_*, "
                   "NVIDIA_* or BERTH_*."},
                  {"additionalProperties", {{"type", "string"}}}};
  lease["refusal"] = described(reference_to("ErrorBody"),
                               "In the event `ended` of a request that got no grant: why.");
}

// ---- Routes.

inline Json reference_to_parameter(std::string_view name) {
  return {{"$ref", "#/components/parameters/" + std::string(name)}};
}

/// Its place in the path, what it takes in the query, and who asks.
inline Json parameters_of(const RouteRow& row) {
  Json parameters = Json::array();
  for (const auto& [place, name] :
       {std::pair{"{ref}", "Ref"}, {"{handle}", "Handle"}, {"{rule}", "Rule"}}) {
    if (row.path.contains(place)) parameters.push_back(reference_to_parameter(name));
  }
  for (const std::string& name : split(row.query)) {
    parameters.push_back(reference_to_parameter(name));
  }
  parameters.push_back(reference_to_parameter("Hello"));
  return parameters;
}

/// A body that says nothing may be left out, where it makes sense.
template <class... Body>
Json body_of(const RouteRow& row, const std::variant<Body...>* /*all*/) {
  constexpr std::array kNames = {kFieldsOf<Body>.noun.name...};
  const std::array may_be_empty = {decode<Body>("").ok()...};
  return {{"required", !may_be_empty.at(row.body)},
          {"content", {{"application/json", {{"schema", reference_to(kNames.at(row.body))}}}}}};
}

inline Json stream_of(const RouteRow& row) {
  Json nouns = Json::array();
  for (const std::string& noun : split(row.stream_of)) nouns.push_back(reference_to(noun));
  const Json schema = {
      {"type", "string"},
      {"description", row.stream_doc},
      {"contentSchema", nouns.size() == 1 ? nouns.front() : Json{{"anyOf", nouns}}}};
  return {{"schema", schema}};
}

inline Json responses_of(const RouteRow& row) {
  const bool only_streams = row.answer.empty() && !row.stream_of.empty();
  const std::string_view done = row.answer == "Lease" ? "The lease." : "Done.";
  const Json answer = row.answer.empty() ? Json{{"type", "object"}} : reference_to(row.answer);
  Json responses = Json::object();
  Json& told = responses[std::to_string(row.status)];
  told["description"] = row.answer_doc.empty() ? done : row.answer_doc;
  if (!only_streams) told["content"]["application/json"] = {{"schema", answer}};
  if (!row.stream_of.empty()) {
    Json& stream = responses["200"];
    if (!stream.contains("description")) {
      stream["description"] = "With `Accept: text/event-stream`: as it goes on.";
    }
    stream["content"]["text/event-stream"] = stream_of(row);
  }
  responses["default"] = {{"$ref", "#/components/responses/Error"}};
  return responses;
}

inline Json paths() {
  Json paths = Json::object();
  for (const RouteRow& row : kRoutes) {
    Json operation = {{"operationId", row.name}, {"summary", row.summary}};
    if (!row.doc.empty()) operation["description"] = row.doc;
    operation["parameters"] = parameters_of(row);
    if (row.method == Method::kPost) {
      operation["requestBody"] = body_of(row, static_cast<AnyBody*>(nullptr));
    }
    operation["responses"] = responses_of(row);
    const char* const method = row.method == Method::kPost ? "post" : "get";
    paths[std::string(row.path)][method] = operation;
  }
  return paths;
}

inline std::string in_one_line(const Json& value) {
  if (!value.is_structured()) return value.dump();
  std::string line;
  for (const auto& [key, item] : value.items()) {
    line += line.empty() ? "" : ", ";
    line += (value.is_object() ? Json(key).dump() + ": " : "") + in_one_line(item);
  }
  return value.is_object() ? "{" + line + "}" : "[" + line + "]";
}

/// A line for whatever fits into one, and for each item of what does not; words fill their lines.
inline std::string printed(const Json& value, std::size_t indent = 0, std::size_t before = 0) {
  constexpr std::size_t kColumns = 100;
  std::string line = in_one_line(value);
  if (!value.is_structured() || value.empty() || indent + before + line.size() < kColumns) {
    return line;
  }
  const bool are_words = value.is_array() && !value.front().is_structured();
  std::string text;
  std::size_t column = kColumns;
  for (const auto& [key, item] : value.items()) {
    const std::string name = value.is_object() ? Json(key).dump() + ": " : "";
    const std::string shown = name + printed(item, indent + 2, name.size());
    text += text.empty() ? "" : ",";
    if (are_words && column + shown.size() + 2 < kColumns) {
      text += " " + shown;
      column += shown.size() + 2;
    } else {
      text += "\n" + std::string(indent + 2, ' ') + shown;
      column = indent + 2 + shown.size();
    }
  }
  text += "\n" + std::string(indent, ' ');
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace berth::wire::schemas
