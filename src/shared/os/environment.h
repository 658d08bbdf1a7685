// SPDX-License-Identifier: Apache-2.0
// Reading the variables that the process was started with.
#pragma once

#include <cstdlib>
#include <string>

namespace berth::os {

/// Empty where there is none. Not while another thread sets variables (setenv(3)).
inline std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace berth::os
