// SPDX-License-Identifier: Apache-2.0
// The doctor's check that programs which use libberth find it, and which one. Looking loads it, as
// such a program does; judging is pure.
#pragma once

#include <string>

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

/// `own_path`: of this program, beside which an installation has its libraries.
LibberthFacts look_at_libberth(const std::string& own_path);
Finding judge_libberth(const LibberthFacts& facts, const std::string& own_version);

}  // namespace berth::cli
