// SPDX-License-Identifier: Apache-2.0
#include "core/displaced.h"

#include <algorithm>

namespace berth::core {

void Displaced::resume_on(DeviceId device) {
  for (const LeaseId id : std::set(leases_)) {
    const Held* held = core_->state().find(id)->held();
    if (held == nullptr || !held->is_swapped_out() || held->its_suspension().queued ||
        held->pause) {
      leases_.erase(id);
      continue;
    }
    if (std::ranges::find(held->parts, device, &Part::device) == held->parts.end()) continue;
    leases_.erase(id);
    core_->decide(id, ResumeQueued{id});
  }
}

}  // namespace berth::core
