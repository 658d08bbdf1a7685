// SPDX-License-Identifier: Apache-2.0
// The bounds of what goes over the wire. A request beyond one is refused by name; an answer beyond
// one is taken for a broken daemon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace berth::wire::limits {

inline constexpr std::size_t kBodyMax = std::size_t{64} << 10U;  // Of a request.
// Of an answer: 20 000 waiting leases with commands of some 200 letters are 25 MB.
inline constexpr std::size_t kAnswerMax = std::size_t{256} << 20U;
inline constexpr std::size_t kTargetMax = 2'048;     // Path and query.
inline constexpr std::size_t kHelloMax = 1'024;      // The Berth-Hello header.
inline constexpr std::size_t kHelloPartMax = 128;    // Version and world in it, decoded.
inline constexpr std::size_t kEventMax = 1U << 20U;  // One server-sent event.
inline constexpr Bytes kVramMax = {std::uint64_t{1} << 62U};
inline constexpr Duration kDurationMax = hours(std::int64_t{24} * 365 * 100);

}  // namespace berth::wire::limits
