// SPDX-License-Identifier: Apache-2.0
#include "core/displaced.h"

namespace berth::core {

void Displaced::resume_on(DeviceId device) {
  for (const LeaseId id : std::set(leases_)) {
    const Held* held = core_->state().find(id)->held();
    if (held == nullptr || !held->is_swapped_out() || held->its_suspension().queued ||
        held->pause) {
      leases_.erase(id);
      continue;
    }
    if (!held->is_on(device)) continue;
    leases_.erase(id);
    core_->decide(id, ResumeQueued{id});
  }
}

}  // namespace berth::core
