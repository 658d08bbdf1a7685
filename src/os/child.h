// SPDX-License-Identifier: Apache-2.0
// Starts one of our own helper programs, which talks over a socket. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::os {

struct ChildPlan {
  std::string program;                 // Its path.
  std::vector<std::string> arguments;  // After its name.
  std::string library_path;            // LD_LIBRARY_PATH for it; empty: as it is.
};

struct Child {
  pid_t pid = 0;
  UniqueFd socket;  // Its standard input and output; does not block.
};

/// All descriptors but standard error are closed in it. Signals are as in a new program, and the
/// group is its own: what a terminal sends to us passes it by. Whoever started it reaps it.
Result<Child> start_child(const ChildPlan& plan);

}  // namespace berth::os
