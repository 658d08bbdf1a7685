// SPDX-License-Identifier: Apache-2.0
// Reads the one form in which times are written in answers. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace berth::wire {

/// "2026-02-07T13:15:00.123Z" and nothing else; the inverse of to_text(UnixMs) for the years 0000
/// to 9999.
std::optional<UnixMs> parse_time(std::string_view text);

}  // namespace berth::wire
