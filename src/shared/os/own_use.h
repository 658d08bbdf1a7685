// SPDX-License-Identifier: Apache-2.0
// Use of the machine by the calling process itself. Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace berth::os {

struct OwnUse {
  Duration cpu;                              // Of all its threads, user and system.
  std::optional<Bytes> resident;             // Its memory, what it shares included.
  std::optional<std::uint64_t> descriptors;  // That are open.
};
OwnUse own_use();

}  // namespace berth::os
