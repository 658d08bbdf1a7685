// SPDX-License-Identifier: Apache-2.0
// Time after which it is worth asking again, for who waits without listening to events. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace berth {

struct LeaseView;

inline constexpr Duration kCheckAgainLeast = seconds(2);
inline constexpr Duration kCheckAgainMost = seconds(60);
inline constexpr Duration kCheckAgainUnknown = seconds(10);  // No end of the wait is known.
inline constexpr std::string_view kCheckAgainDoc =
    "After how long it is worth asking again, for who does not listen to events; null: it does not "
    "wait.";

/// The next in the queue soon, others later. Absent: it does not wait.
std::optional<Duration> check_again_after(const LeaseView& lease);
/// Half of what is left of the wait, so that an earlier end of it is learnt of in time.
Duration check_again_after(std::optional<UnixMs> expected_start, UnixMs now);

}  // namespace berth
