// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/identity.h"

#include <unistd.h>

#include "os/processes.h"

namespace berth::simgpu {

Identity own_identity() {
  const Result<os::ProcessState> state = os::process_state(::getpid());
  if (!state.ok()) return 0;
  return static_cast<Identity>(state->process.pid) << 42U | state->process.start_ticks;
}

bool is_alive(Identity identity) {
  return os::is_alive({.pid = pid_of(identity), .start_ticks = start_of(identity)});
}

}  // namespace berth::simgpu
