// SPDX-License-Identifier: Apache-2.0
// JSON Schemas of structs, made from their tables of fields (base/fields.h): for OpenAPI, and for
// tools of agents. They say what wire/field_reader.h takes and wire/field_writer.h writes. Any
// thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "base/words.h"
#include "model/request.h"
#include "wire/field_writer.h"
#include "wire/hello.h"
#include "wire/limits.h"

namespace berth::wire {

enum class SchemaFor : std::uint8_t {
  kOpenApi,  // Structs that have a name are referred to by it; a field may be null instead of
             // absent.
  kTool,     // All in one, and no more forms of a thing than one: models take what is simple.
};

/// What is to be said of one value. Empty: nothing.
struct ValueSchema {
  std::vector<std::string> types = {};
  std::string format = {};
  std::string noun = {};  // Of a struct that is described elsewhere; there is nothing else then.
  std::string doc = {};
  std::optional<std::uint64_t> minimum = {};
  std::optional<std::uint64_t> maximum = {};
  std::vector<std::string> words = {};
  bool may_be_null = false;
  std::string items = {};  // JSON, as the next two.
  std::string properties = {};
  std::string values = {};  // Of an object whose keys may be any.
  std::vector<std::string> required = {};
  bool is_closed = false;  // It has no other properties.
};
std::string schema_text(const ValueSchema& schema);
/// Of a list with blanks between them.
std::vector<std::string> words_in(std::string_view list);

template <class T>
struct Of {};
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <Sides kSide>
class SchemaMaker {
 public:
  explicit SchemaMaker(SchemaFor whom) : whom_(whom) {}

  template <HasFields T>
  ValueSchema object() const {
    constexpr const Noun& kNoun = kFieldsOf<T>.noun;
    ValueSchema schema = {.types = {"object"}, .doc = std::string(kNoun.doc)};
    JsonWriter properties;
    properties.begin_object();
    if (!kNoun.schema.empty()) {
      properties.plain_key("schema").begin_object();
      properties.plain_key("const").plain_text(kNoun.schema).end_object();
      schema.required.emplace_back("schema");
    }
    add_fields<T>(properties, schema.required);
    schema.properties = properties.end_object().take();
    schema.is_closed = kSide == side::kBody;
    return schema;
  }

 private:
  template <HasFields T>
  void add_fields(JsonWriter& properties, std::vector<std::string>& required) const {
    for_each_field<T, kSide>([&](auto at) {
      using At = decltype(at);
      constexpr const auto& kField = At::kField;
      using Value = decltype(value_of<At>(std::declval<const T&>()));
      if constexpr (kIsSpliced<std::remove_cvref_t<decltype(kField.place)>>) {
        add_fields<Value>(properties, required);
      } else if constexpr (std::is_same_v<typename ElementOf<Value>::Type, UserId>) {
        add_user(properties, required, kField, kIsOptional<Value>);
      } else {
        const bool is_required = kSide == side::kAnswer || kField.is_required(kSide);
        const bool is_left_out = kField.is_left_out(side::kAnswer);
        ValueSchema schema = of(Of<Value>(), kField);
        if (!kField.words.empty()) schema.words = words_in(kField.words);
        schema.may_be_null = may_be_null<At, Value>();
        if (schema.doc.empty()) schema.doc = kField.doc;
        properties.key(kField.wire.text()).json(schema_text(schema));
        if (is_required && !is_left_out) required.emplace_back(kField.wire.text());
      }
    });
  }

  // The name, and the uid beside it.
  static void add_user(JsonWriter& properties, std::vector<std::string>& required,
                       const FieldRules& rules, bool may_be_nobody) {
    const std::string name(rules.wire.text());
    const ValueSchema of_name = {
        .types = {"string"}, .doc = std::string(rules.doc), .may_be_null = true};
    const ValueSchema of_id = {.types = {"integer"},
                               .doc = may_be_nobody ? "The uid; null: nobody's." : "The uid.",
                               .may_be_null = may_be_nobody};
    properties.key(name).json(schema_text(of_name));
    properties.key(name + "_id").json(schema_text(of_id));
    required.push_back(name);
    required.push_back(name + "_id");
  }

  template <class At, class Value>
  bool may_be_null() const {
    constexpr const auto& kField = At::kField;
    if (kField.is_left_out(side::kAnswer)) return false;
    if (kSide == side::kBody) return whom_ == SchemaFor::kOpenApi && !kField.is_required(kSide);
    constexpr bool kIsText =
        std::is_same_v<Value, std::string> && !kField.is_always_written(side::kAnswer);
    return kIsOptional<Value> || kIsText || kField.default_is_null || kField.secret != Secret::kNo;
  }

