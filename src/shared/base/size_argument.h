// SPDX-License-Identifier: Apache-2.0
// A size as it is written on a command line, in one word: for the commands that messages offer, and
// the size that they propose.
#pragma once

#include <string>

#include "base/units.h"

namespace berth {

/// Never more than it: "1433M", "8G".
std::string size_argument(Bytes bytes);
/// Never less than it.
std::string size_argument_above(Bytes bytes);

/// The budget that is proposed where so much is needed: larger, and a multiple of 256 MiB.
Bytes budget_for(Bytes needed);

}  // namespace berth
