// SPDX-License-Identifier: Apache-2.0
#include "core/swap_needs.h"

#include <algorithm>
#include <vector>

namespace berth::core {

bool SwapNeeds::has_account(const Lease& lease, std::size_t i) const {
  const Use* use = attribution_->use(lease.id, lease.held()->parts[i].device);
  return use != nullptr && use->ledger;
}

bool SwapNeeds::is_to_be_measured(const Lease& lease) const {
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    if (!has_account(lease, i)) return true;
  }
  return false;
}

Bytes SwapNeeds::before(const Lease& lease, std::size_t i) const {
  const Held& held = *lease.held();
  const Bytes bytes = held.its_suspension().used[i];
  const Use* use = attribution_->use(lease.id, held.parts[i].device);
  const bool is_told = use != nullptr && use->ledger;
  return is_told ? std::max(bytes, *use->ledger + use->unaccounted) : bytes;
}

Bytes SwapNeeds::to_return(const Lease& lease, std::size_t i, bool measured) const {
  const Bytes had = before(lease, i);
  const bool is_known = measured || has_account(lease, i);
  return is_known ? had : std::max(had, lease.held()->parts[i].budget);
}

bool SwapNeeds::have_room(const Lease& lease, bool measured) const {
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    if (!has_room(lease, i, measured)) return false;
  }
  return true;
}

bool SwapNeeds::has_room(const Lease& lease, std::size_t i, bool measured) const {
  const Held& held = *lease.held();
  const DeviceId id = held.parts[i].device;
  const Account* account = ledger_->find(id);
  const KnownDevice* device = devices_->find(id);
  if (account == nullptr || !account->seen || device == nullptr) return false;
  if (!device->used || device->asleep) return false;
  const Bytes need = to_return(lease, i, measured);
  if (need == Bytes{}) return true;
  const Bytes margin = std::max(mib(256), Bytes{need.value / 100 * 3});
  const Bytes wanted = std::min(need + margin, std::max(need, held.parts[i].budget));
  // What of it is there already need not come back; but on another device it is something else, of
  // a process that was not moved, and so it is beside what was measured when it left.
  const std::vector<DeviceId>& from = held.its_suspension().moved_from;
  const Use* use = attribution_->use(lease.id, id);
  const bool is_same = use != nullptr && (from.empty() || from[i] == id);
  const bool counts = is_same && (has_account(lease, i) || !measured);
  const Bytes there = counts ? use->now.value_or(Bytes{}) : Bytes{};
  const Bytes taken = account->driver + *device->used;
  return saturating_sub(wanted, there) <= saturating_sub(account->capacity, taken);
}

Bytes SwapNeeds::of_turn(const Lease& lease) const {
  if (lease.waiting() != nullptr) return lease.request.vram;
  return std::max(lease.held()->parts.front().budget, before(lease, 0));
}

}  // namespace berth::core
