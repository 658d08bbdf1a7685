// SPDX-License-Identifier: Apache-2.0
// From the head of a request to a row of the table in model/routes.h, and back. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/routes.h"
#include "wire/error.h"

namespace berth::wire {

using berth::Method;
using berth::Route;

/// Leases in one answer where ended ones are among them.
inline constexpr std::uint32_t kLeasePageMax = 250;

struct RouteMatch {
  Route route;
  std::string lease;  // What stands for {handle}, {ref} or {rule}; empty without one.
  bool all = false;   // ?all=1 of kLeases: ended leases too.
  std::optional<std::uint32_t> limit;   // Of kLeases: the youngest ones, so many at most,
  std::optional<std::uint64_t> before;  // of those with smaller numbers than this.
  std::vector<std::pair<std::string, std::string>> query;  // Of those about the past, as given.
};

/// Which route a request means. The error is not_found, method_not_allowed (naming the method that
/// is), or a target that makes no sense.
std::variant<RouteMatch, ApiError> match_route(std::string_view method, std::string_view target);

/// The target of a request to `route`: the client's side of match_route.
std::string target_of(Route route, std::string_view lease = {});

}  // namespace berth::wire
