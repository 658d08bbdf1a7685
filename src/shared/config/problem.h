// SPDX-License-Identifier: Apache-2.0
// A problem in a configuration, and its place: everything a person needs to mend it. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::config {

struct Problem {
  std::string where;       // A file, a variable or an option.
  std::uint32_t line = 0;  // From 1; 0: `where` is no file.
  std::uint32_t column = 0;
  std::string message;  // Names the key, the wrong value and what would be right.
};
using Problems = std::vector<Problem>;

/// "/etc/berth/berth.toml:4:9: policy.order: …"
std::string to_text(const Problem& problem);

}  // namespace berth::config
