// SPDX-License-Identifier: Apache-2.0
#include "cli/render/output.h"

#include <array>
#include <string_view>
#include <utility>

namespace berth::cli {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 7> kFormats = {{
    {"table", Format::kTable},
    {"wide", Format::kWide},
    {"json", Format::kJson},
    {"ndjson", Format::kNdjson},
    {"csv", Format::kCsv},
    {"tsv", Format::kTsv},
    {"ids", Format::kIds},
}};
constexpr Duration kWatchEvery = seconds(2);
constexpr Duration kWatchLeast = milliseconds(100);

std::vector<std::string_view> format_words() {
  std::vector<std::string_view> words;
  words.reserve(kFormats.size());
  for (const auto& [word, format] : kFormats) words.push_back(word);
  return words;
}

Status set_format(OutputChoice& choice, std::string_view name) {
  for (const auto& [word, format] : kFormats) {
    if (word != name) continue;
    if (choice.format_given && choice.format != format) {
      return wrong("one form of output at a time, not two");
    }
    choice.format = format;
    choice.format_given = true;
    return Unit{};
  }
  return Error{Errc::kInvalid,
               "\"" + std::string(name) + "\" is none of table, wide, json, ndjson, csv, tsv, ids"};
}

Setter into_format(OutputChoice& choice, std::string_view fixed = {}) {
  return [&choice, fixed](std::string_view value) -> Status {
    return set_format(choice, fixed.empty() ? value : fixed);
  };
}

Setter into_fields(OutputChoice& choice) {
  return [&choice](std::string_view list) -> Status {
    while (!list.empty()) {
      const auto comma = list.find(',');
      if (comma == 0) return Error{Errc::kInvalid, "an empty name in the list"};
      choice.fields.emplace_back(list.substr(0, comma));
      list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return Unit{};
  };
}

Setter into_watch(OutputChoice& choice) {
  return [&choice](std::string_view value) -> Status {
    choice.watch = kWatchEvery;
    if (value.empty()) return Unit{};
    TRY_STATUS(store(choice.watch)(value));
    if (*choice.watch < kWatchLeast) return Error{Errc::kInvalid, "at most every 100ms"};
    return Unit{};
  };
}

}  // namespace

void declare_output(Options& options, OutputChoice& choice, Watching watching) {
  options.add("-o,--output=FORMAT", into_format(choice), "form of the output", format_words());
  options.add("--json", into_format(choice, "json"), "the same as -o json");
  options.add("--csv", into_format(choice, "csv"), "the same as -o csv");
  options.add("-q,--quiet", into_format(choice, "ids"), "the same as -o ids: nothing but ids");
  options.add("--fields=A,B,...", into_fields(choice), "only these fields, by their names in JSON");
  options.add("--no-header", clear(choice.header), "no line with the names of the columns");
  if (watching == Watching::kNo) return;
  options.add("--watch[=DUR]", into_watch(choice),
              "refresh every DUR (default 2s); JSON prints one line per refresh");
}

}  // namespace berth::cli
