// SPDX-License-Identifier: Apache-2.0
// Starts the user's daemon where none runs. The daemon takes nothing from its first caller: own
// session, directory /, umask 077, no descriptors, a short list of variables. Of many callers
// exactly one starts it. Blocks until the daemon answers; a thread that forks must be the only one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "os/paths.h"
#include "os/programs.h"

namespace berth::client {

struct AutostartOptions {
  std::string program;  // berthd
  os::Paths paths;      // Of the daemon, as it will compute them itself.
  Duration within = seconds(15);
};

/// Returns true if this call started the daemon; false if it was found running once the lock on
/// starting was had. kUnavailable with the end of the daemon's own complaint where it did not come
/// up; its output goes to berthd.log in the runtime directory. kCannotCreate: that directory cannot
/// be made, or others could write there.
Result<bool> autostart(const AutostartOptions& options);

using os::sibling_program;

/// Of `environment` ("NAME=VALUE" each) what a daemon may know.
std::vector<std::string> daemon_environment(const std::vector<std::string>& environment);

}  // namespace berth::client
