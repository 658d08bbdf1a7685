// SPDX-License-Identifier: Apache-2.0
#include "cli/render/items.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "cli/render/table.h"

namespace berth::cli {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string scalar(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : dumped(value);
}

bool is_scalar(const Json& value) {
  return !value.is_array() && !value.is_object();
}

// A device in a list is its index, or its UUID while it has none.
std::string element(const Json& value) {
  if (is_scalar(value)) return scalar(value);
  for (const char* key : {"index", "uuid"}) {
    if (value.is_object() && value.contains(key) && !value[key].is_null()) {
      return scalar(value[key]);
    }
  }
  return dumped(value);
}

// The text of one cell: lists with blanks between, pairs as key=value.
std::string cell_of(const Json& value) {
  if (is_scalar(value)) return scalar(value);
  std::string text;
  for (const auto& [key, part] : value.items()) {
    if (!text.empty()) text += ' ';
    text += value.is_object() ? key + "=" + element(part) : element(part);
  }
  return text;
}

// Spreadsheets take a cell that begins so for a formula (OWASP, «CSV Injection»).
bool is_formula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
}

std::string csv_cell(const Json& value, std::string text) {
  if (!value.is_number() && is_formula(text)) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string tsv_cell(const Json& value, std::string_view cell) {
  constexpr std::string_view kEscaped = "\t\n\r\\";
  constexpr std::string_view kLetters = "tnr\\";
  std::string text;
  for (const char c : cell) {
    const std::size_t at = kEscaped.find(c);
    if (at == std::string_view::npos) {
      text += c;
    } else {
      text.append("\\").append(1, kLetters[at]);
    }
  }
  return !value.is_number() && is_formula(text) ? "'" + text : text;
}

const Json& field_of(const Json& item, const std::string& name) {
  static const Json kNull;
  const auto found = item.find(name);
  return found == item.end() ? kNull : *found;
}

constexpr const char* kNoObject = "the daemon's answer is not a JSON object";

struct Items {
  Json whole;
  std::vector<Json> list;
  std::vector<std::string> known;   // All fields there are,
  std::vector<std::string> fields;  // and those to be shown.
};

std::vector<std::string> known_fields(const ItemSource& source) {
  const Json sample = parsed(source.sample.empty() ? source.json : source.sample);
  const Json* item = &sample;
  if (!source.items.empty() && sample.is_object()) {
    const auto found = sample.find(std::string(source.items));
    if (found == sample.end() || found->empty()) return {};
    item = &found->front();
  }
  std::vector<std::string> names;
  if (!item->is_object()) return names;
  for (const auto& entry : item->items()) names.push_back(entry.key());
  return names;
}

Status check_fields(const std::vector<std::string>& asked, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& field : asked) {
    if (std::ranges::count(names, field) > 0) continue;
    std::string message = "--fields: there is no field \"";
    message.append(field) += '"';
    if (auto meant = nearest(field, names)) message.append("; did you mean ").append(*meant) += '?';
    message.append("; there are ");
    for (const std::string_view name : names) {
      message.append(name == names.front() ? "" : ", ").append(name);
    }
    return Error{Errc::kInvalid, message};
  }
  return Unit{};
}

void take_wanted(const Json& page, const ItemSource& source, std::vector<Json>& list) {
  for (const Json& item : field_of(page, std::string(source.items))) {
    const Json& id = item.is_object() ? field_of(item, "id") : item;
    const bool wanted =
        !source.only || (id.is_number_unsigned() && source.only->contains(id.get<std::uint64_t>()));
    if (wanted && item.is_object()) list.push_back(item);
  }
}

Result<Items> read(const ItemSource& source, const OutputChoice& choice) {
  Items items{.whole = parsed(source.json)};
  if (!items.whole.is_object()) {
    return Error{Errc::kCorrupt, kNoObject};
  }
  items.known = known_fields(source);
  if (auto checked = check_fields(choice.fields, items.known); !checked.ok())
    return checked.error();
  items.fields = choice.fields.empty() ? items.known : choice.fields;
  if (source.items.empty()) {
    items.list.push_back(items.whole);
    return items;
  }
  for (const std::string& page : source.older | std::views::reverse) {
    const Json older = parsed(page);
    if (!older.is_object()) return Error{Errc::kCorrupt, kNoObject};
    take_wanted(older, source, items.list);
  }
  take_wanted(items.whole, source, items.list);
  if (!source.older.empty()) items.whole.erase("next");  // It is here.
  return items;
}

