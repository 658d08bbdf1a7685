// SPDX-License-Identifier: Apache-2.0
// Asks the daemon why the first requests of a queue wait.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/daemon_session.h"
#include "cli/render/status.h"
#include "model/lease.h"

namespace berth::cli {

/// The queue as it came; the first `count` with their reasons. One that has left the queue in the
/// meantime has none.
std::vector<Waiting> with_reasons(std::vector<LeaseView> queue, std::size_t count,
                                  DaemonSession& session);

}  // namespace berth::cli
