// SPDX-License-Identifier: Apache-2.0
// For the caller that is linked with no driver.
#include "linked.h"

Any linked_call(const std::string& /*route*/, const std::string& /*symbol*/) {
  return nullptr;
}
