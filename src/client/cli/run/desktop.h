// SPDX-License-Identifier: Apache-2.0
// Starts berth-notify where a rule is to be shown on the desktop, so that nobody has to. It ends
// with the daemon, and is one for a session however often it is started.
#pragma once

#include "client/client.h"
#include "config/config.h"

namespace berth::cli {

/// Whether `berth run` is to: a rule wants it, the user has not switched it off, there is a session
/// bus, and this is not inside of a lease, whose memory such a process would be counted to.
bool wants_desktop(const config::Config& config);

/// Of a user's own daemon only. What fails is no matter of the command, and is not said.
void show_on_desktop(client::Client& client);

}  // namespace berth::cli
