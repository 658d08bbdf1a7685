// SPDX-License-Identifier: Apache-2.0
// Turns errno into an Error that says what could not be done to what. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::os {

/// "cannot open /x: No such file or directory", with the code that fits `number`.
Error system_error(const std::string& cannot_what, int number);

}  // namespace berth::os
