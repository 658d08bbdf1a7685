// SPDX-License-Identifier: Apache-2.0
// Sizes and durations as people write and read them. Sizes are binary: 8G and 8GiB are 8 * 2^30,
// 8GB is 8 * 10^9. Output always names its unit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace berth {

/// "8G", "8GiB", "1.5 GiB", "512M", "8GB", "1048576" (bytes). At most 2^62 bytes; no sign.
Result<Bytes> parse_bytes(std::string_view text);

/// "90" (seconds), "90s", "5m", "2h30m", "1d", "250ms". At most 100 years; no sign.
Result<Duration> parse_duration(std::string_view text);

/// "8.0 GiB", "512 MiB", "4.0 KiB", "17 B".
std::string to_text(Bytes bytes);

/// "250 ms", "42 s", "3m07s", "2h", "2h05m", "3d04h".
std::string to_text(Duration duration);

/// "2026-02-07T13:15:00.123Z".
std::string to_text(UnixMs time);

}  // namespace berth
