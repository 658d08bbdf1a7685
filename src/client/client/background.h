// SPDX-License-Identifier: Apache-2.0
// Starts a program that outlives its starter: a daemon, a keeper. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::client {

/// The variables of this process, "NAME=value" each.
std::vector<std::string> own_environment();

struct BackgroundStart {
  std::string program;                   // Its path.
  std::vector<std::string> arguments;    // The first is its name.
  std::vector<std::string> environment;  // "NAME=value", all of it.
  int log = -1;                          // Its stdout and stderr.
  int ready = -1;                        // Its descriptor 3.
};
/// Forks twice, so that the program is the child of nobody who waits for it, and has a session of
/// its own without being able to get a terminal. It begins in `/` with umask 077, with no signal
/// blocked or ignored, and with no other descriptors. What keeps it from being executed is written
/// to `log`.
Status start_in_background(BackgroundStart wanted);

}  // namespace berth::client
