// SPDX-License-Identifier: Apache-2.0
// A daemon that was started by hand goes to the background: own session, directory /, nothing of
// the terminal. Before anything else in the program, because it forks.
#pragma once

#include <string>

#include "base/result.h"
#include "server/log.h"

namespace berth::server {

/// Returns in the daemon only, with a descriptor for its «ready». The caller's process ends: with 0
/// once a byte is written there, or with the daemon's own status if that ends before.
Result<int> go_to_background();

/// Once it is ready: its last words, should it ever have any, go to this file.
void leave_terminal(const std::string& log_path);

/// A daemon in a container sees neither the processes nor the leases outside it: it says so in its
/// log, or, where it is not allowed there, ends with kUnavailable and the cure.
Status look_at_container(bool allowed, Log& log);

}  // namespace berth::server
