// SPDX-License-Identifier: Apache-2.0
// One row of the table that `./dev bench` prints. The figure of one run on one machine says little;
// its ratio to another figure of the same run says more, so a row names what it is set against.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace berth::bench {

struct Row {
  std::string name;  // Plain text without quotes: "hand-over, flock, median of 1000"
  double value = 0;
  std::string unit;
  std::string against;                // The name of another row: the ratio is value / its value.
  std::optional<double> limit;        // Of the value; it is over if larger.
  std::optional<double> least;        // Of the value; it is under if smaller.
  std::optional<double> ratio_limit;  // Of the ratio; it is over if larger.
};

inline void print(const Row& row) {
  const auto number = [](const char* key, const std::optional<double>& value) {
    return value ? fmt::format(",\"{}\":{}", key, *value) : std::string();
  };
  fmt::print("{{\"name\":\"{}\",\"value\":{},\"unit\":\"{}\",\"against\":\"{}\"{}{}{}}}\n",
             row.name, row.value, row.unit, row.against, number("limit", row.limit),
             number("least", row.least), number("ratio_limit", row.ratio_limit));
  (void)std::fflush(stdout);
}

/// The value below which `part` (0 to 1) of them lie. 0 for none.
inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace berth::bench
