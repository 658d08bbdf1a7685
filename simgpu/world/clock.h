// SPDX-License-Identifier: Apache-2.0
// The clock of a world, the same for all its processes. Any thread may ask.
#pragma once

#include <cstdint>

namespace berth::simgpu {

/// The machine's CLOCK_BOOTTIME in nanoseconds, also in a time namespace that has it otherwise.
std::int64_t now_ns();

}  // namespace berth::simgpu
