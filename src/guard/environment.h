// SPDX-License-Identifier: Apache-2.0
// The variables that the program was started with, without the C library. They are read once, when
// this library is loaded: programs clear their environment, and one thread that sets a variable
// moves what all others read. Any thread.
#pragma once

namespace berth::guard {

/// BERTH_LEASE_DIR; empty where it is not set.
const char* lease_directory();
/// BERTH_ON_FULL.
const char* on_full();
/// BERTH_DISABLE is set, and neither empty nor 0.
bool is_disabled();

/// Where the program was started in no lease: reads them again, for one that it has taken since
/// (libberth sets them). Before this process is held to a lease.
void look_for_a_lease();

}  // namespace berth::guard
