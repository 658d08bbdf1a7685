// SPDX-License-Identifier: Apache-2.0
// From what is the case to what is wrong. Pure.
#pragma once

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

/// By group. Each check says something, be it that all is well.
Findings judge(const DoctorFacts& facts);

}  // namespace berth::cli
