// SPDX-License-Identifier: Apache-2.0
// The OpenAPI file and docs/protocol.md say what the code does: same routes, same fields in the
// same order, same words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "base/sample_for_test.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/history.h"
#include "wire/request.h"
#include "wire/routes.h"
#include "wire/samples_for_test.h"
#include "wire/schemas_for_test.h"
#include "wire/sse.h"

namespace berth::wire {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string contents(const std::string& path) {
  std::ifstream file(BERTH_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const Json& openapi() {
  static const Json kFile = Json::parse(contents("share/openapi.json"));
  return kFile;
}

const Json& schema_named(const std::string& name) {
  return openapi().at("components").at("schemas").at(name);
}

Json resolved(const Json& schema) {
  if (!schema.contains("$ref")) return schema;
  const std::string pointer = schema.at("$ref").get<std::string>().substr(1);
  return openapi().at(Json::json_pointer(pointer));
}

std::string type_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

bool has_type(const Json& schema, const std::string& type) {
  if (!schema.contains("type")) return true;
  const Json& types = schema.at("type");
  return types.is_array() ? std::ranges::find(types, Json(type)) != types.end() : types == type;
}

void check(const Json& schema_or_reference, const Json& value, const std::string& where);

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

void check_object(const Json& schema, const Json& value, const std::string& where) {
  const Json properties = schema.value("properties", Json::object());
  std::vector<std::string> described;
  for (const auto& [key, property] : properties.items()) {
    if (value.contains(key)) described.push_back(key);
  }
  for (const auto& [key, inner] : value.items()) {
    std::string place = where;
    place.append(".").append(key);
    if (properties.contains(key)) {
      check(properties.at(key), inner, place);
    } else {
      ASSERT_TRUE(schema.contains("additionalProperties") &&
                  schema.at("additionalProperties").is_object())
          << place << " is not described";
      check(schema.at("additionalProperties"), inner, place);
      described.push_back(key);
    }
  }
  for (const Json& required : schema.value("required", Json::array())) {
    EXPECT_TRUE(value.contains(required.get<std::string>())) << where << " lacks " << required;
  }
  if (properties.empty()) return;
  EXPECT_EQ(keys_of(value), described) << where << ": order of fields";
}

// As much of JSON Schema as the file uses.
void check(const Json& schema_or_reference, const Json& value, const std::string& where) {
  const Json& schema = resolved(schema_or_reference);
  if (schema.contains("anyOf")) {
    for (const Json& branch : schema.at("anyOf")) {
      if (has_type(resolved(branch), type_of(value))) return check(branch, value, where);
    }
    FAIL() << where << " is " << value;
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema.at("const")) << where;
  }
  EXPECT_TRUE(has_type(schema, type_of(value))) << where << " is " << value;
  if (schema.contains("enum")) {
    const Json& words = schema.at("enum");
    EXPECT_TRUE(std::ranges::find(words, value) != words.end()) << where << " is " << value;
  }
  if (value.is_array()) {
    for (const Json& element : value) check(schema.at("items"), element, where + "[]");
  }
  if (value.is_object()) check_object(schema, value, where);
}

void check_named(const std::string& name, const std::string& text) {
  check(schema_named(name), Json::parse(text), name);
}

// Every property that the schema names is in `text`, so that none is described that is never sent.
void expect_complete(const std::string& name, const std::string& text) {
  const Json value = Json::parse(text);
  for (const auto& [key, property] : schema_named(name).at("properties").items()) {
    EXPECT_TRUE(value.contains(key)) << name << "." << key << " is never sent";
  }
}

const Viewer& anna() {
  static const Viewer kAnna = {.user = samples::kAnna, .names = samples::names()};
  return kAnna;
}

TEST(OpenApi, IsAsTheTablesOfRoutesAndFields) {
  const std::string path = BERTH_SOURCE_DIR "/share/openapi.json";
  Json file = Json::parse(contents("share/openapi.json"));
  file["paths"] = schemas::paths();
  schemas::put_all(file.at("components").at("schemas"));
  const std::string expected = schemas::printed(file) + "\n";
  if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(contents("share/openapi.json"), expected) << "run wire_test with BERTH_UPDATE=1";
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const std::string text = openapi().dump();
  const std::string sign = R"("$ref":"#)";
  std::size_t count = 0;
  for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1)) {
    const std::size_t from = at + sign.size();
    const Json::json_pointer pointer(text.substr(from, text.find('"', from) - from));
    EXPECT_TRUE(openapi().contains(pointer)) << pointer.to_string();
    ++count;
  }
  EXPECT_GT(count, 50U);
  for (const auto& [name, schema] : openapi().at("components").at("schemas").items()) {
    EXPECT_THAT(text, HasSubstr("#/components/schemas/" + name + "\"")) << name << " is not used";
  }
}

