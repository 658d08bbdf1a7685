// SPDX-License-Identifier: Apache-2.0
// Kinship of processes: which one started which, and by which command, as /proc has it, where what
// it names is what the daemon does. The edge of `berth top`.
#pragma once

#include <map>
#include <vector>

#include "base/ids.h"
#include "cli/top/state.h"

namespace berth::cli::top {

/// Adds the processes that leases name, and to each its parent among those of its lease; commands
/// to those of `viewer` alone: of others the daemon tells what may be known.
void complete(std::vector<ProcessFacts>& processes, const std::map<LeaseId, LeaseView>& leases,
              UserId viewer);

}  // namespace berth::cli::top
