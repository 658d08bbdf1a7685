// SPDX-License-Identifier: Apache-2.0
// Stops all processes of a lease by SIGSTOP, and lets them go on. By itself it remembers nothing: a
// later call continues all that is stopped of the lease. Beside what is known of a lease itself,
// these are all processes below its own and below its `berth run`, which is never stopped. What its
// users could not signal themselves (a sudo, and all below it) is left alone: a daemon that serves
// all users may signal more than any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/transfer.h"

namespace berth::gpu {

struct Tree {
  std::optional<Process> supervisor;
  std::vector<Process> roots;
  UserId user = {~0U};     // Whose lease it is; nobody's, if not said.
  std::string lease = {};  // Its handle, as BERTH_LEASE_ID tells it to its processes.
  LeaseId number = {};     // As BERTH_OUTER_LEASES tells it to those of leases inside of it.
};

/// What is told where nothing can be done because of `pid`, which is another user's.
TransferResult others_alone(std::int32_t pid);
/// When this returns none of them runs, and none can start another. What cannot be stopped is told,
/// and then all go on. Where all of it is another user's, nothing is done, and that is told too.
TransferResult stop_all(const Tree& tree);
/// Those too that are below nobody any more, because all above them have ended: by their
/// environment. But for a job that the user has stopped: its `berth run` is stopped too,
/// then, and continues it with itself.
TransferResult let_all_go_on(const Tree& tree);

/// Those of them that are stopped run while this lives.
class RunningMeanwhile {
 public:
  explicit RunningMeanwhile(const Tree& tree);
  ~RunningMeanwhile();
  RunningMeanwhile(const RunningMeanwhile&) = delete;
  RunningMeanwhile& operator=(const RunningMeanwhile&) = delete;

 private:
  UserId user_;
  std::vector<Process> stopped_;
};

}  // namespace berth::gpu
