// SPDX-License-Identifier: Apache-2.0
// Support of the driver for berth pause, by its version alone. Pure.
#pragma once

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

Finding look_at_pausing(const DoctorFacts& facts);

}  // namespace berth::cli
