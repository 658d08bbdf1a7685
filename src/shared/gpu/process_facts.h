// SPDX-License-Identifier: Apache-2.0
// Facts of /proc about the processes on a device: all by which they are attributed to leases. Used
// by the probe, so that the daemon never reads it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/units.h"
#include "model/device.h"
#include "os/unique_fd.h"

namespace berth::gpu {

class ProcessFacts {
 public:
  /// All but `used`. What changes seldom (name, user, parents, environment) is read anew each
  /// five seconds: it takes many files of /proc.
  ProcessSample look(std::int32_t pid, Instant now);

  /// Forgets those that nobody asked for since the last call.
  void forget_unseen();

 private:
  struct Known {
    ProcessSample facts;
    Instant read_at;
    os::UniqueFd pidfd;  // By which the process is known to be the same one, alive.
    bool seen = true;
  };
  std::map<std::int32_t, Known> known_;
};

}  // namespace berth::gpu