template <class... Body>
void expect_bodies_described(const std::variant<Body...>* /*all*/) {
  const auto expect_described = [](const std::string& name, const std::string& text) {
    check_named(name, text);
    expect_complete(name, text);
    EXPECT_EQ(schema_named(name).at("additionalProperties"), false) << name;
  };
  (expect_described(std::string(kFieldsOf<Body>.noun.name), encode(full_sample<Body>())), ...);
}

TEST(OpenApi, DescribesTheRequestsThatAreSent) {
  expect_bodies_described(static_cast<AnyBody*>(nullptr));
  check_named("Request", encode(samples::request()));
}

// What the schema of a request describes and no other field is read; null counts as absent.
TEST(OpenApi, DescribesTheRequestsThatAreRead) {
  Json all_null = Json::object();
  for (const auto& [key, property] : schema_named("Request").at("properties").items()) {
    all_null[key] = nullptr;
  }
  EXPECT_TRUE(decode<RequestBody>(all_null.dump()).ok());
}

TEST(OpenApi, DescribesTheAnswers) {
  const Environment env = {{"BERTH_LEASE", "12"}};
  const Refusal refusal = {RefusalCode::kBusy, "m"};
  const std::string lease =
      encode_lease(samples::held(), anna(), {.env = &env, .refusal = &refusal});
  check_named("Lease", lease);
  expect_complete("Lease", lease);
  check_named("Lease", encode_lease(samples::waiting(), anna()));
  check_named("Lease", encode_lease(samples::ended(), anna()));
  const std::string page = encode_leases({{}, {samples::held()}, LeaseId{12}}, anna());
  check_named("LeaseList", page);
  expect_complete("LeaseList", page);
  check_named("Queue", encode_queue({{}, {samples::waiting()}}, anna()));
  check_named("DeviceList", encode_devices({.items = {samples::device_view(), {}}}, {}));
  check_named("Status", encode_status(samples::status(), anna()));
  check_named("Why", encode_why(samples::why(), samples::names()));
  check_named("Fit", encode_fit(samples::fit(), samples::names()));
  const UnmanagedNews news = {.device = samples::device(1),
                              .unmanaged_process = {.name = "firefox"}};
  check_named("UnmanagedNews", encode_unmanaged(news, {}));
  expect_complete("UnmanagedNews", encode_unmanaged(news, {}));
  for (const auto unit : {Alert::Unit::kShare, Alert::Unit::kBytes}) {
    Alert alert = samples::alert();
    alert.unit = unit;
    check_named("Alert", encode_alert(alert));
    expect_complete("Alert", encode_alert(alert));
  }
  check_named("Alert", encode_alert({}));
  check_named("AlertList", encode_alerts({.time = {}, .items = {samples::rule(), {}}}));
  expect_complete("AlertRule",
                  Json::parse(encode_alerts({.time = {}, .items = {{}}})).at("items").at(0).dump());
  check_named(
      "AlertTest",
      encode_alert_test(
          {.rule = "r", .outcomes = {Delivered{.channel = "events", .outcome = "nobody"}}}));
  check_named("Version", encode_version({.version = "0.1.0", .world = "real"}));
  check_named("Daemon", encode_daemon(samples::daemon()));
  check_named("Daemon", encode_daemon({}));
  check_named("Health", R"({"status":"ok"})");
  check_named("Past", encode_past({samples::past(), samples::past_facts()}));
  check_named("Audit", encode_audit({{{.by = samples::kAnna, .lease = LeaseId{1}}, {}},
                                     samples::past_facts()}));
  check_named("Sessions", encode_sessions({samples::sessions(), samples::past_facts()}));
  for (const std::string_view word : error_words()) {
    check_named("Error", encode_error({std::string(word), "m"}));
  }
}

