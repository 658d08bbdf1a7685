// SPDX-License-Identifier: Apache-2.0
// The target of an HTTP request, taken apart. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::wire {

struct Target {
  std::vector<std::string> segments;  // Of the path, decoded; "/v1/leases" has two.
  std::vector<std::pair<std::string, std::string>> query;
};

/// "/v1/leases/train%20a?all=1". kInvalid: no path, a bad escape, an empty segment, a byte outside
/// printable ASCII; kFull: longer than limits::kTargetMax.
Result<Target> parse_target(std::string_view text);

/// Everything but letters, digits, '-', '.', '_' and '~' as %XX.
std::string percent_encode(std::string_view text);
/// Absent: a '%' that is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace berth::wire
