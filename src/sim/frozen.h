// SPDX-License-Identifier: Apache-2.0
// Check that what is said of a granted lease that does not run is so: who wants that, for whom and
// until when, and that it goes on then. Done in copies of the coordinator, like what is proposed.
#pragma once

#include <cstdint>
#include <string>

#include "sim/attempt.h"
#include "sim/observations.h"

namespace berth::sim {

/// Empty, or what of one of them, which the number chooses, is not so. Changes nothing.
std::string check_halt(const Observations& observations, const Attempt& base, std::uint64_t number);

}  // namespace berth::sim
