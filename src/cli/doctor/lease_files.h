// SPDX-License-Identifier: Apache-2.0
// The doctor's finding about the directory that the files of leases lie in. Pure.
#pragma once

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

/// Of the daemon of all users: in user mode who fills it does so to himself.
Finding look_at_lease_files(const DirectoryFacts& leases);

}  // namespace berth::cli
