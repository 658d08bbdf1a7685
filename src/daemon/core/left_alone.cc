// SPDX-License-Identifier: Apache-2.0
#include "core/left_alone.h"

#include <string>

#include "core/limits.h"

namespace berth::core {

// Said once of each: a lease may be moved every second, for its turns.
void LeftAlone::take(LeaseId id, const std::vector<std::int32_t>& pids, bool are_all) {
  OfLease& known = known_[id];
  if (are_all) known.pids.clear();
  for (const std::int32_t pid : pids) {
    if (are_all && known.pids.size() < limits::kMembersPerLease) known.pids.insert(pid);
    if (known.logged.size() >= limits::kMembersPerLease) continue;
    if (!known.logged.insert(pid).second) continue;
    core_->say(text_of(id) + ": process " + std::to_string(pid) +
               " of it belongs to another user: it is neither stopped nor moved");
  }
}

void LeftAlone::on(const NotSignalled& event) {
  if (core_->state().find(event.lease) == nullptr) return;
  std::set<std::int32_t>& pids = known_[event.lease].pids;
  if (pids.size() < limits::kMembersPerLease) pids.insert(event.process.pid);
}

}  // namespace berth::core
