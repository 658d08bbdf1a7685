// SPDX-License-Identifier: Apache-2.0
// The variables of the process, without the C library.
#pragma once

namespace berth::guard {

/// Null where it is not set.
const char* variable(const char* name);
/// Set, and neither empty nor 0.
bool is_switched_on(const char* name);

}  // namespace berth::guard
