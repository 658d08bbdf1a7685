// SPDX-License-Identifier: Apache-2.0
// Answers to questions that change nothing, as JSON for the client that looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/coordinator.h"
#include "core/event.h"
#include "model/lease.h"
#include "server/ports.h"
#include "wire/answers.h"
#include "wire/lease.h"

namespace berth::server {

/// Devices, live leases and the queue at one moment, with what a context costs that user.
wire::StatusAnswer status_answer(const core::Coordinator& coordinator, core::Now now,
                                 bool simulated, UserId user);
std::string status_json(const core::Coordinator& coordinator, core::Now now, bool simulated,
                        const wire::Viewer& viewer);
std::string devices_json(const core::Coordinator& coordinator, core::Now now, bool simulated,
                         const wire::Viewer& viewer);
std::string queue_json(const core::Coordinator& coordinator, core::Now now,
                       const wire::Viewer& viewer);
struct Which {
  bool ended = false;                        // Beside the live ones.
  std::optional<std::uint32_t> limit = {};   // The youngest, so many at most; all if absent,
  std::optional<std::uint64_t> before = {};  // of those with smaller numbers.
};
std::string leases_json(const core::Coordinator& coordinator, core::Now now, Which which,
                        const wire::Viewer& viewer);

/// What an event of a stream says.
std::string item_json(const Item& item, bool simulated, const wire::Viewer& viewer);

/// What the command of a lease is told: docs/protocol.md lists the variables.
struct EnvironmentFacts {
  bool devices_by_uuid = false;  // Else by index, as programs expect that parse numbers.
  std::string socket;
};
wire::Environment command_environment(const LeaseView& lease, const EnvironmentFacts& facts);

}  // namespace berth::server
