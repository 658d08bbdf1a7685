// SPDX-License-Identifier: Apache-2.0
#include "server/real_world.h"

namespace berth::server {

// A lease without these files is a lease all the same; what runs in it is not held to its budget.
void RealWorld::hold_to(Handle lease, const std::vector<Part>& budgets) {
  if (budgets.empty()) {
    parts_.files.remove(lease);
    return;
  }
  std::vector<enforce::Budget> wanted;
  for (const Part& part : budgets) wanted.push_back({part.device, part.budget});
  if (const Status made = parts_.files.set(lease, wanted); !made.ok()) {
    parts_.log.warn("a lease is not held to its budget: " + made.error().message);
  }
}

}  // namespace berth::server
