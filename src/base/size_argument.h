// SPDX-License-Identifier: Apache-2.0
// A size as it is written on a command line, in one word: for the commands that messages offer.
#pragma once

#include <string>

#include "base/units.h"

namespace berth {

/// Never more than it: "1433M", "8G".
std::string size_argument(Bytes bytes);
/// Never less than it.
std::string size_argument_above(Bytes bytes);

}  // namespace berth
