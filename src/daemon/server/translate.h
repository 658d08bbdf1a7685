// SPDX-License-Identifier: Apache-2.0
// From the body of a request to what is asked of the coordinator. Nothing is decided here but
// whether the request makes sense and whose processes it may name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/result.h"
#include "core/coordinator.h"
#include "core/event.h"
#include "model/request.h"
#include "server/engine.h"
#include "wire/error.h"
#include "wire/request.h"
#include "wire/routes.h"

namespace berth::server {

/// What a request without a size means: [policy] default_vram.
struct DefaultVram {
  Share share = Share::kExclusive;
  std::optional<Bytes> vram;  // Absent with kBudget: the request has to say.
  bool learned = false;       // As much as earlier runs used, and this where that is not known.
};

struct Translation {
  core::Actor actor;
  const core::Coordinator& coordinator;
  core::Now now;
  DefaultVram default_vram;
  std::function<Result<UserId>(Process)> owner_of;  // Whose alone it is, or why not.
  std::function<Handle()> draw_handle;
};

using ParsedCommand = std::variant<Command, wire::ApiError>;

/// Routes about processes of the caller's. All else, any process with the user's rights may do,
/// from whatever PID namespace.
bool names_processes(wire::Route route);
/// For kSubmit and kLeaseRoutes.
ParsedCommand translate(const wire::RouteMatch& route, std::string_view body,
                        const Translation& how);
/// The request of kSubmit and kFit, with what was left out filled in.
std::variant<RequestBody, wire::ApiError> translate_request(std::string_view body,
                                                            const Translation& how);

}  // namespace berth::server