  template <class At, class T>
  static auto value_of(const T& object) {
    if constexpr (requires { At::kField.place.get(object); }) {
      return At::kField.place.get(object);
    } else {
      return At::kField.place.get(object, Extras());
    }
  }

  // ---- One value. `rules` are those of its field: bounds for numbers of a body.

  static ValueSchema number(const FieldRules& rules, std::uint64_t most) {
    ValueSchema schema = {.types = {"integer"}};
    if (kSide == side::kBody || rules.min > 0) schema.minimum = rules.min;
    const std::uint64_t bound = std::min(rules.max, most);
    if (kSide == side::kBody && bound <= limits::kVramMax.value) schema.maximum = bound;
    return schema;
  }

  ValueSchema of(Of<bool>, const FieldRules& /*rules*/) const { return {.types = {"boolean"}}; }
  ValueSchema of(Of<double>, const FieldRules& /*rules*/) const { return {.types = {"number"}}; }
  template <std::integral T>
  ValueSchema of(Of<T>, const FieldRules& rules) const {
    if (kSide == side::kAnswer && std::is_signed_v<T>) return {.types = {"integer"}};
    return number(rules, std::numeric_limits<T>::max());
  }
  ValueSchema of(Of<Bytes>, const FieldRules& rules) const {
    return number(rules, limits::kVramMax.value);
  }
  ValueSchema of(Of<Duration>, const FieldRules& rules) const {
    return number(rules, static_cast<std::uint64_t>(limits::kDurationMax.ns / 1'000'000));
  }
  ValueSchema of(Of<UnixMs>, const FieldRules& /*rules*/) const {
    return {.types = {"string"}, .format = "date-time"};
  }
  ValueSchema of(Of<LeaseId>, const FieldRules& rules) const {
    return number(rules, std::numeric_limits<std::uint64_t>::max());
  }
  template <class T>
    requires std::is_same_v<T, Handle> || std::is_same_v<T, DeviceId> ||
             std::is_same_v<T, std::string> || std::is_same_v<T, ApiVersion>
  ValueSchema of(Of<T>, const FieldRules& /*rules*/) const {
    return {.types = {"string"}};
  }
  ValueSchema of(Of<Thousandths>, const FieldRules& /*rules*/) const {
    return {.types = {"number"}};
  }
  template <class... T>
  ValueSchema of(Of<std::variant<std::monostate, T...>>, const FieldRules& rules) const {
    return {.types = {of(Of<T>(), rules).types.front()..., "null"}};
  }
  ValueSchema of(Of<DeviceName>, const FieldRules& /*rules*/) const {
    return {.types = {"integer", "string"}, .doc = "An index in PCI order, or a UUID."};
  }
  ValueSchema of(Of<std::variant<std::uint64_t, std::string>>, const FieldRules& /*rules*/) const {
    return {.types = {"integer", "string"}};
  }
  template <HasWords Enum>
  ValueSchema of(Of<Enum>, const FieldRules& /*rules*/) const {
    const auto& texts = kTextsOf<Enum>;
    return {.types = {"string"}, .words = {texts.begin(), texts.end()}};
  }
  ValueSchema of(Of<std::map<std::string, std::string>>, const FieldRules& /*rules*/) const {
    return {.types = {"object"}, .values = R"({"type":"string"})"};
  }
  template <class T>
  ValueSchema of(Of<std::vector<T>>, const FieldRules& rules) const {
    return {.types = {"array"}, .items = schema_text(of(Of<T>(), rules))};
  }
  template <class T>
  ValueSchema of(Of<std::optional<T>>, const FieldRules& rules) const {
    return of(Of<T>(), rules);
  }
  template <HasFields T>
  ValueSchema of(Of<T>, const FieldRules& rules) const {
    if (rules.is_words) {
      ValueSchema word = {.types = {"string"}};
      for_each_field<T, kSide>(
          [&](auto at) { word.words.emplace_back(decltype(at)::kField.wire.text()); });
      return {.types = {"array"}, .items = schema_text(word)};
    }
    constexpr std::string_view kName = kFieldsOf<T>.noun.name;
    if (whom_ == SchemaFor::kTool || kName.empty()) return object<T>();
    return {.noun = std::string(kName)};
  }

  const SchemaFor whom_;
};

/// The schema of a struct as a whole, in one line.
template <Sides kSide, HasFields T>
std::string schema_of(SchemaFor whom) {
  return schema_text(SchemaMaker<kSide>(whom).template object<T>());
}

}  // namespace berth::wire
