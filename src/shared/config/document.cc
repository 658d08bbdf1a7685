// SPDX-License-Identifier: Apache-2.0
#include "config/document.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "config/load.h"
#include "config/toml_library.h"

namespace berth::config {
namespace {

constexpr std::size_t kShownMax = 60;  // Letters of a wrong value that a message repeats.

std::string quoted(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, kShownMax)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    shown += control ? '?' : c;
  }
  // A cut may leave the beginning of a letter of several bytes.
  if (text.size() > kShownMax) {
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0U) == 0x80U) {
      shown.pop_back();
    }
    if (static_cast<unsigned char>(shown.back()) >= 0xC0U) shown.pop_back();
    shown += "…";
  }
  return shown + "'";
}

Position position_of(const toml::source_region& source) {
  return {.line = std::max(source.begin.line, 1U), .column = std::max(source.begin.column, 1U)};
}

Given given_of(const toml::node& node);

Given::Table table_of(const toml::table& table) {
  Given::Table entries;
  for (const auto& [key, node] : table) {
    entries.push_back(
        {.key = std::string(key.str()), .at = position_of(key.source()), .given = given_of(node)});
  }
  // The library keeps keys by name; problems are told in the order in which they are read.
  std::ranges::stable_sort(
      entries, {}, [](const Entry& entry) { return std::pair(entry.at.line, entry.at.column); });
  return entries;
}

Given given_of(const toml::node& node) {
  Given given{.value = Given::Other{}, .at = position_of(node.source())};
  if (const auto* table = node.as_table()) {
    given.value = table_of(*table);
  } else if (const auto* array = node.as_array()) {
    Given::List list;
    for (const toml::node& element : *array) list.push_back(given_of(element));
    given.value = std::move(list);
  } else if (const auto* text = node.as_string()) {
    given.value = text->get();
  } else if (const auto* integer = node.as_integer()) {
    given.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    given.value = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    given.value = boolean->get();
  } else {
    given.value = Given::Other{.kind = node.is_time() ? "a time" : "a date"};
  }
  return given;
}

}  // namespace

std::string Given::shown() const {
  struct Shown {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double) const { return "a number with a fraction"; }
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(const List&) const { return "a list"; }
    std::string operator()(const Table&) const { return "a table"; }
    std::string operator()(const Other& other) const { return other.kind; }
  };
  return std::visit(Shown{}, value);
}

std::variant<Given::Table, Problem> parse_toml(const std::string& file, std::string_view text) {
  if (text.size() > kFileMax) {
    return Problem{.where = file,
                   .line = 1,
                   .column = 1,
                   .message = "has more than " + std::to_string(kFileMax) + " bytes"};
  }
  try {
    return table_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const Position at = position_of(error.source());
    return Problem{.where = file,
                   .line = at.line,
                   .column = at.column,
                   .message = "is no valid TOML: " + std::string(error.description())};
  }
}

}  // namespace berth::config
