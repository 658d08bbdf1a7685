// SPDX-License-Identifier: Apache-2.0
// The texts of OpenAPI, made from the tables of fields and of routes, for the test that keeps
// share/openapi.json up to date. Not part of a program.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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
#include "wire/history.h"
#include "wire/live.h"
#include "wire/own_programs.h"
#include "wire/request.h"
#include "wire/schema.h"

namespace berth::wire::schemas {

using Json = nlohmann::ordered_json;

inline Json reference_to(std::string_view noun) {
  return {{"$ref", "#/components/schemas/" + std::string(noun)}};
}

template <Sides kSide, HasFields T>
Json schema_of() {
  return Json::parse(wire::schema_of<kSide, T>(SchemaFor::kOpenApi));
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
              YieldedTo, Progress, ProgressPoint, ProgressCourse, Stray, DeviceView,
              UnmanagedProcess, UnmanagedNews, DeviceList, StatusAnswer, WhyView, Shortage, Holder,
              HeldThere, Remedy, LoweredLimit, FitView, DaemonView, history::Session, LeaseList,
              LeaseQueue, PastAnswer, PastPoint, SessionsAnswer, AuditAnswer, AuditEntry,
              ServerHello, Alert, Alert::Subject, Alert::Action, Delivered, RuleStateView, RuleView,
              AlertTest, AlertList, LiveViewer, LiveSnapshot, LiveChange, JobLog, DoctorFinding,
              DoctorReport, DashboardCode, ApiError>(schemas);
  schemas["ErrorBody"]["properties"]["code"]["enum"] = error_words();
  Json& lease = schemas["Lease"]["properties"];  // What some answers add.
  lease["env"] = {{"type", "object"},
                  {"description",
                   "In answers to claim and join: variables for the command, all named CUDA_*, "
                   "NVIDIA_* or BERTH_*."},
                  {"additionalProperties", {{"type", "string"}}}};
  lease["refusal"] = reference_to("ErrorBody");
  lease["refusal"]["description"] = "In the event `ended` of a request that got no grant: why.";
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
  for (const std::string& name : words_in(row.query)) {
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
  for (const std::string& noun : words_in(row.stream_of)) nouns.push_back(reference_to(noun));
  const Json schema = {
      {"type", "string"},
      {"description", row.stream_doc},
      {"contentSchema", nouns.size() == 1 ? nouns.front() : Json{{"anyOf", nouns}}}};
  return {{"schema", schema}};
}

inline Json responses_of(const RouteRow& row) {
  const bool only_streams = row.answer.empty() && !row.stream_of.empty();
  const std::string_view done = row.answer == "Lease" ? "The lease." : "Done.";
  const bool is_json = row.media == "application/json";
  const Json answer = !is_json             ? Json{{"type", "string"}}
                      : row.answer.empty() ? Json{{"type", "object"}}
                                           : reference_to(row.answer);
  Json responses = Json::object();
  Json& told = responses[std::to_string(row.status)];
  told["description"] = row.answer_doc.empty() ? done : row.answer_doc;
  if (!only_streams) told["content"][std::string(row.media)] = {{"schema", answer}};
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
