// SPDX-License-Identifier: Apache-2.0
// Leases that share a device in turns: whose turn is next there, and when a turn ends.
//
// Note [Turns]: a slice is granted memory as a budget is, and keeps it while nobody else wants a
// turn. Those who do are the slices that wait for their first one and those that wait to come back;
// they stand in one order, the policy's, in which each counts from when it began to wait. On each
// device the first of them that would fit there if no slice ran has the next turn, unless another
// slice leaves another device for it: no other slice comes before it, and slices whose turns are
// over are suspended until it fits. A turn begins with the grant or the return, and lasts as Note
// [How long a turn is] says; a slice that is suspended for that waits for its next one at once.
// Slices take turns with slices alone: a request of another kind gets what is free beside them and
// beside those of them that are away, and a slice that asks after it, on a device that it could
// use, has no first turn before it.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/number.h"
#include "core/backfill.h"
#include "core/impl.h"
#include "core/limits.h"
#include "core/placement.h"

namespace berth::core {
namespace {

constexpr unsigned kMovesMemorySince = 570;  // NVIDIA's driver of CUDA 12.8.

bool is_slice(const Lease& lease) {
  return lease.request.share == Share::kSlice;
}

bool is_swapping_out(const Held& held) {
  return held.suspension && held.suspension->phase == Suspension::Phase::kSwappingOut;
}

}  // namespace

std::optional<Refusal> Coordinator::Impl::refuse_slice(const Request& request) const {
  if (request.ttl) {
    return Refusal{RefusalCode::kInvalid, "a reservation has no programs that could take turns"};
  }
  if (device_count(request) != 1) {
    return Refusal{
        RefusalCode::kInvalid,
        "a lease that runs in turns (--share slice) is on one GPU: leave out -g, or name "
        "one"};
  }
  const unsigned driver = leading_number(driver_version);  // 0: unknown.
  if (driver == 0 || driver >= kMovesMemorySince) return std::nullopt;
  return Refusal{
      RefusalCode::kNotSupported,
      "to run in turns (--share slice) memory has to be moved to the host, which driver " +
          driver_version + " cannot do (570 can): use a budget (-m) or the whole GPU"};
}

// It waits for a turn: its first, or the next.
bool Coordinator::Impl::wants_turn(const Lease& lease) {
  if (!is_slice(lease)) return false;
  if (lease.waiting() != nullptr) return true;
  const Held* held = lease.held();
  return held != nullptr && held->is_swapped_out() && held->its_suspension().queued &&
         !held->frozen && !held->revoked;
}

void Coordinator::Impl::reindex_turns(LeaseId id, const Lease* lease, Observed& seen) {
  const bool wants = lease != nullptr && wants_turn(*lease);
  const bool stands = seen.turn_place.has_value();
  const bool moved = wants && stands && seen.turn_place->sequence != lease->waits_sequence();
  if (stands && (!wants || moved)) {
    turns.erase(*seen.turn_place);
    seen.turn_place.reset();
    dirty = true;
  }
  if (wants && !seen.turn_place) {
    seen.turn_place = Queue::place_of(*lease, settings);
    turns.insert(*seen.turn_place);
    dirty = true;
  }
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (held != nullptr && is_swapping_out(*held) && held->its_suspension().turn) {
    ending_turn.insert(id);
  } else {
    ending_turn.erase(id);
    seen.turn_for.reset();
  }
}

// What it needs to run.
Bytes Coordinator::Impl::turn_needs(const Lease& lease) const {
  if (lease.waiting() != nullptr) return lease.request.vram;
  return std::max(lease.held()->parts.front().budget, bytes_before_suspend(lease, 0));
}

// It will be off the device without anybody's doing: it has ended, or has left and the driver was
// not asked since.
bool Coordinator::Impl::comes_free(LeaseId id, DeviceId device) const {
  const Lease& lease = *state.find(id);
  if (lease.releasing() != nullptr) return true;
  const auto known = seen_devices.find(device);
  return lease.held()->is_swapped_out() && known != seen_devices.end() &&
         known->second.asked_at <= observed.at(id).suspended_at;
}

// It comes back, and the reserve, which was raised since, leaves it no room beside anybody.
bool Coordinator::Impl::resumes_alone(const Account& account, const Lease& lease) const {
  return lease.waiting() == nullptr && account.held_back() + turn_needs(lease) > account.capacity;
}

// Although slices may have to go for it.
bool Coordinator::Impl::fits_without_slices(const Account& account, const Lease& lease) const {
  if (!account.seen) return false;
  const bool alone = resumes_alone(account, lease);
  Bytes taken = alone ? account.held_back_when_alone() : account.held_back();
  for (const auto& [id, entry] : account.entries) {
    if (id == lease.id || is_slice(*state.find(id))) continue;
    if (entry.exclusive) return false;
    if (comes_free(id, account.id)) continue;
    if (alone) return false;
    taken += entry.charge;
  }
  return taken + turn_needs(lease) <= account.capacity;
}

// Where those that wait for their first turn may have it: nobody who comes before them there, and
// would not take turns, keeps the place.
std::vector<FirstTurn> Coordinator::Impl::first_turns() const {
  std::vector<FirstTurn> first;
  std::set<DeviceId> taken;
  for (const LeaseId id : growing) {
    const Lease& lease = *state.find(id);
    if (wants_turn(lease)) continue;
    for (const Part& part : lease.held()->parts) taken.insert(part.device);
  }
  InOrder waiting(queue, now.instant, settings, state.shares());
  for (std::size_t examined = 0; examined < limits::kBackfillDepth; ++examined) {
    const Lease* next = waiting.next();
    if (next == nullptr) break;
    if (!takes_part(*next)) continue;
    FirstTurn turn{.lease = next, .where = {}};
    for (const Account& account : ledger.accounts()) {
      const bool may = account.seen && is_eligible(account, next->request) &&
                       fits_ever(account, next->request) && !taken.contains(account.id);
      if (!may) continue;
      const bool takes_turns =
          is_slice(*next) && is_offerable(*next) && fits_without_slices(account, *next);
      if (takes_turns) {
        turn.where.push_back(account.id);
      } else {
        taken.insert(account.id);
      }
    }
    if (is_slice(*next)) first.push_back(std::move(turn));
  }
  return first;
}

// Where somebody's turn is being ended for it.
std::optional<DeviceId> Coordinator::Impl::room_is_made_on(LeaseId id) const {
  for (const LeaseId leaving : ending_turn) {
    const Observed& seen = observed.at(leaving);
    if (seen.turn_for == id && seen.stuck.empty()) {
      return state.find(leaving)->held()->parts.front().device;
    }
  }
  return std::nullopt;
}

// See Note [Turns]. Those that wait for their first turn come as in the queue, where others stand
// among them: else one would be kept from its turn by the queue, and the next by its turn.
NextTurns Coordinator::Impl::next_turns() const {
  NextTurns next;
  if (turns.size() == 0) return next;
  const std::vector<FirstTurn> first = first_turns();
  auto newcomer = first.begin();
  InOrder order(turns, now.instant, settings, state.shares());
  for (std::size_t examined = 0; examined < limits::kBackfillDepth; ++examined) {
    const Lease* lease = order.next();
    if (lease == nullptr) break;
    std::vector<DeviceId> where;
    if (lease->waiting() != nullptr) {
      if (newcomer == first.end()) continue;
      lease = newcomer->lease;
      where = newcomer->where;
      ++newcomer;
    } else if (may_swap_in(lease->id) && observed.at(lease->id).resume_not_before <= now.instant) {
      where = {lease->held()->parts.front().device};
    }
    const std::optional<DeviceId> its = room_is_made_on(lease->id);
    for (const DeviceId device : where) {
      const Account* account = ledger.find(device);
      if (account == nullptr || !fits_without_slices(*account, *lease)) continue;
      // Unless there is room here by now.
      if (its && *its != device && turn_needs(*lease) > account->grantable()) continue;
      next.emplace(device, lease->id);
    }
  }
  return next;
}

bool Coordinator::Impl::may_end_turn(const Lease& lease) const {
  const Held* held = lease.held();
  if (held == nullptr || !is_slice(lease) || !held->claimed || !held->has_processes()) return false;
  // Who saves itself or is stopped leaves by himself, or is asked when that is over.
  return !held->revoked && !held->suspension && !held->requeue && !lease.checkpoints.asked &&
         observed.at(lease.id).move == 0;
}

Instant Coordinator::Impl::turn_over_at(const Lease& lease) const {
  const Observed& seen = observed.at(lease.id);
  const auto use = seen.use.find(lease.held()->parts.front().device);
  const Bytes used = use == seen.use.end() ? Bytes{} : use->second.now.value_or(Bytes{});
  const TurnTerms terms{.least = settings.turn_min, .loss_percent = settings.turn_loss_percent};
  return std::max(lease.held()->runs_since + turn_length(seen.turn_cost.of(used), terms),
                  seen.turn_end_not_before);
}

// Whose turns end on the device, and when, so that it fits.
TurnEnds Coordinator::Impl::room_for_turn(const Account& account, const Lease& lease) const {
  Bytes taken;
  std::vector<Running> running;
  for (const auto& [id, entry] : account.entries) {
    if (id == lease.id || comes_free(id, account.id)) continue;
    const Lease& other = *state.find(id);
    const bool on_its_way = ending_turn.contains(id) && observed.at(id).stuck.empty();
    if (on_its_way) return {};  // Room comes, if it does not fit after that.
    taken += entry.charge;
    if (!may_end_turn(other)) continue;
    running.push_back({.lease = id, .frees = entry.charge, .over = turn_over_at(other)});
  }
  if (resumes_alone(account, lease)) return who_ends_turn(std::move(running), taken);
  const Bytes room = saturating_sub(account.capacity, account.held_back() + taken);
  return who_ends_turn(std::move(running), saturating_sub(turn_needs(lease), room));
}

// Where its turn comes soonest, if it may be on several devices.
void Coordinator::Impl::take_turns() {
  for (const LeaseId id : std::exchange(turn_timers, {})) {
    const auto seen = observed.find(id);
    if (seen == observed.end()) continue;
    seen->second.turn_over = Instant::never();
    reindex_timer(id, state.find(id), seen->second);
  }
  turn_comes.clear();
  std::map<LeaseId, TurnEnds> soonest;
  for (const auto& [device, id] : next_turns()) {
    TurnEnds ends = room_for_turn(*ledger.find(device), *state.find(id));
    const bool served = room_is_made_on(id).has_value();
    if (served) turn_comes[id] = now.instant;
    if (served || ends.leases.empty()) continue;
    TurnEnds& known = soonest[id];
    if (ends.at < known.at) known = std::move(ends);
  }
  for (const auto& [id, ends] : soonest) {
    turn_comes[id] = std::max(ends.at, now.instant);
    for (const LeaseId other : ends.leases) {
      if (ends.at <= now.instant) {
        end_turn(other, id);
      } else {
        Observed& seen = observed.at(other);
        seen.turn_over = std::min(seen.turn_over, ends.at);
        turn_timers.insert(other);
        reindex_timer(other, state.find(other), seen);
      }
    }
  }
}

// Why it has no turn now: it has been away since its last one.
void Coordinator::Impl::add_turns(const Lease& lease, WhyView& view, Now at) const {
  view.reason = WhyView::Reason::kSlices;
  view.waited = at.instant - lease.waits_since();
  const DeviceId device = lease.held()->parts.front().device;
  InOrder order(turns, at.instant, settings, state.shares());
  for (const Lease* next = order.next(); next != nullptr && next != &lease; next = order.next()) {
    const bool here = next->held() == nullptr || next->held()->parts.front().device == device;
    if (!here) continue;
    if (view.ahead.size() < limits::kWhyListed) view.ahead.push_back(next->id);
    ++view.ahead_count;
  }
  view.position = static_cast<std::uint32_t>(view.ahead_count) + 1;
  const auto comes = turn_comes.find(lease.id);
  if (comes != turn_comes.end()) view.expected_start = wall_at(comes->second, at);
  Request there = lease.request;
  there.devices = {DeviceName{device}};
  add_shortages(there, view);
  if (!view.shortages.empty()) add_holders(lease, view, at);
}

void Coordinator::Impl::end_turn(LeaseId id, LeaseId next) {
  if (!may_end_turn(*state.find(id))) return;  // It left for another just now.
  observed.at(id).turn_for = next;
  suspend(id, {.turn = true});
}

}  // namespace berth::core
