// SPDX-License-Identifier: Apache-2.0
// Plan by which the children that ask the driver are started. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "os/child.h"

namespace berth::gpu {

/// The program of that name beside the running one. `sim`: BERTH_SIM; where it is set, it finds the
/// simulated driver, of the version that is asked for there.
Result<os::ChildPlan> child_plan(const std::string& name, const std::string& sim);

}  // namespace berth::gpu
