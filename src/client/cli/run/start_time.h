// SPDX-License-Identifier: Apache-2.0
// The time at which a request is to start, as people write it. Pure but for the time zone.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace berth::cli {

/// "90m" (from now), "18:30" (the next time that a clock here shows that), "2026-02-07T18:30" or
/// "2026-02-07 18:30:15" (here), and the last with a Z (UTC).
Result<UnixMs> parse_start_time(std::string_view text, UnixMs now);

}  // namespace berth::cli
