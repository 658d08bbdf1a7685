// SPDX-License-Identifier: Apache-2.0
// Memory of the machine that a process may still take. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace berth::os {

/// The least of what the machine has available (MemAvailable of /proc/meminfo) and what is left in
/// each of the process's control groups (memory.max of cgroup v2). Absent: unknown.
std::optional<Bytes> host_memory_left(std::int32_t pid);

/// Of the text of /proc/meminfo.
std::optional<Bytes> available_in(std::string_view meminfo);
/// The path of the unified hierarchy in the text of /proc/PID/cgroup; empty if there is none.
std::string_view group_in(std::string_view cgroup);

}  // namespace berth::os
