// SPDX-License-Identifier: Apache-2.0
// Everything that can be asked of the daemon, in one table: the server finds its way by it, clients
// ask by it, the coordinator's events are made from it (core/event.h), and share/openapi.json is.
// Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "base/words.h"
#include "model/bodies.h"

namespace berth {

enum class Method : std::uint8_t { kGet, kPost };
constexpr auto words_of(Method) {
  using enum Method;
  return make_words<Method>({{kGet, "GET"}, {kPost, "POST"}});
}

enum class Route : std::uint8_t {
  kHealth,
  kVersion,
  kDaemon,
  kDaemonStop,
  kDaemonReload,
  kStatus,
  kDevices,
  kQueue,
  kLeases,
  kSubmit,
  kReconnect,
  kClaim,
  kJoin,
  kExit,
  kPark,
  kCheckpointed,
  kRequeuing,
  kLease,
  kWhy,
  kLeaseEvents,
  kRelease,
  kCancel,
  kResize,
  kRenew,
  kProgress,
  kCheckpoint,
  kSuspend,
  kFreeze,
  kResume,
  kMove,
  kRequeue,
  kFit,
  kEvents,
  kHistory,
  kSessions,
  kAudit,
  kAlerts,
  kAlertTest,
  kOpenApi,
};

template <class Body, class... All>
consteval std::size_t index_of(const std::variant<All...>* /*all*/) {
  constexpr std::array kIsIt = {std::is_same_v<Body, All>...};
  std::size_t at = 0;
  while (!kIsIt.at(at)) ++at;
  return at;
}
template <class Body>
inline constexpr std::size_t kBodyOfType = index_of<Body>(static_cast<AnyBody*>(nullptr));

struct RouteRow {
  Route route;
  Method method;
  // {handle}: a lease's handle. {ref}: its id, handle, name or a prefix. {rule}: its name.
  std::string_view path;
  std::size_t body = kBodyOfType<NoBody>;  // Of AnyBody.
};

inline constexpr std::array kRoutes = {
    RouteRow{Route::kHealth, Method::kGet, "/healthz"},
    RouteRow{Route::kVersion, Method::kGet, "/v1/version"},
    RouteRow{Route::kDaemon, Method::kGet, "/v1/daemon"},
    RouteRow{Route::kDaemonStop, Method::kPost, "/v1/daemon/stop"},
    RouteRow{Route::kDaemonReload, Method::kPost, "/v1/daemon/reload"},
    RouteRow{Route::kStatus, Method::kGet, "/v1/status"},
    RouteRow{Route::kDevices, Method::kGet, "/v1/devices"},
    RouteRow{Route::kQueue, Method::kGet, "/v1/queue"},
    RouteRow{Route::kLeases, Method::kGet, "/v1/leases"},
    RouteRow{Route::kSubmit, Method::kPost, "/v1/leases", kBodyOfType<RequestBody>},
    RouteRow{Route::kReconnect, Method::kPost, "/v1/leases/{handle}/reconnect",
             kBodyOfType<ReconnectBody>},
    RouteRow{Route::kClaim, Method::kPost, "/v1/leases/{handle}/claim", kBodyOfType<ClaimBody>},
    RouteRow{Route::kJoin, Method::kPost, "/v1/leases/{handle}/join", kBodyOfType<Process>},
    RouteRow{Route::kExit, Method::kPost, "/v1/leases/{handle}/exit", kBodyOfType<ExitBody>},
    RouteRow{Route::kPark, Method::kPost, "/v1/leases/{handle}/park", kBodyOfType<ParkBody>},
    RouteRow{Route::kCheckpointed, Method::kPost, "/v1/leases/{handle}/checkpointed",
             kBodyOfType<CheckpointedBody>},
    RouteRow{Route::kRequeuing, Method::kPost, "/v1/leases/{handle}/requeuing"},
    RouteRow{Route::kLease, Method::kGet, "/v1/leases/{ref}"},
    RouteRow{Route::kWhy, Method::kGet, "/v1/leases/{ref}/why"},
    RouteRow{Route::kLeaseEvents, Method::kGet, "/v1/leases/{ref}/events"},
    RouteRow{Route::kRelease, Method::kPost, "/v1/leases/{ref}/release", kBodyOfType<ReleaseBody>},
    RouteRow{Route::kCancel, Method::kPost, "/v1/leases/{ref}/cancel"},
    RouteRow{Route::kResize, Method::kPost, "/v1/leases/{ref}/resize", kBodyOfType<ResizeBody>},
    RouteRow{Route::kRenew, Method::kPost, "/v1/leases/{ref}/renew", kBodyOfType<RenewBody>},
    RouteRow{Route::kProgress, Method::kPost, "/v1/leases/{ref}/progress",
             kBodyOfType<ProgressBody>},
    RouteRow{Route::kCheckpoint, Method::kPost, "/v1/leases/{ref}/checkpoint",
             kBodyOfType<CheckpointBody>},
    RouteRow{Route::kSuspend, Method::kPost, "/v1/leases/{ref}/suspend", kBodyOfType<PauseBody>},
    RouteRow{Route::kFreeze, Method::kPost, "/v1/leases/{ref}/freeze", kBodyOfType<PauseBody>},
    RouteRow{Route::kResume, Method::kPost, "/v1/leases/{ref}/resume"},
    RouteRow{Route::kMove, Method::kPost, "/v1/leases/{ref}/move", kBodyOfType<MoveBody>},
    RouteRow{Route::kRequeue, Method::kPost, "/v1/leases/{ref}/requeue", kBodyOfType<RequeueBody>},
    RouteRow{Route::kFit, Method::kPost, "/v1/fit", kBodyOfType<RequestBody>},
    RouteRow{Route::kEvents, Method::kGet, "/v1/events"},
    RouteRow{Route::kHistory, Method::kGet, "/v1/history"},
    RouteRow{Route::kSessions, Method::kGet, "/v1/history/sessions"},
    RouteRow{Route::kAudit, Method::kGet, "/v1/history/events"},
    RouteRow{Route::kAlerts, Method::kGet, "/v1/alerts"},
    RouteRow{Route::kAlertTest, Method::kPost, "/v1/alerts/{rule}/test"},
    RouteRow{Route::kOpenApi, Method::kGet, "/v1/openapi.json"},
};

constexpr const RouteRow& row_of(Route route) {
  const RouteRow& row = kRoutes.at(static_cast<std::size_t>(route));
  CHECK(row.route == route);
  return row;
}

template <Route kRoute>
using BodyOf = std::variant_alternative_t<row_of(kRoute).body, AnyBody>;

/// A command about the lease with that handle.
constexpr bool is_by_handle(const RouteRow& row) {
  return row.path.find("{handle}") != std::string_view::npos;
}
/// A command about whichever lease is meant.
constexpr bool is_by_reference(const RouteRow& row) {
  return row.method == Method::kPost && row.path.find("{ref}") != std::string_view::npos;
}

constexpr bool is_about_lease(const RouteRow& row) {
  return is_by_handle(row) || is_by_reference(row);
}
inline constexpr auto kLeaseRoutes = [] {
  constexpr auto kCount = static_cast<std::size_t>(std::ranges::count_if(kRoutes, is_about_lease));
  std::array<Route, kCount> routes = {};
  std::size_t count = 0;
  for (const RouteRow& row : kRoutes) {
    if (is_about_lease(row)) routes.at(count++) = row.route;
  }
  return routes;
}();

}  // namespace berth
