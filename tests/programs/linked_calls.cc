// SPDX-License-Identifier: Apache-2.0
// For the caller that is linked with a driver.
#include "linked.h"

Any linked_call(const std::string& /*route*/, const std::string& symbol) {
  for (const LinkedCall* call = kLinkedCalls; call->name != nullptr; ++call) {
    if (symbol == call->name) return call->function;
  }
  return nullptr;
}
