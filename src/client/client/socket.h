// SPDX-License-Identifier: Apache-2.0
// Connects to a daemon's socket and makes sure of who listens there. Any thread; connecting may
// block for kConnectWithin.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"

namespace berth::client {

inline constexpr Duration kConnectWithin = seconds(5);

/// What to do where the daemon has as many connections waiting as it can.
enum class Backlog : std::uint8_t { kWait, kGiveUp };

/// A connected socket whose listener is root, the user `berth` or ourselves. kNotFound: there is no
/// such socket; kUnavailable: nobody listens; kTimedOut: its backlog is full, for kConnectWithin if
/// that is waited for;
/// kPermission: we may not connect, or another user listens.
Result<os::UniqueFd> connect_to(const std::string& path, Backlog backlog = Backlog::kWait);

/// As connect_to, where a daemon is expected (again): tries for kConnectWithin, with pauses of
/// random length, so that ten thousand clients do not come in one instant.
Result<os::UniqueFd> connect_patiently(const std::string& path);

/// 20 ms and a random part of a second: how long to wait before the next try.
Duration reconnect_pause();

}  // namespace berth::client
