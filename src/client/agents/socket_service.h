// SPDX-License-Identifier: Apache-2.0
// The protocol at a Unix socket, with the lines of stdio: each client is served by a process of its
// own, as if it had started one. For a program with one thread.
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::agents {

inline constexpr std::size_t kClientsMax = 128;

/// Until SIGINT or SIGTERM; those that still serve then are told to end, and awaited. `serve` is
/// called in a new process for each client, with its connection.
Status serve_clients(os::UniqueFd listening, const std::function<Status(int connection)>& serve);

}  // namespace berth::agents
