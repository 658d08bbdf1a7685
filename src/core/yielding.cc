// SPDX-License-Identifier: Apache-2.0
// Leases that make room for an urgent request, because they were started with leave to: they are
// suspended, and come back when it has what it asked for, or has gone.
//
// Note [Who makes room]: only for an urgent request that is next in the queue and asks for one
// device. On each device that it may use, those that may yield are taken in this order until it
// fits: the lower priority first, then the one that has least to be moved, then the youngest. The
// device on which least is moved is chosen. Nobody is asked while others are on their way out for
// it, nor of whom nothing is on a device yet: there is nothing that could be moved, and a
// suspension that comes to nothing is not tried again for a minute.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/impl.h"
#include "core/placement.h"

namespace berth::core {
bool Coordinator::Impl::may_yield_to(const Lease& lease, const Lease& urgent) const {
  const Held* held = lease.held();
  const bool runs = held != nullptr && held->claimed && held->command && !held->command_ended;
  return runs && lease.request.may_yield && lease.request.priority < urgent.request.priority &&
         !held->revoked && !held->suspension && !held->requeue && !lease.checkpoints.asked &&
         observed.at(lease.id).move == 0 && observed.at(lease.id).yield_not_before <= now.instant &&
         !is_not_there(lease);
}

// By the last sample. Where a driver lists no processes nobody knows.
bool Coordinator::Impl::is_not_there(const Lease& lease) const {
  const Observed& seen = observed.at(lease.id);
  return std::ranges::all_of(lease.held()->parts, [&](const Part& part) {
    const auto device = seen_devices.find(part.device);
    if (device == seen_devices.end() || !device->second.lists_processes) return false;
    const auto use = seen.use.find(part.device);
    return use == seen.use.end() ||
           (!use->second.figure_missing && use->second.now.value_or(Bytes{}) == Bytes{});
  });
}

// Absent: it would not fit there whoever made room.
std::optional<std::vector<LeaseId>> Coordinator::Impl::who_makes_room(
    const Lease& urgent, const Account& account) const {
  const bool whole = urgent.request.share == Share::kExclusive;
  std::vector<std::tuple<Priority, Bytes, LeaseId>> able;
  for (const auto& [id, entry] : account.entries) {
    const Lease& lease = *state.find(id);
    if (may_yield_to(lease, urgent)) {
      able.emplace_back(lease.request.priority, observed.at(id).used(), id);
    }
  }
  std::ranges::sort(able, [](const auto& a, const auto& b) {
    const auto& [a_priority, a_bytes, a_id] = a;
    const auto& [b_priority, b_bytes, b_id] = b;
    return std::tie(a_priority, a_bytes, b_id) < std::tie(b_priority, b_bytes, a_id);
  });
  Account without = account;
  std::vector<LeaseId> chosen;
  const auto fits = [&] {
    return fits_now(without, urgent.request, settings.exclusive_unmanaged_max);
  };
  for (const auto& [priority, bytes, id] : able) {
    if (fits()) break;
    const Entry& entry = account.entries.at(id);
    without.charged = saturating_sub(without.charged, entry.charge);
    without.granted = saturating_sub(without.granted, entry.budget);
    without.exclusive_count -= entry.exclusive ? 1U : 0U;
    without.entries.erase(id);
    chosen.push_back(id);
  }
  if (!fits() || chosen.empty()) return std::nullopt;
  if (whole) return chosen;
  // One that was taken before a larger one may not be needed any more.
  for (auto id = chosen.begin(); id != chosen.end() && chosen.size() > 1;) {
    const Entry& entry = account.entries.at(*id);
    Account with = without;
    with.charged += entry.charge;
    with.granted += entry.budget;
    with.exclusive_count += entry.exclusive ? 1U : 0U;
    with.entries.emplace(*id, entry);
    if (!fits_now(with, urgent.request, settings.exclusive_unmanaged_max)) {
      ++id;
      continue;
    }
    without = std::move(with);
    id = chosen.erase(id);
  }
  return chosen;
}

// See Note [Who makes room].
void Coordinator::Impl::make_room_for_urgent() {
  if (!queue.has_urgent_request() || !may_grant()) return;
  const Lease* next = InOrder(queue, now.instant, settings, state.shares()).next();
  if (next == nullptr || next->request.priority != Priority::kUrgent) return;
  if (!is_offerable(*next) || !user_has_room(*next) || device_count(next->request) != 1) return;
  std::optional<std::vector<LeaseId>> best;
  Bytes least;
  for (const Account& account : ledger.accounts()) {
    if (!account.seen || !is_eligible(account, next->request)) continue;
    const bool under_way = std::ranges::any_of(account.entries, [&](const auto& entry) {
      const Held* held = state.find(entry.first)->granted();
      return held != nullptr && held->suspension && held->suspension->yields_to == next->id;
    });
    if (under_way) return;
    const auto chosen = who_makes_room(*next, account);
    if (!chosen) continue;
    Bytes moved;
    for (const LeaseId id : *chosen) moved += observed.at(id).used();
    if (best && moved >= least) continue;
    best = chosen;
    least = moved;
  }
  if (!best) return;
  const LeaseId urgent = next->id;
  for (const LeaseId id : *best) suspend(id, {.yields_to = urgent});
}

// Whoever made room for somebody who has it by now, or does not want it any more.
void Coordinator::Impl::resume_yielded() {
  for (const LeaseId id : std::set(yielding)) {
    const Held* held = state.find(id)->held();
    if (held == nullptr || !held->is_swapped_out() || held->pause) continue;
    const Suspension& suspension = held->its_suspension();
    if (suspension.queued || !suspension.yields_to) continue;
    const Lease* urgent = state.find(*suspension.yields_to);
    const bool waits = urgent != nullptr && urgent->waiting() != nullptr;
    if (!waits) decide(id, ResumeQueued{id});
  }
}

}  // namespace berth::core
