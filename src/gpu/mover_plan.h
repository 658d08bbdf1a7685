// SPDX-License-Identifier: Apache-2.0
// How berth-mover is started. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "os/child.h"

namespace berth::gpu {

/// A berth-mover beside the running program. `sim`: BERTH_SIM; where it is set, it finds the
/// simulated driver, of the version that is asked for there.
Result<os::ChildPlan> mover_plan(const std::string& sim);

}  // namespace berth::gpu
