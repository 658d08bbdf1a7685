// SPDX-License-Identifier: Apache-2.0
#include "setup/toml_edit.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "config/document.h"

namespace berth::setup {
namespace {

constexpr std::string_view kTomlBlanks = " \t\r";

/// The lines of a table, from its header to the next one.
struct TablePlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(kTomlBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kTomlBlanks) - begin + 1);
}

// Of the text without tables of tables inside; comments right before the next header are that's.
std::optional<TablePlace> find_table(std::string_view text, std::string_view name) {
  const std::string header = "[" + std::string(name) + "]";
  std::optional<TablePlace> place;
  std::size_t content_end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line =
        trimmed(text.substr(at, end - at - (text[end - 1] == '\n' ? 1 : 0)));
    if (!place && line == header) {
      place = TablePlace{at, end};
      content_end = end;
    } else if (place && line.starts_with('[')) {
      break;
    } else if (place && !line.empty() && !line.starts_with('#')) {
      content_end = end;
    }
    at = end;
  }
  if (place) place->end = content_end;
  return place;
}

Status check_toml(std::string_view text) {
  const auto parsed = config::parse_toml("", text);
  const auto* problem = std::get_if<config::Problem>(&parsed);
  if (problem == nullptr) return Unit{};
  return Error{Errc::kInvalid, "line " + std::to_string(problem->line) + ": " + problem->message};
}

}  // namespace

Result<std::string> with_table(std::string_view text, std::string_view name,
                               std::string_view lines) {
  TRY_STATUS(check_toml(text));
  std::string whole(text);
  const std::string table = "[" + std::string(name) + "]\n" + std::string(lines);
  if (const auto place = find_table(text, name)) {
    whole.replace(place->begin, place->end - place->begin, table);
  } else {
    if (!whole.empty() && !whole.ends_with('\n')) whole += '\n';
    whole += (whole.empty() ? "" : "\n") + table;
  }
  TRY_STATUS(check_toml(whole));
  return whole;
}

Result<std::string> without_table(std::string_view text, std::string_view name) {
  TRY_STATUS(check_toml(text));
  std::string whole(text);
  if (auto place = find_table(text, name)) {
    const bool has_gap = place->begin > 0 && whole.substr(0, place->begin).ends_with("\n\n");
    const std::size_t begin = place->begin - (has_gap ? 1 : 0);
    whole.erase(begin, place->end - begin);
  }
  TRY_STATUS(check_toml(whole));
  return whole;
}

}  // namespace berth::setup
