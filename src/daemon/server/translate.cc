// SPDX-License-Identifier: Apache-2.0
#include "server/translate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace berth::server {
namespace {

using wire::ApiError;
using wire::Route;

/// The error of a process that the caller may not name, or nothing.
std::optional<ApiError> check_owner(Process process, const Translation& how) {
  const Result<UserId> owner = how.owner_of(process);
  if (!owner.ok()) return wire::error_of(wire::code::kWrongProcess, owner.error().message);
  if (*owner == how.actor.user || how.actor.admin) return std::nullopt;
  return wire::error_of(wire::code::kWrongProcess,
                        "process " + std::to_string(process.pid) + " belongs to uid " +
                            std::to_string(owner->value) + ", not to you");
}

ParsedCommand submit(std::string_view body, const Translation& how) {
  auto read = translate_request(body, how);
  if (auto* error = std::get_if<ApiError>(&read)) return std::move(*error);
  auto& asked = std::get<RequestBody>(read);
  core::Submit event;
  event.actor = how.actor;
  event.handle = how.draw_handle();
  event.supervisor = how.actor.process;
  if (asked.request.ttl) {
    // It hangs on the anchor beside its ttl: on a process of another user (a login of root's, say)
    // on the ttl alone.
    const bool own = asked.anchor && !check_owner(*asked.anchor, how);
    event.supervisor = own ? asked.anchor : std::nullopt;
  }
  event.request = std::move(asked.request);
  return event;
}

// Of bodies that name processes: all of them, or those alone that the caller may name.

std::optional<ApiError> check_named(Process& process, const Translation& how) {
  return check_owner(process, how);
}
std::optional<ApiError> check_named(ClaimBody& body, const Translation& how) {
  return check_owner(body.command, how);
}
std::optional<ApiError> check_named(ExitBody& body, const Translation& how) {
  std::erase_if(body.leftovers,
                [&](Process process) { return check_owner(process, how).has_value(); });
  return std::nullopt;
}

std::optional<ApiError> find(Handle& handle, const std::string& text, const Translation&) {
  const std::optional<Handle> parsed = parse_handle(text);
  handle = parsed.value_or(handle);
  if (parsed) return std::nullopt;
  return wire::error_of(RefusalCode::kNotFound,
                        "'" + text + "' is no handle of a lease: l_ and 26 letters");
}
std::optional<ApiError> find(LeaseId& lease, const std::string& reference, const Translation& how) {
  const auto found = how.coordinator.find(reference, how.actor);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return wire::to_api_error(*refusal);
  lease = std::get<LeaseId>(found);
  return std::nullopt;
}

template <class Event>
ParsedCommand command(const std::string& lease, std::string_view text, const Translation& how) {
  using Body = decltype(Event::body);
  Event event{.actor = how.actor};
  std::optional<ApiError> error;
  if constexpr (requires { event.handle; }) {
    error = find(event.handle, lease, how);
  } else {
    error = find(event.lease, lease, how);
  }
  if (error) return *std::move(error);
  Result<Body> body = wire::decode<Body>(text);
  if (!body.ok()) return wire::to_api_error(body.error());
  event.body = *std::move(body);
  if constexpr (requires { check_named(event.body, how); }) {
    error = check_named(event.body, how);
    if (error) return *std::move(error);
  }
  return event;
}

}  // namespace

bool names_processes(Route route) {
  return route == Route::kSubmit || is_by_handle(row_of(route));
}

ParsedCommand translate(const wire::RouteMatch& route, std::string_view body,
                        const Translation& how) {
  if (route.route == Route::kSubmit) return submit(body, how);
  using Reader = ParsedCommand (*)(const std::string&, std::string_view, const Translation&);
  constexpr auto kReaders = []<std::size_t... kAt>(std::index_sequence<kAt...>) {
    return std::array<Reader, sizeof...(kAt)>{command<core::RouteEvent<kLeaseRoutes[kAt]>>...};
  }(std::make_index_sequence<kLeaseRoutes.size()>());
  const auto* const at = std::ranges::find(kLeaseRoutes, route.route);
  CHECK(at != kLeaseRoutes.end());
  return kReaders.at(static_cast<std::size_t>(at - kLeaseRoutes.begin()))(route.lease, body, how);
}

std::variant<RequestBody, ApiError> translate_request(std::string_view body,
                                                      const Translation& how) {
  Result<RequestBody> read = wire::decode<RequestBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  Request& request = read->request;
  how.coordinator.fill_defaults(request, read->named, how.actor.user);
  if (request.share != Share::kExclusive && request.vram == Bytes{}) {
    if (how.default_vram.share == Share::kBudget && !how.default_vram.vram) {
      return wire::error_of(
          RefusalCode::kInvalid,
          "say how much memory it needs (vram_bytes, berth run -m SIZE), or that it "
          "needs a device to itself (-x)");
    }
    if (request.share == Share::kBudget) request.share = how.default_vram.share;
    request.vram = how.default_vram.vram.value_or(Bytes{});
    request.learned |= how.default_vram.learned;
  }
  return *std::move(read);
}

}  // namespace berth::server
