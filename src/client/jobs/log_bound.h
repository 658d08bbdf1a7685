// SPDX-License-Identifier: Apache-2.0
// The bound of a log that a command writes by itself, through a descriptor that it has inherited.
// See Note [Bound of a log]. Any thread; blocks on the disk.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::jobs {

/// Where it takes more than `bound` on the disk, all but its newest half of that goes. 0: no bound.
/// An error: the file system cannot.
Status bound_log(const std::string& path, Bytes bound);

/// From there on the log of that descriptor has not been cut.
std::int64_t first_left(int descriptor, std::int64_t from);

}  // namespace berth::jobs
