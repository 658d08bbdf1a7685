// SPDX-License-Identifier: Apache-2.0
// Questions to one lease of the state: its place among those who wait, and what is left of it.
#include <algorithm>

#include "core/state.h"

namespace berth::core {

bool Held::is_on(DeviceId device) const {
  return std::ranges::find(parts, device, &Part::device) != parts.end();
}

const Held* Lease::granted() const {
  if (const Releasing* gone = releasing()) return &gone->was;
  return held();
}

bool Lease::is_outlived() const {
  const Releasing* gone = releasing();
  return gone != nullptr && gone->was.has_processes() && !gone->was.requeue;
}

Instant Lease::waits_since() const {
  if (held() == nullptr || !held()->is_swapped_out()) return queued_at;
  return held()->its_suspension().queued.value_or(queued_at);
}

std::uint64_t Lease::waits_sequence() const {
  if (held() == nullptr || !held()->is_swapped_out()) return queued_sequence;
  const Suspension& away = held()->its_suspension();
  return away.queued ? away.queued_sequence : queued_sequence;
}

}  // namespace berth::core
