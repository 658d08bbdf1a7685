// SPDX-License-Identifier: Apache-2.0
// What a lease is charged: see Note [What a sample has still to tell].
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/attribution.h"
#include "core/limits.h"

namespace berth::core {

void Attribution::charge(LeaseId id, const Lease* lease,
                         const std::optional<ReportedEnd>& reported_end) {
  derive_belonging(id, lease);
  charge_parts(id, lease, reported_end);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (held == nullptr || !held->is_swapped_out()) swapped_out_.erase(id);
}

void Attribution::charge_parts(LeaseId id, const Lease* lease,
                               const std::optional<ReportedEnd>& reported_end) {
  const Held* granted = lease == nullptr ? nullptr : lease->granted();
  const std::vector<DeviceId>& charged_on = known_.at(id).charged_on;
  if (granted == nullptr || is_free(id)) {
    if (charged_on.empty()) return;
    for (const DeviceId device : std::exchange(known_[id].charged_on, {})) {
      core_->look_again(ledger_->put(device, id, std::nullopt));
    }
    return;
  }
  for (const Part& part : granted->parts) {
    core_->look_again(ledger_->put(part.device, id, entry_of(*lease, part, reported_end)));
  }
  if (!charged_on.empty()) return;
  for (const Part& part : granted->parts) known_[id].charged_on.push_back(part.device);
}

std::optional<Entry> Attribution::entry_of(const Lease& lease, const Part& part,
                                           const std::optional<ReportedEnd>& reported_end) const {
  const OfLease& known = known_.at(lease.id);
  const bool releasing = lease.releasing() != nullptr;
  const bool away = lease.granted()->is_swapped_out();
  const Use* use = this->use(lease.id, part.device);
  // Until a sample asked after the end tells what is left, all of it may be; then no more than
  // that, whatever it had before or was to have again.
  const bool figure_missing = use != nullptr && use->figure_missing;
  const bool is_told = releasing && !known.end_asked_since && !figure_missing;
  Bytes used;
  if (use != nullptr) {
    used = use->now.value_or(Bytes{});
    // What may be is not what is away, unless nobody has looked since its budget fell: not all of
    // it need be of processes that are known, and were moved.
    const bool unconfirmed_shrink = shrunk_.contains(lease.id) && !known.shrink_confirmed;
    const bool may_be_there = !is_told && (!away || unconfirmed_shrink);
    if (may_be_there) used = std::max(used, use->upper_bound);
    if (use->figure_missing) used = std::max(used, use->last);
  }
  // A process of it that nobody knew of was not moved, and may have all of its budget.
  if (away && swapped_out_.contains(lease.id)) used = std::max(used, part.budget);
  // One that has ended may have left something, like any other, until a sample tells.
  if (away && !releasing && !known.end_asked_since) {
    return used > Bytes{} ? std::optional(Entry{.budget = {}, .charge = used}) : std::nullopt;
  }
  const bool empty = is_told && used == Bytes{};  // What it left may be on another device.
  return Entry{.budget = releasing || away ? Bytes{} : part.budget,
               .charge = is_told ? used : std::max(part.budget, used),
               .exclusive = lease.request.share == Share::kExclusive && !away && !empty,
               .reported_end = reported_end};
}

void Attribution::derive_belonging(LeaseId id, const Lease* lease) {
  std::vector<Belonging> belonging;
  const auto count = [&](const Process& process, bool certain) {
    belonging.push_back({.process = process, .certain = certain, .lease = id});
  };
  if (const Held* held = lease == nullptr ? nullptr : lease->granted()) {
    if (held->command) count(*held->command, true);
    // A reservation hangs on a shell, with which it has nothing else to do.
    if (lease->supervisor && !lease->request.ttl) count(*lease->supervisor, true);
    for (const Process& member : held->members) count(member, true);
    for (const Process& left : known_.at(id).leftovers) count(left, false);
  }
  if (belonging == known_.at(id).belonging) return;
  OfLease& known = known_[id];
  for (const Belonging& old : known.belonging) belongings_.erase(old);
  belongings_.insert(belonging.begin(), belonging.end());
  known.belonging = std::move(belonging);
}

const Use* Attribution::use(LeaseId id, DeviceId device) const {
  const Uses& all = uses(id);
  const auto found = all.find(device);
  return found == all.end() ? nullptr : &found->second;
}

Bytes Attribution::used(LeaseId id) const {
  Bytes sum;
  for (const auto& [device, use] : uses(id)) sum += use.now.value_or(Bytes{});
  return sum;
}

Bytes Attribution::used_by_higher(LeaseId id) const {
  Bytes sum;
  for (const auto& [device, use] : uses(id)) sum += use.higher_now();
  return sum;
}

std::vector<Peak> Attribution::peaks(const Lease& lease) const {
  std::vector<Peak> peaks;
  for (const Part& part : lease.granted()->parts) {
    const Use* known = use(lease.id, part.device);
    if (known == nullptr || (!known->ledger && known->highest() == Bytes{})) continue;
    peaks.push_back({part.device, known->highest(), known->refused});
  }
  return peaks;
}

const std::vector<UnmanagedProcess>& Attribution::unmanaged_on(DeviceId device) const {
  static const std::vector<UnmanagedProcess> kNone;
  const auto found = unmanaged_.find(device);
  return found == unmanaged_.end() ? kNone : found->second;
}

void Attribution::await_end(LeaseId id) {
  known_[id].end_asked_since = core_->now().instant;
  ending_.insert(id);
}

bool Attribution::await_shrunk(LeaseId id, const std::vector<Part>& parts) {
  bool falls = false;
  for (const Part& before : core_->state().find(id)->held()->parts) {
    const auto after = std::ranges::find(parts, before.device, &Part::device);
    if (after == parts.end() || after->budget >= before.budget) continue;
    may_use(id, before.device, before.budget);
    falls = true;
  }
  if (falls) await_resumed(id);
  return falls;
}

void Attribution::await_resumed(LeaseId id) {
  OfLease& known = known_[id];
  known.shrunk_at = core_->now().instant;
  known.shrink_confirmed = false;
  shrunk_.insert(id);
}

void Attribution::await_swapped_out(LeaseId id) {
  known_[id].swapped_out_at = core_->now().instant;
  swapped_out_.insert(id);
}

Instant Attribution::shrunk_due(Instant asked_at) const {
  Instant at = Instant::never();
  for (const LeaseId id : shrunk_) {
    const OfLease& known = known_.at(id);
    if (known.shrink_confirmed) continue;
    CHECK(known.shrunk_at.has_value());
    const Instant now = core_->now().instant;
    at = std::min(at, asked_at < *known.shrunk_at ? now : now + limits::kProbeSlowEvery);
  }
  return at;
}

Bytes Attribution::take_leave(LeaseId id, DeviceId device) {
  const Use& use = known_[id].uses[device];
  // Nobody has looked since its budget fell: unless its account tells, it may have all it had.
  const Bytes charged = use.ledger.value_or(use.upper_bound);
  return std::max({use.now.value_or(Bytes{}), charged, use.last});
}

void Attribution::may_use(LeaseId id, DeviceId device, Bytes bytes) {
  Use& use = known_[id].uses[device];
  use.upper_bound = std::max(use.upper_bound, bytes);
}

// A program below whoever asked may have been counted for the offer, which ends or lapses: what it
// has stays where it is, and the next sample counts it as unmanaged itself.
void Attribution::leave_to_unmanaged(LeaseId id) {
  for (const DeviceId device : known_.at(id).charged_on) {
    const Use* found = use(id, device);
    if (found == nullptr) continue;
    Account& account = ledger_->account(device);
    if (found->figure_missing) {
      account.disown(id);
    } else {
      account.unmanaged += found->now.value_or(Bytes{});
    }
    known_[id].uses.erase(device);  // Else it would be counted again when the next offer lapses.
  }
}

// The next sample counts what is left as unmanaged itself.
void Attribution::disown(LeaseId id) {
  for (const DeviceId device : known_.at(id).charged_on) ledger_->account(device).disown(id);
}

// What its programs say of a part goes with it; what they have left behind stays, and is unmanaged
// until the next sample tells whose it is.
void Attribution::migrate(LeaseId id, const std::vector<Part>& from,
                          const std::vector<DeviceId>& to) {
  OfLease& known = known_[id];
  Uses uses = std::exchange(known.uses, {});
  for (std::size_t i = 0; i < to.size(); ++i) {
    const DeviceId before = from[i].device;
    Use& use = known.uses[to[i]] = uses[before];
    if (before == to[i]) continue;
    use.now.reset();
    use.figure_missing = false;
    use.last = use.upper_bound = {};
    use.trend = {};
    ledger_->account(before).disown(id);
  }
  for (const DeviceId device : std::exchange(known.charged_on, {})) {
    core_->look_again(ledger_->put(device, id, std::nullopt));
  }
}

void Attribution::suppose_swapped_out(LeaseId id) {
  for (auto& [device, use] : known_[id].uses) use = {};
  swapped_out_.erase(id);
  suppose_shrunk(id);
}

void Attribution::suppose_shrunk(LeaseId id) {
  OfLease& known = known_[id];
  for (auto& [device, use] : known.uses) use.upper_bound = {};
  shrunk_.erase(id);
  known.shrunk_at.reset();
  core_->derive(id);
}

// What was left behind for a sample to tell of is gone by then, and what they have elsewhere.
void Attribution::suppose_ended(const std::set<LeaseId>& leases,
                                const std::map<DeviceId, Bytes>& unmanaged) {
  for (const auto& [device, bytes] : unmanaged) {
    if (devices_->find(device) == nullptr) continue;
    Bytes gone;
    for (const UnmanagedProcess& stray : unmanaged_on(device)) {
      if (stray.lease && leases.contains(*stray.lease)) gone += stray.used.value_or(Bytes{});
    }
    ledger_->account(device).unmanaged = saturating_sub(bytes, gone);
  }
}

void Attribution::forget_run(LeaseId id) {
  OfLease& known = known_[id];
  OfLease fresh;
  fresh.charged_on = std::move(known.charged_on);
  fresh.belonging = std::move(known.belonging);
  known = std::move(fresh);
  for (std::set<LeaseId>* ids : {&ending_, &shrunk_, &swapped_out_, &measured_}) ids->erase(id);
}

void Attribution::forget(LeaseId id) {
  known_.forget(id);
  for (std::set<LeaseId>* ids : {&ending_, &shrunk_, &swapped_out_, &measured_}) ids->erase(id);
}

}  // namespace berth::core