// The closed sets are in the file word for word: each word of the code is allowed, and there are as
// many.
TEST(OpenApi, ListsTheWords) {
  const auto count = [](const std::string& pointer) {
    const Json& words = openapi().at(Json::json_pointer("/components/schemas/" + pointer));
    return words.size() - (words.back().is_null() ? 1 : 0);
  };
  EXPECT_EQ(count("Lease/properties/state/enum"), 5U);
  EXPECT_EQ(count("Lease/properties/result/enum"), 9U);
  EXPECT_EQ(count("ErrorBody/properties/code/enum"), error_words().size());
  LeaseView lease = samples::held();
  lease.flags = {true, true, true, true, true, true, true,
                 true, true, true, true, true, true, true};
  EXPECT_EQ(count("Lease/properties/flags/items/enum"), words(lease.flags).size());
  check_named("Lease", encode_lease(lease, anna()));
  for (int i = 0; i < 5; ++i) {
    lease.state = static_cast<LeaseState>(i);
    check_named("Lease", encode_lease(lease, anna()));
  }
  for (int i = 0; i < 9; ++i) {
    lease.result = static_cast<EndResult>(i);
    check_named("Lease", encode_lease(lease, anna()));
  }
  WhyView why = samples::why();
  for (int i = 0; i <= static_cast<int>(WhyView::Reason::kNotReturned); ++i) {
    why.reason = static_cast<WhyView::Reason>(i);
    check_named("Why", encode_why(why, {}));
  }
  EXPECT_EQ(count("Why/properties/reason/enum"),
            static_cast<std::size_t>(WhyView::Reason::kNotReturned) + 1);
  for (int i = 0; i <= static_cast<int>(Remedy::Kind::kReleaseLease); ++i) {
    why.remedies[0].kind = static_cast<Remedy::Kind>(i);
    check_named("Why", encode_why(why, {}));
  }
  for (int i = 0; i < 3; ++i) {
    why.limit = LoweredLimit{.kind = static_cast<LoweredLimit::Kind>(i), .allowed = 1, .asked = 2};
    check_named("Why", encode_why(why, {}));
  }
  for (int i = 0; i <= static_cast<int>(Halt::Reason::kNotReturned); ++i) {
    why.halt = samples::halt();
    why.halt->reason = static_cast<Halt::Reason>(i);
    check_named("Why", encode_why(why, samples::names()));
  }
}

TEST(OpenApi, ListsTheWordsOfThePast) {
  const auto words_of = [](const std::string& field) {
    return schema_named("PastPoint").at("properties").at(field).at("enum");
  };
  EXPECT_EQ(words_of("figure"), Json(texts_of<history::Figure>()));
  EXPECT_EQ(words_of("of"), Json(texts_of<history::Kind>()));
}

TEST(ProtocolPage, ListsRoutesErrorsAndEvents) {
  const std::string page = contents("docs/protocol.md");
  for (const RouteRow& row : kRoutes) {
    EXPECT_THAT(page,
                HasSubstr("| `" + std::string(to_text(row.method)) + " " + std::string(row.path)));
  }
  for (const std::string_view word : error_words()) {
    EXPECT_THAT(page,
                HasSubstr("| `" + std::string(word) + "` | " + std::to_string(http_status(word)) +
                          " | " + std::to_string(static_cast<int>(exit_code(word))) + " |"));
  }
  for (int i = 0; i <= static_cast<int>(EventName::kDetached); ++i) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(to_text(static_cast<EventName>(i))) + "`"));
  }
}

}  // namespace
}  // namespace berth::wire
