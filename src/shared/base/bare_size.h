// SPDX-License-Identifier: Apache-2.0
// Sizes without a unit, as people write them who mean gigabytes or megabytes. As bytes nobody means
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// "8G" for "8" and "8192M" for "8192"; nothing for 0, what has a unit, and what is no size.
std::optional<std::string> meant_by_bare_size(std::string_view text);

}  // namespace berth
