// SPDX-License-Identifier: Apache-2.0
// The door to chance: the kernel's random numbers. Any thread.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace berth::os {

std::uint64_t random_number();
Handle random_handle();

}  // namespace berth::os
