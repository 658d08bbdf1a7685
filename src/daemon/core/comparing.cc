// SPDX-License-Identifier: Apache-2.0
// Comparison of the use that the programs of a lease report with the use that the driver reports.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/size_argument.h"
#include "core/attribution.h"

// Note [Two accounts]
//
// The guard charges a lease before it allocates, exactly; but only for what goes through it. The
// driver counts everything (modules, what libraries allocate behind its back, programs without the
// guard), late and sometimes not at all. Their difference is the drift. What the driver counts
// beyond the ledger twice in a row, with both accounts at rest, is there: it is told to the guard,
// which counts it as used, so that the budget bounds it too. What it counts no more is taken off at
// once. A ledger above the driver's figure (managed memory in host memory) is left as it is: to
// give it out again could exceed the budget in the second before the next look.
//
// What dead ones have charged counts on the ledger's side, also where it cannot be told whether the
// driver has freed it: the guard counts it too, and would count it twice if it were unaccounted.
//
// What was charged for a context beyond what it is measured to cost, the excess, is given back by
// the program itself. It may hide something that nobody has charged. So the driver's figure is held
// against the ledger without the excess first; once it was twice, what is hidden is unaccounted,
// and then the programs may give the excess back.

namespace berth::core {
namespace {

constexpr Duration kRefusalsToldEvery = minutes(1);  // Of a lease on a device.

}  // namespace

void Attribution::compare(const Sample& sample) {
  if (!first_asked_) first_asked_ = sample.asked_at;
  std::set<LeaseId> corrected;
  std::set<LeaseId> charged;
  for (const ChargeSample& charge : sample.charges) {
    const std::optional<LeaseId> id = core_->state().find(charge.lease);
    if (!id) continue;
    const Lease& lease = *core_->state().find(*id);
    if (lease.granted() == nullptr) continue;
    const bool has_part = lease.granted()->is_on(charge.device);
    if (has_part) charged.insert(lease.id);
    if (has_part && account_for(charge, lease, known_[lease.id].uses[charge.device])) {
      corrected.insert(lease.id);
    }
    if (!has_part) continue;
    tell_refusal(charge, lease, known_[lease.id].uses[charge.device]);
    known_[lease.id].uses[charge.device].accounted_at = sample.asked_at;
  }
  for (const LeaseId id : charged) announce_full(id);
  for (const LeaseId id : corrected) {
    const Lease& lease = *core_->state().find(id);
    SetUnaccounted effect{.lease = lease.handle, .bytes = {}, .may_give_back = {}};
    for (const Part& part : lease.granted()->parts) {
      const Use& use = known_[id].uses[part.device];
      effect.bytes.push_back(use.unaccounted);
      effect.may_give_back.push_back(use.may_give_back);
    }
    core_->emit(std::move(effect));
  }
}

// Whether what the programs are told has changed. Programs write the ledger themselves: no figure
// of theirs is taken for more than the device has.
bool Attribution::account_for(const ChargeSample& charge, const Lease& lease, Use& use) const {
  const Account* account = ledger_->find(charge.device);
  const Bytes capacity = account == nullptr ? Bytes{} : account->capacity;
  use.ledger = std::min(charge.charged, capacity);
  use.ledger_peak = std::max(use.ledger_peak, std::min(charge.peak, capacity));
  use.refused = charge.refused;
  use.wanted = std::min(charge.wanted, capacity);
  const KnownDevice* device = devices_->find(charge.device);
  const bool is_listed = device != nullptr && device->lists_processes && !device->asleep &&
                         account->seen && !use.figure_missing;
  if (!is_listed || !charge.unchanged || lease.held() == nullptr) return false;
  if (lease.held()->suspension) return false;  // What its programs have charged is elsewhere.
  const Bytes counted = use.now.value_or(Bytes{});
  const Bytes excess = std::min(charge.excess, *use.ledger);
  const Bytes dead = std::min(charge.dead, capacity);
  const Bytes unexplained = saturating_sub(counted, saturating_sub(*use.ledger, excess) + dead);
  use.drift = static_cast<std::int64_t>(counted.value - use.ledger->value);
  const Bytes certain = std::min(unexplained, std::exchange(use.unexplained, unexplained));
  const bool twice = std::exchange(use.excess, excess) == excess;
  const bool may_give_back = twice && excess > Bytes{};
  const bool same = use.unaccounted == certain && use.may_give_back == may_give_back;
  use.unaccounted = certain;
  use.may_give_back = may_give_back;
  return !same;
}

// Its allocations wait for what comes free in the lease itself, or for a larger budget; nothing
// that is decided here for others ends that.
void Attribution::announce_full(LeaseId id) {
  const bool full = std::ranges::any_of(
      uses(id), [](const auto& entry) { return entry.second.wanted > Bytes{}; });
  if (std::exchange(known_[id].full, full) != full)
    core_->notify(id, full ? LeaseEvent::kFull : LeaseEvent::kNotFull);
}

// A program may try again and again. What the first account of a lease from the journal shows, an
// earlier daemon has told. Where the guard has refused one on another device since, that one is
// told, and those here with the next.
void Attribution::tell_refusal(const ChargeSample& charge, const Lease& lease, Use& use) {
  CHECK(first_asked_.has_value());
  const bool is_old = !use.accounted_at && lease.granted()->granted.at < *first_asked_;
  use.refused_told = is_old ? charge.refused : std::min(use.refused_told, charge.refused);
  const Instant now = core_->now().instant;
  const bool was_told = use.told_at && now < *use.told_at + kRefusalsToldEvery;
  const Account* account = ledger_->find(charge.device);
  if (charge.refused == use.refused_told || !charge.refusal || was_told || account == nullptr)
    return;
  const std::vector<Part>& parts = lease.granted()->parts;
  AllocationRefused fact{.id = lease.id,
                         .device = charge.device,
                         .bytes = charge.refusal->bytes,
                         .used = std::min(charge.refusal->used, account->capacity),
                         .budget = std::ranges::find(parts, charge.device, &Part::device)->budget,
                         .enough = std::nullopt,
                         .count = charge.refused - use.refused_told};
  const Bytes needed = fact.used + fact.bytes;
  const Bytes largest = saturating_sub(account->capacity, account->reserve + account->driver);
  if (needed <= largest) fact.enough = std::min(budget_for(needed), largest);
  use.refused_told = charge.refused;
  use.told_at = now;
  core_->decide(lease.id, fact);
}

}  // namespace berth::core
