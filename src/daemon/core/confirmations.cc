// SPDX-License-Identifier: Apache-2.0
#include "core/confirmations.h"

#include <algorithm>

#include "base/checked.h"
#include "core/limits.h"

namespace berth::core {

void Confirmations::await_end(LeaseId id) {
  known_[id].end_asked_since = core_->now().instant;
  ending_.insert(id);
}

void Confirmations::await_shrunk(LeaseId id) {
  OfLease& known = known_[id];
  known.shrunk_at = core_->now().instant;
  known.shrink_confirmed = false;
  shrunk_.insert(id);
}

bool Confirmations::may_be_above(LeaseId id) const {
  return shrunk_.contains(id) && !known_.at(id).shrink_confirmed;
}

Instant Confirmations::shrunk_at(LeaseId id) const {
  return checked(known_.at(id).shrunk_at);
}

void Confirmations::confirm_shrunk(LeaseId id) {
  known_[id].shrunk_at.reset();
  shrunk_.erase(id);
}

Instant Confirmations::shrunk_due(Instant asked_at) const {
  Instant at = Instant::never();
  for (const LeaseId id : shrunk_) {
    if (known_.at(id).shrink_confirmed) continue;
    const Instant now = core_->now().instant;
    at = std::min(at, asked_at < shrunk_at(id) ? now : now + limits::kProbeSlowEvery);
  }
  return at;
}

void Confirmations::await_swapped_out(LeaseId id) {
  known_[id].swapped_out_at = core_->now().instant;
  swapped_out_.insert(id);
}

std::set<LeaseId> Confirmations::take_swapped_out(const Sample& sample) {
  std::set<LeaseId> told;
  for (const LeaseId id : swapped_out_) {
    if (sample.asked_at >= known_.at(id).swapped_out_at) told.insert(id);
  }
  for (const LeaseId id : told) swapped_out_.erase(id);
  return told;
}

void Confirmations::forget(LeaseId id) {
  known_.forget(id);
  for (std::set<LeaseId>* ids : {&ending_, &shrunk_, &swapped_out_}) ids->erase(id);
}

}  // namespace berth::core
