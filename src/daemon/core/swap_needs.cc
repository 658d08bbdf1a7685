// SPDX-License-Identifier: Apache-2.0
#include "core/swap_needs.h"

#include <algorithm>
#include <vector>

namespace berth::core {

bool SwapNeeds::has_account(const Lease& lease, std::size_t i) const {
  const Use* use = attribution_->use(lease.id, lease.held()->parts[i].device);
  return use != nullptr && use->ledger;
}

bool SwapNeeds::is_where_it_was(const Lease& lease, std::size_t i) const {
  const Held& held = *lease.held();
  const std::vector<DeviceId>& from = held.its_suspension().moved_from;
  return from.empty() || from[i] == held.parts[i].device;
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

// By processes that were not known when it left: what it had by the driver has been moved. Its own
// account counts those, too.
Bytes SwapNeeds::stayed(const Lease& lease, std::size_t i) const {
  const Use* use = attribution_->use(lease.id, lease.held()->parts[i].device);
  const bool is_told = use != nullptr && !confirmations_->awaits_swapped_out(lease.id);
  return is_told && !has_account(lease, i) ? use->now.value_or(Bytes{}) : Bytes{};
}

Bytes SwapNeeds::when_back(const Lease& lease, std::size_t i) const {
  return before(lease, i) + stayed(lease, i);
}

Bytes SwapNeeds::to_return(const Lease& lease, std::size_t i, Away away) const {
  const Bytes beside = away == Away::kPartly ? Bytes{} : stayed(lease, i);
  const Bytes had = before(lease, i) + beside;
  if (away == Away::kMeasured || has_account(lease, i)) return had;
  const Bytes budget = lease.held()->parts[i].budget;
  return std::max(had, is_where_it_was(lease, i) ? budget : budget + beside);
}

bool SwapNeeds::have_room(const Lease& lease, Away away) const {
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) {
    if (!has_room(lease, i, away)) return false;
  }
  return true;
}

bool SwapNeeds::has_room(const Lease& lease, std::size_t i, Away away) const {
  const Held& held = *lease.held();
  const DeviceId id = held.parts[i].device;
  const Account* account = ledger_->find(id);
  const KnownDevice* device = devices_->find(id);
  if (account == nullptr || !account->seen || device == nullptr) return false;
  if (!device->used || device->asleep) return false;
  const Bytes need = to_return(lease, i, away);
  const bool is_partly = away == Away::kPartly;
  if (need == (is_partly ? Bytes{} : stayed(lease, i))) return true;
  const Bytes margin = std::max(mib(256), Bytes{need.value / 100 * 3});
  const Bytes wanted = std::min(need + margin, std::max(need, held.parts[i].budget));
  // What is there need not come: it is of that need. But on another device than it had left, and
  // where some may be back or an account tells, it is something else, of a process that was not
  // moved.
  const Use* use = attribution_->use(lease.id, id);
  const bool is_beside = !is_partly && !has_account(lease, i);
  const bool counts = use != nullptr && (is_beside || is_where_it_was(lease, i));
  const Bytes there = counts ? use->now.value_or(Bytes{}) : Bytes{};
  const Bytes taken = account->driver + *device->used;
  return saturating_sub(wanted, there) <= saturating_sub(account->capacity, taken);
}

Bytes SwapNeeds::of_turn(const Lease& lease) const {
  if (lease.waiting() != nullptr) return lease.request.vram;
  return std::max(lease.held()->parts.front().budget, when_back(lease, 0));
}

}  // namespace berth::core
