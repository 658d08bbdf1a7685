// SPDX-License-Identifier: Apache-2.0
// A forecast of when requests start, if all that runs ends when it is expected to, and well: the
// coordinator itself is handed what runs and waits, and only time is simulated. What comes and goes
// meanwhile that nobody has announced it does not know. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/settings.h"
#include "model/bodies.h"
#include "model/device.h"
#include "model/facts.h"
#include "model/request.h"
#include "model/view.h"

namespace berth::replay {

inline constexpr std::uint32_t kForecastMembersMax = 1'000;  // Of a set; more are not looked at.

/// What runs, waits, or would be asked for now.
struct Expected {
  /// What it holds. `ends`: from now on; absent: not known.
  struct Running {
    std::vector<Part> parts;
    std::optional<Duration> ends;
  };

  /// Predecessors have the number of their place among all, from 1, before this one. One that runs
  /// has none.
  Request request;
  UserId user;
  Named named = {.priority = true, .share = true};
  std::optional<Running> running = {};
  std::uint32_t running_max = 0;  // Of a set: no more members at a time; 0: no bound.
};

struct Prospect {
  std::optional<Duration> starts;  // From now on; absent: no end is known of what it waits for.
  std::optional<Duration> ends;    // Absent: not known.
  /// Why it does not start at once, and for which of them; absent: it does.
  std::optional<WhyView::Reason> reason;
  std::vector<std::size_t> holders;
};

/// One for each of `expected`, which are asked for in this order.
std::vector<Prospect> forecast(const std::vector<DeviceView>& devices,
                               const std::vector<Expected>& expected, core::Settings settings,
                               UnixMs now);

}  // namespace berth::replay
