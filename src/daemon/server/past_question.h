// SPDX-License-Identifier: Apache-2.0
// From the query of a request to a question about the past: which device and lease are meant.
#pragma once

#include <string>
#include <variant>

#include "core/coordinator.h"
#include "server/history_thread.h"
#include "wire/error.h"
#include "wire/routes.h"

namespace berth::server {

/// Of the routes kHistory, kSessions and kAudit.
std::variant<HistoryAsk, wire::ApiError> past_question(const wire::RouteMatch& route,
                                                       const core::Coordinator& coordinator,
                                                       core::Actor actor, core::Now now,
                                                       const wire::UserNames& names);
std::variant<std::string, wire::ApiError> past_answer(const Result<std::string>& body);

}  // namespace berth::server
