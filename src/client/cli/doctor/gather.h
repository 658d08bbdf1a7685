// SPDX-License-Identifier: Apache-2.0
// Looks at the machine, the environment and the daemon, for the doctor. Changes nothing, but that a
// daemon may be started as by any other verb. Blocks on files and on the daemon.
#pragma once

#include <string>

#include "cli/doctor/facts.h"
#include "client/client.h"

namespace berth::cli {

/// `lock_prefix`: what the names of lock files begin with, such as /tmp/gpu_lock.
DoctorFacts gather_facts(client::Autostart autostart, const std::string& lock_prefix);

}  // namespace berth::cli
