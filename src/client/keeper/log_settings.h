// SPDX-License-Identifier: Apache-2.0
// Settings of the logs of jobs, as they are configured. Any thread; blocks on the disk.
#pragma once

#include "base/units.h"
#include "os/paths.h"

namespace berth::keeper {

/// As it is configured now, or as it is built in where that makes no sense. 0: no bound.
Bytes log_max(const os::Environment& env);

}  // namespace berth::keeper
