// SPDX-License-Identifier: Apache-2.0
#include "core/slices.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/backfill.h"
#include "core/limits.h"
#include "core/placement.h"

namespace berth::core {
namespace {

bool is_slice(const Lease& lease) {
  return lease.request.share == Share::kSlice;
}

bool is_swapping_out(const Held& held) {
  return held.suspension && held.suspension->phase == Suspension::Phase::kSwappingOut;
}

}  // namespace

bool wants_turn(const Lease& lease) {
  if (!is_slice(lease)) return false;
  if (lease.waiting() != nullptr) return true;
  const Held* held = lease.held();
  return held != nullptr && held->is_swapped_out() && held->its_suspension().queued &&
         !held->frozen && !held->revoked;
}

bool Slices::update(LeaseId id, const Lease* lease) {
  const bool wants = lease != nullptr && wants_turn(*lease);
  const std::optional<Place>& place = known_.at(id).place;
  const bool moved = wants && place && place->sequence != lease->waits_sequence();
  bool is_news = false;
  if (place && (!wants || moved)) {
    turns_.erase(*place);
    known_[id].place.reset();
    is_news = true;
  }
  if (wants && !known_.at(id).place) {
    const Place next = Queue::place_of(*lease, core_->settings());
    turns_.insert(next);
    known_[id].place = next;
    is_news = true;
  }
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (held != nullptr && is_swapping_out(*held) && held->its_suspension().turn) {
    ending_.insert(id);
  } else if (known_.at(id).leaves_for || ending_.contains(id)) {
    ending_.erase(id);
    known_[id].leaves_for.reset();
  }
  return is_news;
}

void Slices::leave_queue(LeaseId id) {
  if (!known_.at(id).place) return;
  turns_.erase(*known_.at(id).place);
  known_[id].place.reset();
}

void Slices::rank_again() {
  turns_ = {};
  for (const auto& [id, lease] : core_->state().leases()) {
    if (!known_.at(id).place) continue;
    const Place place = Queue::place_of(lease, core_->settings());
    turns_.insert(place);
    known_[id].place = place;
  }
}

void Slices::forget_run(LeaseId id) {
  known_[id].over = Instant::never();
  known_[id].leaves_for.reset();
}

void Slices::check() const {
  std::size_t count = 0;
  for (const auto& [id, lease] : core_->state().leases()) {
    const std::optional<Place>& place = known_.at(id).place;
    CHECK(place.has_value() == wants_turn(lease));
    CHECK(!place || place->sequence == lease.waits_sequence());
    count += place ? 1U : 0U;
  }
  CHECK(count == turns_.size());
}

// It will be off the device without anybody's doing: it has ended, or has left and the driver was
// not asked since.
bool Slices::comes_free(LeaseId id, DeviceId device) const {
  const Lease& lease = *core_->state().find(id);
  if (lease.releasing() != nullptr) return true;
  const KnownDevice* known = devices_->find(device);
  return lease.held()->is_swapped_out() && known != nullptr &&
         known->asked_at <= confirmations_->swapped_out_at(id);
}

// It comes back, and the reserve, which was raised since, leaves it no room beside anybody.
bool Slices::resumes_alone(const Account& account, const Lease& lease) const {
  return lease.waiting() == nullptr &&
         account.held_back() + transfers_->needs().of_turn(lease) > account.capacity;
}

// Although slices may have to go for it.
bool Slices::fits_without_slices(const Account& account, const Lease& lease) const {
  if (!account.seen) return false;
  const bool alone = resumes_alone(account, lease);
  Bytes taken = alone ? account.held_back_when_alone() : account.held_back();
  for (const auto& [id, entry] : account.entries) {
    if (id == lease.id || is_slice(*core_->state().find(id))) continue;
    if (entry.exclusive) return false;
    if (comes_free(id, account.id)) continue;
    if (alone) return false;
    taken += entry.charge;
  }
  return taken + transfers_->needs().of_turn(lease) <= account.capacity;
}

// Where those that wait for their first turn may have it: nobody who comes before them there, and
// would not take turns, keeps the place.
std::vector<FirstTurn> Slices::first_turns() const {
  std::vector<FirstTurn> first;
  std::set<DeviceId> taken;
  for (const LeaseId id : indexes_->growing()) {
    const Lease& lease = *core_->state().find(id);
    if (wants_turn(lease)) continue;
    for (const Part& part : lease.held()->parts) taken.insert(part.device);
  }
  auto open = std::ranges::count_if(ledger_->accounts(), [&](const Account& account) {
    return account.seen && !taken.contains(account.id);
  });
  InOrder waiting = indexes_->in_order(core_->now().instant);
  // Of those behind the one that takes the last device nobody has a place for a turn.
  for (std::size_t examined = 0; examined < limits::kBackfillDepth && open > 0; ++examined) {
    const Lease* next = waiting.next();
    if (next == nullptr) break;
    if (!presence_->takes_part(*next)) continue;
    FirstTurn turn{.lease = next, .where = {}};
    for (const Account& account : ledger_->accounts()) {
      const bool may = account.seen && is_eligible(account, next->request) &&
                       fits_ever(account, next->request) && !taken.contains(account.id);
      if (!may) continue;
      const bool takes_turns =
          is_slice(*next) && presence_->is_offerable(*next) && fits_without_slices(account, *next);
      if (takes_turns) {
        turn.where.push_back(account.id);
      } else {
        taken.insert(account.id);
        --open;
      }
    }
    if (is_slice(*next)) first.push_back(std::move(turn));
  }
  return first;
}

// Where the turn of another is being ended for it.
std::optional<DeviceId> Slices::room_is_made_on(LeaseId id) const {
  for (const LeaseId leaving : ending_) {
    if (known_.at(leaving).leaves_for == id && transfers_->of(leaving).stuck.empty()) {
      return core_->state().find(leaving)->held()->parts.front().device;
    }
  }
  return std::nullopt;
}

// See Note [Turns]. Those that wait for their first turn come as in the queue, where others stand
// among them: else one would be kept from its turn by the queue, and the next by its turn.
NextTurns Slices::next_turns() const {
  NextTurns next;
  if (turns_.size() == 0) return next;
  const std::vector<FirstTurn> first = first_turns();
  auto newcomer = first.begin();
  InOrder order = in_order(core_->now().instant);
  for (std::size_t examined = 0; examined < limits::kBackfillDepth; ++examined) {
    const Lease* lease = order.next();
    if (lease == nullptr) break;
    std::vector<DeviceId> where;
    if (lease->waiting() != nullptr) {
      if (newcomer == first.end()) continue;
      lease = newcomer->lease;
      where = newcomer->where;
      ++newcomer;
    } else if (transfers_->may_resume(lease->id) &&
               transfers_->of(lease->id).resume_not_before <= core_->now().instant) {
      where = {lease->held()->parts.front().device};
    }
    const std::optional<DeviceId> its = room_is_made_on(lease->id);
    for (const DeviceId device : where) {
      const Account* account = ledger_->find(device);
      if (account == nullptr || !fits_without_slices(*account, *lease)) continue;
      // Unless there is room here by now.
      if (its && *its != device && transfers_->needs().of_turn(*lease) > account->grantable())
        continue;
      next.emplace(device, lease->id);
    }
  }
  return next;
}

bool Slices::may_end_turn(const Lease& lease) const {
  return is_slice(lease) &&
         verdict(Operation::kEndTurn, transfers_->standing_of(lease)).answer == Answer::kAccept;
}

Instant Slices::over_at(const Lease& lease) const {
  const Use* use = attribution_->use(lease.id, lease.held()->parts.front().device);
  const Bytes used = use == nullptr ? Bytes{} : use->now.value_or(Bytes{});
  const TurnTerms& terms = core_->settings().turns;
  return std::max(
      lease.held()->runs_since + turn_length(transfers_->of(lease.id).cost.of(used), terms),
      transfers_->of(lease.id).turn_end_not_before);
}

// Whose turns end on the device, and when, so that it fits.
TurnEnds Slices::room_for_turn(const Account& account, const Lease& lease) const {
  Bytes taken;
  std::vector<Running> running;
  for (const auto& [id, entry] : account.entries) {
    if (id == lease.id || comes_free(id, account.id)) continue;
    const Lease& other = *core_->state().find(id);
    const bool on_its_way = ending_.contains(id) && transfers_->of(id).stuck.empty();
    if (on_its_way) return {};  // Room comes, if it does not fit after that.
    taken += entry.charge;
    if (!may_end_turn(other)) continue;
    running.push_back({.lease = id, .frees = entry.charge, .over = over_at(other)});
  }
  if (resumes_alone(account, lease)) return who_ends_turn(std::move(running), taken);
  const Bytes room = saturating_sub(account.capacity, account.held_back() + taken);
  return who_ends_turn(std::move(running),
                       saturating_sub(transfers_->needs().of_turn(lease), room));
}

// Where its turn comes soonest, if it may be on several devices.
void Slices::take_turns(const NextTurns& next) {
  for (const LeaseId id : std::exchange(timed_, {})) {
    if (core_->state().find(id) == nullptr) continue;
    known_[id].over = Instant::never();
    core_->derive_deadline(id);
  }
  comes_.clear();
  std::map<LeaseId, TurnEnds> soonest;
  for (const auto& [device, id] : next) {
    TurnEnds ends = room_for_turn(*ledger_->find(device), *core_->state().find(id));
    const bool served = room_is_made_on(id).has_value();
    if (served) comes_[id] = core_->now().instant;
    if (served || ends.leases.empty()) continue;
    TurnEnds& known = soonest[id];
    if (ends.at < known.at) known = std::move(ends);
  }
  for (const auto& [id, ends] : soonest) {
    comes_[id] = std::max(ends.at, core_->now().instant);
    for (const LeaseId other : ends.leases) {
      if (ends.at <= core_->now().instant) {
        end_turn(other, id);
      } else {
        known_[other].over = std::min(known_.at(other).over, ends.at);
        timed_.insert(other);
        core_->derive_deadline(other);
      }
    }
  }
}

void Slices::end_turn(LeaseId id, LeaseId next) {
  if (!may_end_turn(*core_->state().find(id))) return;  // It left for another just now.
  CHECK(id != next);
  known_[id].leaves_for = next;
  transfers_->suspend(id, {.turn = true});
}

Instant Slices::due(const Lease& lease) const {
  const bool runs = lease.held() != nullptr && lease.held()->claimed;
  return runs ? known_.at(lease.id).over : Instant::never();
}

bool Slices::tend(LeaseId id) {
  if (known_.at(id).over > core_->now().instant) return false;
  known_[id].over = Instant::never();
  core_->derive_deadline(id);
  return true;
}

std::optional<Instant> Slices::turn_comes(LeaseId id) const {
  const auto found = comes_.find(id);
  return found == comes_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace berth::core
