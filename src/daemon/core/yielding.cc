// SPDX-License-Identifier: Apache-2.0
#include "core/yielding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/placement.h"

namespace berth::core {

namespace {

// Some lease may make room for a request of this priority.
bool can_be_yielded_to(Priority next, const Settings& settings) {
  return next == Priority::kUrgent || settings.idle_leases_make_room();
}

// An administrator lends what nobody computes with, also without leave of its user.
bool is_idle_for(const Lease& lease, const Request& next, const Settings& settings, Instant now) {
  const Held* held = lease.held();
  const Duration idle_max = settings.idle_max_of(lease.request);
  const bool is_idle = held != nullptr && held->idle_since && !held->frozen;
  return is_idle && idle_max > Duration{} && now - *held->idle_since >= idle_max &&
         lease.request.priority <= next.priority;
}

// It was started with leave to.
bool asked_to_yield(const Lease& lease, const Request& next) {
  return next.priority == Priority::kUrgent && lease.request.may_yield &&
         lease.request.priority < next.priority;
}

}  // namespace

bool Yielding::may_yield_to(const Lease& lease, const Lease& next) const {
  const bool is_idle = is_idle_for(lease, next.request, core_->settings(), core_->now().instant);
  if (!is_idle && !asked_to_yield(lease, next.request)) return false;
  const Standing standing = transfers_->standing_of(lease);
  return verdict(Operation::kMakeRoom, standing).answer == Answer::kAccept &&
         transfers_->of(lease.id).yield_not_before <= core_->now().instant && !is_not_there(lease);
}

// By the last sample. Where a driver lists no processes nobody knows.
bool Yielding::is_not_there(const Lease& lease) const {
  return std::ranges::all_of(lease.held()->parts, [&](const Part& part) {
    const KnownDevice* device = devices_->find(part.device);
    if (device == nullptr || !device->lists_processes) return false;
    const Use* use = attribution_->use(lease.id, part.device);
    return use == nullptr || (!use->figure_missing && use->now.value_or(Bytes{}) == Bytes{});
  });
}

// Absent: it would not fit there whichever lease made room.
std::optional<std::vector<LeaseId>> Yielding::who_makes_room(const Lease& next,
                                                             const Account& account) const {
  const bool whole = next.request.share == Share::kExclusive;
  std::vector<std::tuple<Priority, Bytes, LeaseId>> able;
  for (const auto& [id, entry] : account.entries) {
    const Lease& lease = *core_->state().find(id);
    if (may_yield_to(lease, next)) {
      able.emplace_back(lease.request.priority, attribution_->used(id), id);
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
    return fits_now(without, next.request, core_->settings().exclusive_unmanaged_max);
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
    if (!fits_now(with, next.request, core_->settings().exclusive_unmanaged_max)) {
      ++id;
      continue;
    }
    without = std::move(with);
    id = chosen.erase(id);
  }
  return chosen;
}

// See Note [Who makes room].
void Yielding::make_room_for_next() {
  const Queue& queue = indexes_->queue();
  if (queue.size() == 0 || !core_->may_grant()) return;
  const bool may_be_any =
      queue.has_urgent_request() || can_be_yielded_to(Priority::kLow, core_->settings());
  if (!may_be_any) return;
  const Lease* next = indexes_->in_order(core_->now().instant).next();
  if (next == nullptr || !can_be_yielded_to(next->request.priority, core_->settings())) return;
  if (!presence_->is_offerable(*next) || !indexes_->user_has_room(*next) ||
      device_count(next->request) != 1)
    return;
  std::optional<std::vector<LeaseId>> best;
  Bytes least;
  for (const Account& account : ledger_->accounts()) {
    if (!account.seen || !is_eligible(account, next->request)) continue;
    const bool under_way = std::ranges::any_of(account.entries, [&](const auto& entry) {
      const Held* held = core_->state().find(entry.first)->granted();
      return held != nullptr && held->suspension && held->suspension->yields_to == next->id;
    });
    if (under_way) return;
    const auto chosen = who_makes_room(*next, account);
    if (!chosen) continue;
    Bytes moved;
    for (const LeaseId id : *chosen) moved += attribution_->used(id);
    if (best && moved >= least) continue;
    best = chosen;
    least = moved;
  }
  if (!best) return;
  const LeaseId whom = next->id;
  for (const LeaseId id : *best) transfers_->suspend(id, {.yields_to = whom});
}

// Leases that made room for one that has it by now, or does not want it any more.
void Yielding::resume_yielded() {
  for (const LeaseId id : std::set(indexes_->yielding())) {
    const Held* held = core_->state().find(id)->held();
    if (held == nullptr || !held->is_swapped_out() || held->pause) continue;
    const Suspension& suspension = held->its_suspension();
    if (suspension.queued || !suspension.yields_to) continue;
    const Lease* whom = core_->state().find(*suspension.yields_to);
    const bool waits = whom != nullptr && whom->waiting() != nullptr;
    if (!waits) core_->decide(id, ResumeQueued{id});
  }
}

}  // namespace berth::core
