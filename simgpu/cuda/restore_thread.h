// SPDX-License-Identifier: Apache-2.0
// The thread of a process that does what checkpoint calls ask for, wherever they are made. It is
// the process's own, as the real driver's is: so it changes nothing of a process that is dead, a
// stopped process is not served, and the asking process may be killed meanwhile.
#pragma once

#include "simgpu/cuda/driver.h"

namespace berth::simgpu {

constexpr int kCheckpointsSince = 12080;

/// Starts it, for good. Without a thread to be had the process cannot be checkpointed, and that is
/// all. The driver and the gate are never destroyed.
void serve_checkpoints(Driver& driver, Barrier& barrier);

}  // namespace berth::simgpu
