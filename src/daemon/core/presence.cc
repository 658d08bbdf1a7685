// SPDX-License-Identifier: Apache-2.0
#include "core/presence.h"

namespace berth::core {

void Presence::connected(LeaseId id) {
  known_[id].connected = true;
  known_[id].reconnect_until.reset();
}

void Presence::disconnected(LeaseId id, std::optional<Instant> back_until) {
  known_[id].connected = false;
  if (back_until) known_[id].reconnect_until = back_until;
}

void Presence::offered(LeaseId id, Instant until) {
  known_[id].claim_until = until;
}

bool Presence::is_offerable(const Lease& lease) const {
  return !lease.waiting()->is_set_aside() && is_connected(lease.id) &&
         dependencies_->is_free(lease);
}

bool Presence::keeps_place(const Lease& lease) const {
  const std::optional<Instant> until = reconnect_until(lease.id);
  return !lease.waiting()->is_set_aside() && dependencies_->is_free(lease) && until &&
         *until > core_->now().instant;
}

bool Presence::takes_part(const Lease& lease) const {
  return is_offerable(lease) ? indexes_->user_has_room(lease) : keeps_place(lease);
}

}  // namespace berth::core
