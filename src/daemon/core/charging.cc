// SPDX-License-Identifier: Apache-2.0
// The charge of a lease: see Note [What a sample has still to tell].
#include <algorithm>
#include <utility>

#include "core/attribution.h"

namespace berth::core {

void Attribution::charge(LeaseId id, const Lease* lease,
                         const std::optional<ReportedEnd>& reported_end) {
  membership_->update(id, lease);
  charge_parts(id, lease, reported_end);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (held == nullptr || !held->is_swapped_out()) confirmations_->confirm_swapped_out(id);
}

void Attribution::charge_parts(LeaseId id, const Lease* lease,
                               const std::optional<ReportedEnd>& reported_end) {
  const Held* granted = lease == nullptr ? nullptr : lease->granted();
  const std::vector<DeviceId>& charged_on = known_.at(id).charged_on;
  if (granted == nullptr || confirmations_->is_free(id)) {
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
  const bool end_awaited = confirmations_->end_awaited_since(lease.id).has_value();
  const bool releasing = lease.releasing() != nullptr;
  const bool away = lease.granted()->is_swapped_out();
  const Use* use = this->use(lease.id, part.device);
  // Until a sample asked after the end tells what is left, all of it may be; then no more than
  // that, whatever it had before or was to have again.
  const bool figure_missing = use != nullptr && use->figure_missing;
  const bool is_told = releasing && !end_awaited && !figure_missing;
  Bytes used;
  if (use != nullptr) {
    used = use->now.value_or(Bytes{});
    // What may be is not what is away, unless nobody has looked since its budget fell: not all of
    // it need be of processes that are known, and were moved.
    const bool may_be_there = !is_told && (!away || confirmations_->may_be_above(lease.id));
    if (may_be_there) used = std::max(used, use->upper_bound);
    if (use->figure_missing) used = std::max(used, use->last);
  }
  // A process of it that nobody knew of was not moved, and may have all of its budget.
  if (away && confirmations_->awaits_swapped_out(lease.id)) used = std::max(used, part.budget);
  // One that has ended may have left something, like any other, until a sample tells.
  if (away && !releasing && !end_awaited) {
    return used > Bytes{} ? std::optional(Entry{.budget = {}, .charge = used}) : std::nullopt;
  }
  const bool empty = is_told && used == Bytes{};  // What it left may be on another device.
  return Entry{.budget = releasing || away ? Bytes{} : part.budget,
               .charge = is_told ? used : std::max(part.budget, used),
               .exclusive = lease.request.share == Share::kExclusive && !away && !empty,
               .reported_end = reported_end};
}

const Use* Attribution::use(LeaseId id, DeviceId device) const {
  const Uses& all = uses(id);
  const auto found = all.find(device);
  return found == all.end() ? nullptr : &found->second;
}

bool Attribution::runs_on(LeaseId id) const {
  return std::ranges::any_of(uses(id), [](const auto& entry) { return entry.second.runs_on; });
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

bool Attribution::keep_until_shrunk(LeaseId id, const std::vector<Part>& parts) {
  bool falls = false;
  for (const Part& before : core_->state().find(id)->held()->parts) {
    const auto after = std::ranges::find(parts, before.device, &Part::device);
    if (after == parts.end() || after->budget >= before.budget) continue;
    may_use(id, before.device, before.budget);
    falls = true;
  }
  if (falls) confirmations_->await_shrunk(id);
  return falls;
}

Bytes Attribution::take_leave(LeaseId id, DeviceId device) {
  const Use& use = known_[id].uses[device];
  // Nobody has looked since its budget fell: it may have all it had, unless its account tells, as
  // of a time after that.
  const bool is_old =
      confirmations_->may_be_above(id) && use.accounted_at < confirmations_->shrunk_at(id);
  const Bytes unseen = use.ledger && !is_old ? Bytes{} : use.upper_bound;
  return std::max({use.now.value_or(Bytes{}), use.ledger.value_or(Bytes{}), unseen, use.last});
}

void Attribution::may_use(LeaseId id, DeviceId device, Bytes bytes) {
  Use& use = known_[id].uses[device];
  use.upper_bound = std::max(use.upper_bound, bytes);
}

// A program below the requester may have been counted for the offer, which ends or lapses: what it
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
  confirmations_->confirm_swapped_out(id);
  suppose_shrunk(id);
}

void Attribution::suppose_shrunk(LeaseId id) {
  for (auto& [device, use] : known_[id].uses) use.upper_bound = {};
  confirmations_->confirm_shrunk(id);
  core_->derive(id);
}

// What was left behind for a sample to tell of is gone by then, and what they have elsewhere: a
// suspended process takes all along.
void Attribution::suppose_gone(const std::set<LeaseId>& leases,
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
  known = {.charged_on = std::move(known.charged_on)};
  measured_.erase(id);
}

void Attribution::forget(LeaseId id) {
  known_.forget(id);
  measured_.erase(id);
}

}  // namespace berth::core
