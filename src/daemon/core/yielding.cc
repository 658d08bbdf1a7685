// SPDX-License-Identifier: Apache-2.0
#include "core/yielding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "core/placement.h"

namespace berth::core {

namespace {

// Some lease may make room for a request of this priority.
bool can_be_yielded_to(Priority next, const Settings& settings) {
  return next == Priority::kUrgent || settings.idle_leases_make_room();
}

// What is done with it for being idle. An administrator lends what nobody computes with, also
// without leave of its user.
IdleAction idle_action_for(const Lease& lease, const Request& next, const Settings& settings,
                           Instant now) {
  const Held* held = lease.held();
  const IdleSettings idle = settings.idle_of(lease.request);
  const bool is_idle = held != nullptr && held->idle_since && !held->frozen &&
                       idle.max > Duration{} && now - *held->idle_since >= idle.max &&
                       lease.request.priority <= next.priority;
  return is_idle ? idle.action : IdleAction::kNone;
}

// It was started with leave to.
bool asked_to_yield(const Lease& lease, const Request& next) {
  return next.priority == Priority::kUrgent && lease.request.may_yield &&
         lease.request.priority < next.priority;
}

}  // namespace

bool Yielding::has_leave(const Lease& lease, const Lease& next) const {
  const IdleAction idle =
      idle_action_for(lease, next.request, core_->settings(), core_->now().instant);
  return idle == IdleAction::kPause || asked_to_yield(lease, next.request) ||
         Messages::has_agreed(lease, next.id);
}

bool Yielding::may_be_asked(const Lease& lease, const Lease& next) const {
  const IdleAction idle =
      idle_action_for(lease, next.request, core_->settings(), core_->now().instant);
  return idle == IdleAction::kAsk && messages_->may_ask_for_room(lease, next.id);
}

bool Yielding::may_yield_to(const Lease& lease, const Lease& next, Who who) const {
  const bool is_asked = who == Who::kAlsoThoseToAsk && may_be_asked(lease, next);
  if (!is_asked && !has_leave(lease, next)) return false;
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
                                                             const Account& account,
                                                             Who who) const {
  const bool whole = next.request.share == Share::kExclusive;
  std::vector<std::tuple<Priority, Bytes, LeaseId>> able;
  for (const auto& [id, entry] : account.entries) {
    const Lease& lease = *core_->state().find(id);
    if (may_yield_to(lease, next, who)) {
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
  if (is_made_for(*next)) return;
  const LeaseId whom = next->id;
  if (const auto best = best_way(*next, Who::kThoseWithLeave)) {
    for (const LeaseId id : *best) transfers_->suspend(id, {.yields_to = whom});
  } else if (core_->settings().holders_are_asked()) {
    ask_for_room(whom);
  }
}

// Some are on their way out for it.
bool Yielding::is_made_for(const Lease& next) const {
  return std::ranges::any_of(ledger_->accounts(), [&](const Account& account) {
    if (!account.seen || !is_eligible(account, next.request)) return false;
    return std::ranges::any_of(account.entries, [&](const auto& entry) {
      const Held* held = core_->state().find(entry.first)->granted();
      return held != nullptr && held->suspension && held->suspension->yields_to == next.id;
    });
  });
}

std::optional<std::vector<LeaseId>> Yielding::best_way(const Lease& next, Who who) const {
  std::optional<std::vector<LeaseId>> best;
  Bytes least;
  for (const Account& account : ledger_->accounts()) {
    if (!account.seen || !is_eligible(account, next.request)) continue;
    const auto chosen = who_makes_room(next, account, who);
    if (!chosen) continue;
    Bytes moved;
    for (const LeaseId id : *chosen) moved += attribution_->used(id);
    if (best && moved >= least) continue;
    best = chosen;
    least = moved;
  }
  return best;
}

// Who has leave leaves when all others of the way have agreed: none in vain.
void Yielding::ask_for_room(LeaseId whom) {
  if (messages_->awaits_room(whom)) return;
  const Lease& next = *core_->state().find(whom);
  const auto best = best_way(next, Who::kAlsoThoseToAsk);
  for (const LeaseId id : best.value_or(std::vector<LeaseId>{})) {
    const Lease& lease = *core_->state().find(id);
    if (has_leave(lease, next)) continue;
    CHECK(lease.held() != nullptr);  // Nothing else makes room.
    messages_->ask_for_room(id, whom, checked(lease.held()->idle_since));
  }
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
