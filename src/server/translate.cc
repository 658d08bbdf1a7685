// SPDX-License-Identifier: Apache-2.0
#include "server/translate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace berth::server {
namespace {

using wire::ApiError;
using wire::Route;

ApiError refused(RefusalCode code, std::string message) {
  return wire::to_api_error(Refusal{.code = code, .message = std::move(message)});
}

/// The error of a process that the caller may not name, or nothing.
std::optional<ApiError> check_owner(Process process, const Translation& how) {
  const Result<UserId> owner = how.owner_of(process);
  if (!owner.ok()) {
    return ApiError{std::string(wire::code::kWrongProcess), owner.error().message};
  }
  if (*owner == how.caller.actor.user || how.caller.actor.admin) return std::nullopt;
  return ApiError{std::string(wire::code::kWrongProcess),
                  "process " + std::to_string(process.pid) + " belongs to uid " +
                      std::to_string(owner->value) + ", not to you"};
}

/// The lease that {ref} means.
std::variant<LeaseId, ApiError> find_lease(const std::string& ref, const Translation& how) {
  const auto found = how.coordinator.find(ref, how.caller.actor);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return wire::to_api_error(*refusal);
  return std::get<LeaseId>(found);
}

ParsedCommand submit(std::string_view body, const Translation& how) {
  auto read = translate_request(body, how);
  if (auto* error = std::get_if<ApiError>(&read)) return std::move(*error);
  auto& asked = std::get<wire::RequestBody>(read);
  core::Submit event;
  event.actor = how.caller.actor;
  event.handle = how.draw_handle();
  event.supervisor = how.caller.process;
  if (asked.request.ttl) {
    // It hangs on the anchor beside its ttl: on a process of another user (a login of root's, say)
    // on the ttl alone.
    const bool own = asked.anchor && !check_owner(*asked.anchor, how);
    event.supervisor = own ? asked.anchor : std::nullopt;
  }
  event.request = std::move(asked.request);
  return event;
}

/// What `command_of` makes of the body, if that makes sense.
template <class Body>
ParsedCommand with_body(std::string_view text, const auto& command_of) {
  Result<Body> read = wire::decode<Body>(text);
  if (!read.ok()) return wire::to_api_error(read.error());
  return command_of(*std::move(read));
}

ParsedCommand report_exit(Handle handle, const wire::ExitBody& body, const Translation& how) {
  core::ReportExit event;
  event.actor = how.caller.actor;
  event.handle = handle;
  event.exit = body.exit;
  event.restarts = body.restarts;
  for (const Process process : body.leftovers) {
    if (!check_owner(process, how)) event.leftovers.push_back(process);
  }
  return event;
}

ParsedCommand by_handle(const wire::RouteMatch& route, std::string_view body,
                        const Translation& how) {
  const std::optional<Handle> handle = parse_handle(route.lease);
  if (!handle) {
    return refused(RefusalCode::kNotFound,
                   "'" + std::string(route.lease) + "' is no handle of a lease: l_ and 26 letters");
  }
  const core::Actor actor = how.caller.actor;
  switch (route.route) {
    case Route::kClaim:
      return with_body<wire::ClaimBody>(body, [&](const wire::ClaimBody& read) -> ParsedCommand {
        if (auto error = check_owner(read.command, how)) return *std::move(error);
        return core::Claim{
            .actor = actor, .handle = *handle, .command = read.command, .restarts = read.restarts};
      });
    case Route::kJoin:
      return with_body<Process>(body, [&](Process process) -> ParsedCommand {
        if (auto error = check_owner(process, how)) return *std::move(error);
        return core::Join{.actor = actor, .handle = *handle, .process = process};
      });
    case Route::kExit:
      return with_body<wire::ExitBody>(
          body, [&](const wire::ExitBody& read) { return report_exit(*handle, read, how); });
    case Route::kPark:
      return with_body<wire::ParkBody>(body, [&](wire::ParkBody read) {
        return core::Park{.actor = actor, .handle = *handle, .parked = read.parked};
      });
    case Route::kCheckpointed:
      return with_body<wire::CheckpointedBody>(body, [&](wire::CheckpointedBody read) {
        return core::ReportCheckpoint{.actor = actor,
                                      .handle = *handle,
                                      .number = read.number,
                                      .outcome = read.outcome,
                                      .detail = std::move(read.detail)};
      });
    case Route::kRequeuing:
      return with_body<wire::NoBody>(body, [&](wire::NoBody) {
        return core::BeginRequeue{.actor = actor, .handle = *handle};
      });
    default:
      CHECK(route.route == Route::kReconnect);
      return with_body<wire::ReconnectBody>(body, [&](wire::ReconnectBody read) {
        return core::Reconnect{.actor = actor, .handle = *handle, .restarts = read.restarts};
      });
  }
}

core::Resize resize(LeaseId lease, const wire::ResizeBody& body, const Translation& how) {
  const std::optional<LeaseView> now = how.coordinator.lease(lease, how.now);
  // Bytes for a lease that has its devices to itself make it an ordinary budget.
  const Share kept = now && now->request.share == Share::kSlice ? Share::kSlice : Share::kBudget;
  return {.actor = how.caller.actor,
          .lease = lease,
          .share = body.share.value_or(kept),
          .vram = body.vram.value_or(Bytes{}),
          .wait_max = body.wait_max};
}

core::PauseTerms terms_of(wire::PauseBody body) {
  return {.lasts = body.lasts, .reason = std::move(body.reason)};
}

ParsedCommand by_ref(const wire::RouteMatch& route, std::string_view body, const Translation& how) {
  const auto found = find_lease(route.lease, how);
  if (const auto* error = std::get_if<ApiError>(&found)) return *error;
  const LeaseId lease = std::get<LeaseId>(found);
  const core::Actor actor = how.caller.actor;
  switch (route.route) {
    case Route::kRelease:
      return with_body<wire::ReleaseBody>(body, [&](wire::ReleaseBody read) {
        return core::Release{.actor = actor,
                             .lease = lease,
                             .kill = read.kill,
                             .detach = read.detach,
                             .requester = how.caller.process};
      });
    case Route::kCancel:
      return with_body<wire::NoBody>(body, [&](wire::NoBody) {
        return core::Release{.actor = actor, .lease = lease, .cancel = true};
      });
    case Route::kSuspend:
      return with_body<wire::PauseBody>(body, [&](wire::PauseBody read) {
        return core::Suspend{.actor = actor, .lease = lease, .terms = terms_of(std::move(read))};
      });
    case Route::kFreeze:
      return with_body<wire::PauseBody>(body, [&](wire::PauseBody read) {
        return core::Freeze{.actor = actor, .lease = lease, .terms = terms_of(std::move(read))};
      });
    case Route::kCheckpoint:
      return with_body<wire::CheckpointBody>(body, [&](wire::CheckpointBody read) {
        return core::AskCheckpoint{.actor = actor, .lease = lease, .wait_max = read.wait_max};
      });
    case Route::kResume:
      return with_body<wire::NoBody>(
          body, [&](wire::NoBody) { return core::Resume{.actor = actor, .lease = lease}; });
    case Route::kMove:
      return with_body<wire::MoveBody>(body, [&](wire::MoveBody read) {
        return core::Migrate{.actor = actor, .lease = lease, .to = std::move(read.devices)};
      });
    case Route::kRequeue:
      return with_body<wire::RequeueBody>(body, [&](wire::RequeueBody read) {
        return core::AskRequeue{.actor = actor, .lease = lease, .unsaved = read.unsaved};
      });
    case Route::kResize:
      return with_body<wire::ResizeBody>(
          body, [&](const wire::ResizeBody& read) { return resize(lease, read, how); });
    case Route::kProgress:
      return with_body<wire::ProgressBody>(body, [&](wire::ProgressBody read) {
        return core::ReportProgress{.actor = actor,
                                    .lease = lease,
                                    .done = read.done,
                                    .total = read.total,
                                    .left = read.left,
                                    .note = std::move(read.note)};
      });
    default:
      CHECK(route.route == Route::kRenew);
      return with_body<wire::RenewBody>(body, [&](wire::RenewBody read) {
        return core::Renew{.actor = actor, .lease = lease, .ttl = read.ttl};
      });
  }
}

}  // namespace

bool names_processes(Route route) {
  switch (route) {
    case Route::kSubmit:
    case Route::kReconnect:
    case Route::kClaim:
    case Route::kJoin:
    case Route::kExit:
    case Route::kPark:
    case Route::kCheckpointed:
    case Route::kRequeuing:
      return true;
    default:
      return false;
  }
}

ParsedCommand translate(const wire::RouteMatch& route, std::string_view body,
                        const Translation& how) {
  if (route.route == Route::kSubmit) return submit(body, how);
  return names_processes(route.route) ? by_handle(route, body, how) : by_ref(route, body, how);
}

std::variant<wire::RequestBody, ApiError> translate_request(std::string_view body,
                                                            const Translation& how) {
  Result<wire::RequestBody> read = wire::decode<wire::RequestBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  Request& request = read->request;
  if (!read->names_priority) {
    const Priority highest = how.coordinator.priority_max(how.caller.actor.user);
    request.priority = std::min(request.priority, highest);
  }
  if (request.share != Share::kExclusive && request.vram == Bytes{}) {
    if (how.default_vram.share == Share::kBudget && !how.default_vram.vram) {
      return refused(RefusalCode::kInvalid,
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
