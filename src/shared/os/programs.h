// SPDX-License-Identifier: Apache-2.0
// Places of our own programs: beside one another. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::os {

/// The path of the program of that name in the directory of the running one. kNotFound if there is
/// none that may be run.
Result<std::string> sibling_program(const std::string& name);

}  // namespace berth::os
