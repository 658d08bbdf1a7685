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
    // It hangs on the anchor beside its ttl: on a process of somebody else (a login of root's, say)
    // on the ttl alone.
    const bool own = asked.anchor && !check_owner(*asked.anchor, how);
    event.supervisor = own ? asked.anchor : std::nullopt;
  }
  event.request = std::move(asked.request);
  return event;
}

ParsedCommand claim(Handle handle, std::string_view body, const Translation& how) {
  const Result<wire::ClaimBody> read = wire::decode<wire::ClaimBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  if (auto error = check_owner(read->command, how)) return *std::move(error);
  return core::Claim{.actor = how.caller.actor,
                     .handle = handle,
                     .command = read->command,
                     .restarts = read->restarts};
}

ParsedCommand join(Handle handle, std::string_view body, const Translation& how) {
  const Result<Process> process = wire::decode<Process>(body);
  if (!process.ok()) return wire::to_api_error(process.error());
  if (auto error = check_owner(*process, how)) return *std::move(error);
  return core::Join{.actor = how.caller.actor, .handle = handle, .process = *process};
}

ParsedCommand report_exit(Handle handle, std::string_view body, const Translation& how) {
  const Result<wire::ExitBody> read = wire::decode<wire::ExitBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  core::ReportExit event;
  event.actor = how.caller.actor;
  event.handle = handle;
  event.exit = read->exit;
  event.restarts = read->restarts;
  for (const Process process : read->leftovers) {
    if (!check_owner(process, how)) event.leftovers.push_back(process);
  }
  return event;
}

ParsedCommand without_body(Command ask, std::string_view body) {
  const auto read = wire::decode<wire::NoBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  return ask;
}

ParsedCommand by_handle(const wire::RouteMatch& route, std::string_view body,
                        const Translation& how) {
  const std::optional<Handle> handle = parse_handle(route.lease);
  if (!handle) {
    return refused(RefusalCode::kNotFound,
                   "'" + std::string(route.lease) + "' is no handle of a lease: l_ and 26 letters");
  }
  switch (route.route) {
    case Route::kClaim:
      return claim(*handle, body, how);
    case Route::kJoin:
      return join(*handle, body, how);
    case Route::kExit:
      return report_exit(*handle, body, how);
    case Route::kPark: {
      const Result<wire::ParkBody> read = wire::decode<wire::ParkBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::Park{.actor = how.caller.actor, .handle = *handle, .parked = read->parked};
    }
    case Route::kCheckpointed: {
      Result<wire::CheckpointedBody> read = wire::decode<wire::CheckpointedBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::ReportCheckpoint{.actor = how.caller.actor,
                                    .handle = *handle,
                                    .number = read->number,
                                    .outcome = read->outcome,
                                    .detail = std::move(read->detail)};
    }
    case Route::kRequeuing:
      return without_body(core::BeginRequeue{.actor = how.caller.actor, .handle = *handle}, body);
    default: {
      CHECK(route.route == Route::kReconnect);
      const Result<wire::ReconnectBody> read = wire::decode<wire::ReconnectBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::Reconnect{
          .actor = how.caller.actor, .handle = *handle, .restarts = read->restarts};
    }
  }
}

ParsedCommand resize(LeaseId lease, std::string_view body, const Translation& how) {
  const Result<wire::ResizeBody> read = wire::decode<wire::ResizeBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  const std::optional<LeaseView> now = how.coordinator.lease(lease, how.now);
  // Bytes for a lease that has its devices to itself make it an ordinary budget.
  const Share kept = now && now->request.share == Share::kSlice ? Share::kSlice : Share::kBudget;
  return core::Resize{.actor = how.caller.actor,
                      .lease = lease,
                      .share = read->share.value_or(kept),
                      .vram = read->vram.value_or(Bytes{}),
                      .wait_max = read->wait_max};
}

ParsedCommand pause(Route route, LeaseId lease, std::string_view body, const Translation& how) {
  Result<wire::PauseBody> read = wire::decode<wire::PauseBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  core::PauseTerms terms{.lasts = read->lasts, .reason = std::move(read->reason)};
  if (route == Route::kFreeze) {
    return core::Freeze{.actor = how.caller.actor, .lease = lease, .terms = std::move(terms)};
  }
  return core::Suspend{.actor = how.caller.actor, .lease = lease, .terms = std::move(terms)};
}

ParsedCommand report_progress(LeaseId lease, std::string_view body, const Translation& how) {
  Result<wire::ProgressBody> read = wire::decode<wire::ProgressBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  return core::ReportProgress{.actor = how.caller.actor,
                              .lease = lease,
                              .done = read->done,
                              .total = read->total,
                              .left = read->left,
                              .note = std::move(read->note)};
}

ParsedCommand by_ref(const wire::RouteMatch& route, std::string_view body, const Translation& how) {
  const auto found = find_lease(route.lease, how);
  if (const auto* error = std::get_if<ApiError>(&found)) return *error;
  const LeaseId lease = std::get<LeaseId>(found);
  switch (route.route) {
    case Route::kRelease: {
      const Result<wire::ReleaseBody> read = wire::decode<wire::ReleaseBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::Release{.actor = how.caller.actor,
                           .lease = lease,
                           .kill = read->kill,
                           .detach = read->detach,
                           .requester = how.caller.process};
    }
    case Route::kCancel:
      return without_body(core::Release{.actor = how.caller.actor, .lease = lease, .cancel = true},
                          body);
    case Route::kSuspend:
    case Route::kFreeze:
      return pause(route.route, lease, body, how);
    case Route::kCheckpoint: {
      const Result<wire::CheckpointBody> read = wire::decode<wire::CheckpointBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::AskCheckpoint{
          .actor = how.caller.actor, .lease = lease, .wait_max = read->wait_max};
    }
    case Route::kResume:
      return without_body(core::Resume{.actor = how.caller.actor, .lease = lease}, body);
    case Route::kMove: {
      Result<wire::MoveBody> read = wire::decode<wire::MoveBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::Migrate{
          .actor = how.caller.actor, .lease = lease, .to = std::move(read->devices)};
    }
    case Route::kRequeue: {
      const Result<wire::RequeueBody> read = wire::decode<wire::RequeueBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::AskRequeue{.actor = how.caller.actor, .lease = lease, .unsaved = read->unsaved};
    }
    case Route::kResize:
      return resize(lease, body, how);
    case Route::kProgress:
      return report_progress(lease, body, how);
    default: {
      CHECK(route.route == Route::kRenew);
      const Result<wire::RenewBody> read = wire::decode<wire::RenewBody>(body);
      if (!read.ok()) return wire::to_api_error(read.error());
      return core::Renew{.actor = how.caller.actor, .lease = lease, .ttl = read->ttl};
    }
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
