// SPDX-License-Identifier: Apache-2.0
#include "wire/schema.h"

#include <algorithm>

namespace berth::wire {
namespace {

void write_texts(JsonWriter& out, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) out.text(text);
}

// Of two types beside null each has a branch: not every reader of schemas knows lists of types.
void write_types(JsonWriter& out, const ValueSchema& schema) {
  std::vector<std::string> types = schema.types;
  if (schema.may_be_null) types.emplace_back("null");
  if (std::ranges::count_if(types, [](const auto& type) { return type != "null"; }) > 1) {
    out.plain_key("anyOf").begin_array();
    for (const std::string& type : types) {
      out.begin_object().plain_key("type").text(type).end_object();
    }
    out.end_array();
    return;
  }
  out.plain_key("type");
  if (types.size() == 1) {
    out.text(types.front());
    return;
  }
  out.begin_array();
  write_texts(out, types);
  out.end_array();
}

void write_reference(JsonWriter& out, const ValueSchema& schema) {
  const std::string path = "#/components/schemas/" + schema.noun;
  if (!schema.may_be_null) {
    out.plain_key("$ref").text(path);
    return;
  }
  out.plain_key("anyOf").begin_array();
  out.begin_object().plain_key("$ref").text(path).end_object();
  out.begin_object().plain_key("type").plain_text("null").end_object().end_array();
}

// A word that is empty is said by null, where that is allowed.
void write_words(JsonWriter& out, const ValueSchema& schema) {
  out.plain_key("enum").begin_array();
  for (const std::string& word : schema.words) {
    if (!word.empty() || !schema.may_be_null) out.text(word);
  }
  if (schema.may_be_null) out.null();
  out.end_array();
}

}  // namespace

std::string schema_text(const ValueSchema& schema) {
  JsonWriter out;
  out.begin_object();
  schema.noun.empty() ? write_types(out, schema) : write_reference(out, schema);
  if (!schema.format.empty()) out.plain_key("format").text(schema.format);
  if (!schema.doc.empty()) out.plain_key("description").text(schema.doc);
  if (schema.minimum) out.plain_key("minimum").number(*schema.minimum);
  if (schema.maximum) out.plain_key("maximum").number(*schema.maximum);
  if (!schema.words.empty()) write_words(out, schema);
  if (!schema.items.empty()) out.plain_key("items").json(schema.items);
  if (!schema.properties.empty()) out.plain_key("properties").json(schema.properties);
  if (!schema.values.empty()) out.plain_key("additionalProperties").json(schema.values);
  if (!schema.required.empty()) {
    out.plain_key("required").begin_array();
    write_texts(out, schema.required);
    out.end_array();
  }
  if (schema.is_closed) out.plain_key("additionalProperties").boolean(false);
  return out.end_object().take();
}

std::vector<std::string> words_in(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    if (!word.empty()) words.emplace_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return words;
}

}  // namespace berth::wire
