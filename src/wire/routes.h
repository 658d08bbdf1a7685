// SPDX-License-Identifier: Apache-2.0
// Everything that can be asked of the daemon, in one table: the server dispatches by it, and the
// OpenAPI file is checked against it. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/words.h"
#include "wire/error.h"

namespace berth::wire {

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

struct RouteRow {
  Route route;
  Method method;
  // {handle}: a lease's handle. {ref}: its id, handle, name or a prefix. {rule}: its name.
  std::string_view path;
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
    RouteRow{Route::kSubmit, Method::kPost, "/v1/leases"},
    RouteRow{Route::kReconnect, Method::kPost, "/v1/leases/{handle}/reconnect"},
    RouteRow{Route::kClaim, Method::kPost, "/v1/leases/{handle}/claim"},
    RouteRow{Route::kJoin, Method::kPost, "/v1/leases/{handle}/join"},
    RouteRow{Route::kExit, Method::kPost, "/v1/leases/{handle}/exit"},
    RouteRow{Route::kPark, Method::kPost, "/v1/leases/{handle}/park"},
    RouteRow{Route::kCheckpointed, Method::kPost, "/v1/leases/{handle}/checkpointed"},
    RouteRow{Route::kRequeuing, Method::kPost, "/v1/leases/{handle}/requeuing"},
    RouteRow{Route::kLease, Method::kGet, "/v1/leases/{ref}"},
    RouteRow{Route::kWhy, Method::kGet, "/v1/leases/{ref}/why"},
    RouteRow{Route::kLeaseEvents, Method::kGet, "/v1/leases/{ref}/events"},
    RouteRow{Route::kRelease, Method::kPost, "/v1/leases/{ref}/release"},
    RouteRow{Route::kCancel, Method::kPost, "/v1/leases/{ref}/cancel"},
    RouteRow{Route::kResize, Method::kPost, "/v1/leases/{ref}/resize"},
    RouteRow{Route::kRenew, Method::kPost, "/v1/leases/{ref}/renew"},
    RouteRow{Route::kProgress, Method::kPost, "/v1/leases/{ref}/progress"},
    RouteRow{Route::kCheckpoint, Method::kPost, "/v1/leases/{ref}/checkpoint"},
    RouteRow{Route::kSuspend, Method::kPost, "/v1/leases/{ref}/suspend"},
    RouteRow{Route::kFreeze, Method::kPost, "/v1/leases/{ref}/freeze"},
    RouteRow{Route::kResume, Method::kPost, "/v1/leases/{ref}/resume"},
    RouteRow{Route::kMove, Method::kPost, "/v1/leases/{ref}/move"},
    RouteRow{Route::kRequeue, Method::kPost, "/v1/leases/{ref}/requeue"},
    RouteRow{Route::kFit, Method::kPost, "/v1/fit"},
    RouteRow{Route::kEvents, Method::kGet, "/v1/events"},
    RouteRow{Route::kHistory, Method::kGet, "/v1/history"},
    RouteRow{Route::kSessions, Method::kGet, "/v1/history/sessions"},
    RouteRow{Route::kAudit, Method::kGet, "/v1/history/events"},
    RouteRow{Route::kAlerts, Method::kGet, "/v1/alerts"},
    RouteRow{Route::kAlertTest, Method::kPost, "/v1/alerts/{rule}/test"},
    RouteRow{Route::kOpenApi, Method::kGet, "/v1/openapi.json"},
};

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
