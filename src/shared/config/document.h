// SPDX-License-Identifier: Apache-2.0
// TOML text as a tree of values that know where they stand. The only file that sees the TOML
// library. Within config only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/problem.h"

namespace berth::config {

struct Position {
  std::uint32_t line = 0;  // From 1; 0: not from a file.
  std::uint32_t column = 0;
};

struct Entry;

/// A value as it was written. `Other`: a kind of value that no key of ours takes.
struct Given {
  struct Other {
    std::string kind;  // "a date"
  };
  using List = std::vector<Given>;
  using Table = std::vector<Entry>;
  std::variant<bool, std::int64_t, double, std::string, List, Table, Other> value;
  Position at;
  /// Not from a file but from a variable or option: text may stand for a number or a switch.
  bool loose = false;

  /// How a message names it: "'fast'", "-1", "a list".
  std::string shown() const;
};

struct Entry {
  std::string key;
  Position at;
  Given given;
};

/// The outermost table, in order of position. The problem names `file`, line and column.
std::variant<Given::Table, Problem> parse_toml(const std::string& file, std::string_view text);

}  // namespace berth::config
