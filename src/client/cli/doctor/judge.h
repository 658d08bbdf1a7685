// SPDX-License-Identifier: Apache-2.0
// From what is the case to what is wrong. Pure.
#pragma once

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

/// By group. Each check says something, be it that all is well.
Findings judge(const DoctorFacts& facts);

// Parts of it.
/// Support of the driver for berth pause, by its version alone.
Finding look_at_pausing(const DoctorFacts& facts);
/// The directory that the files of leases lie in, of the daemon of all users: in user mode a
/// user who fills it harms nobody else.
Finding look_at_lease_files(const DirectoryFacts& leases);

}  // namespace berth::cli
