// SPDX-License-Identifier: Apache-2.0
// Quarantine for what cannot be used, for a person to look at: a database file makes way, together
// with its write-ahead log, under a name that says when and why. Any thread; blocks on the disk.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::store {

/// To "PATH.20260207T131500Z.WHY". The sentence tells what was moved where.
Result<std::string> quarantine(const std::string& path, const std::string& why, UnixMs wall);

}  // namespace berth::store