Json reduced(const Json& item, const OutputChoice& choice) {
  if (choice.fields.empty()) return item;
  Json part = Json::object();
  for (const std::string& field : choice.fields) part[field] = field_of(item, field);
  return part;
}

std::string as_json(Items items, const ItemSource& source, const OutputChoice& choice) {
  const int indent = source.on_terminal && !choice.watch ? 2 : -1;
  Json whole = source.items.empty() ? reduced(items.whole, choice) : std::move(items.whole);
  if (!source.items.empty()) {
    Json list = Json::array();
    for (const Json& item : items.list) list.push_back(reduced(item, choice));
    whole[std::string(source.items)] = std::move(list);
  }
  // A single item of which only some fields are wanted gets no further one.
  const bool has_room = choice.fields.empty() || !source.items.empty();
  if (source.simulated && has_room && !whole.contains("simulated")) {
    whole["simulated"] = *source.simulated;
  }
  return dumped(whole, indent) + "\n";
}

// What an item goes by: a lease's number, a device's UUID, a rule's name.
Result<std::string> as_ids(const Items& items) {
  constexpr std::array<const char*, 3> kIds = {"id", "uuid", "name"};
  const auto is_known = [&](const char* name) { return std::ranges::count(items.known, name) > 0; };
  if (std::ranges::none_of(kIds, is_known)) {
    return Error{Errc::kInvalid, "-q prints ids, and there are none here"};
  }
  std::string text;
  for (const Json& item : items.list) {
    for (const char* const field : kIds) {
      const Json& id = field_of(item, field);
      if (id.is_null()) continue;
      text += cell_of(id) + "\n";
      break;
    }
  }
  return text;
}

// Command lines and the names of processes come from anybody, escape sequences with them. A program
// that reads a pipe gets them as they are.
std::string as_lines(const Items& items, const OutputChoice& choice,
                     std::optional<Charset> terminal) {
  const bool csv = choice.format == Format::kCsv;
  const std::string_view end = csv ? "\r\n" : "\n";
  std::string text;
  const auto separate = [&](bool first) { return first ? "" : csv ? "," : "\t"; };
  if (choice.header) {
    for (const std::string& field : items.fields) {
      text.append(separate(&field == &items.fields.front())).append(field);
    }
    text += end;
  }
  for (const Json& item : items.list) {
    for (const std::string& field : items.fields) {
      const Json& value = field_of(item, field);
      text.append(separate(&field == &items.fields.front()));
      const std::string raw = cell_of(value);
      const std::string cell = terminal ? escape_control(raw, *terminal) : raw;
      text += csv ? csv_cell(value, cell) : tsv_cell(value, cell);
    }
    text += end;
  }
  return text;
}

std::string as_table(const Items& items, const OutputChoice& choice, Charset charset) {
  Table table{.header = choice.header};
  for (const std::string& field : items.fields) table.columns.push_back({.title = field});
  for (const Json& item : items.list) {
    std::vector<Cell> row;
    for (const std::string& field : items.fields) {
      const Json& value = field_of(item, field);
      row.push_back({value.is_null() ? std::string(glyphs_of(charset).dash)
                                     : escape_control(cell_of(value), charset)});
    }
    table.rows.push_back(std::move(row));
  }
  return render(std::move(table), std::nullopt, charset);
}

}  // namespace

Result<std::string> render_items(const ItemSource& source, const OutputChoice& choice,
                                 Charset charset) {
  TRY(items, read(source, choice));
  const auto json = [&](const std::string& text) {
    return source.on_terminal ? json_for_terminal(text) : text;
  };
  switch (choice.format) {
    case Format::kJson:
      return json(as_json(std::move(items), source, choice));
    case Format::kNdjson: {
      std::string text;
      for (const Json& item : items.list) text += dumped(reduced(item, choice)) + "\n";
      return json(text);
    }
    case Format::kCsv:
    case Format::kTsv:
      return as_lines(items, choice, source.on_terminal ? std::optional(charset) : std::nullopt);
    case Format::kIds:
      return as_ids(items);
    case Format::kTable:
    case Format::kWide:
      break;
  }
  return as_table(items, choice, charset);
}

}  // namespace berth::cli
