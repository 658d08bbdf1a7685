// SPDX-License-Identifier: Apache-2.0
// Identity of the machine and of its boot, and what it lets us have. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace berth::os {

/// "ed6c5fe1-5320-40e2-a696-450d49ba3925": another one after each boot.
Result<std::string> boot_id();
/// 32 hexadecimal digits that stay; "unknown" on a machine that has none.
std::string machine_id();
/// Descriptors: as many as the system lets this process have from now on.
std::uint64_t raise_descriptor_limit();

}  // namespace berth::os
