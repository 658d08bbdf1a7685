// SPDX-License-Identifier: Apache-2.0
// Leases that shrink and grow while they run. A budget falls at once; it grows now, or waits ahead
// of requests of its priority, or is refused with what is missing.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

std::vector<Part> with_budget(const std::vector<Part>& parts, Bytes vram) {
  std::vector<Part> changed = parts;
  for (Part& part : changed) part.budget = vram;
  return changed;
}

// What it is with another budget.
Share shared_as(const Lease& lease) {
  return lease.request.share == Share::kSlice ? Share::kSlice : Share::kBudget;
}

}  // namespace

void Coordinator::Impl::on(const Resize& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const Held* held = lease->held();
  if (held == nullptr || !held->claimed) {  // An offer may lapse, and takes its growth with it.
    refuse(event.token, RefusalCode::kWrongState,
           text_of(id) + (held == nullptr
                              ? " is not held: a request that waits is cancelled and asked again"
                              : " has not begun yet: ask again when it has"));
    return;
  }
  if (held->suspension) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(id) + " is suspended: it can be resized when it runs again (berth resume " +
               std::to_string(id.value) + ")");
    return;
  }
  const bool in_turns = lease->request.share == Share::kSlice;
  if (in_turns ? event.share == Share::kExclusive : event.share == Share::kSlice) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(id) +
               (in_turns ? " runs in turns: it gets no GPU for itself"
                         : " does not run in turns, and cannot begin to") +
               ": ask anew");
    return;
  }
  if (!journal_full_where.empty()) {
    refuse(event.token, RefusalCode::kDiskFull,
           "the journal " + journal_full_where + " cannot be written: " + text_of(id) +
               " keeps its budget; free some space there");
    return;
  }
  if (held->growth) drop_growth(id, Refusal{RefusalCode::kBusy, "asked anew"});
  if (event.share == Share::kExclusive) {
    resize_to_exclusive(event, *lease);
    return;
  }
  const Bytes least = dearest_context(*lease);
  if (event.vram < least) {
    effects.emplace_back(Reply{event.token, below_a_context(event.vram, least)});
    return;
  }
  const bool grows =
      std::ranges::any_of(held->parts, [&](const Part& part) { return event.vram > part.budget; });
  if (!grows) {
    resize(id, shared_as(*lease), with_budget(held->parts, event.vram));
    announce_budget(id);
    notify(id, LeaseEvent::kResized);
    answer(event.token, id);
    return;
  }
  if (std::optional<Refusal> refusal = refuse_growth(*lease, event.vram)) {
    effects.emplace_back(Reply{event.token, *std::move(refusal)});
    return;
  }
  const bool waits = event.wait_max && event.wait_max->ns > 0;
  std::optional<Instant> until;
  if (waits) until = now.instant + *event.wait_max;
  decide(id, GrowthQueued{id, event.vram, until});
  observed.at(id).growth_token = event.token;
  if (!try_growth(id) && !waits) {
    drop_growth(
        id, Refusal{RefusalCode::kBusy, "not now: " + shortage_text(lease->request, lease->user)});
  }
}

// The budget falls at once. What it leaves free is granted when a sample asked after this has told
// that it is: a program gives back when it can, if at all.
void Coordinator::Impl::resize(LeaseId id, Share share, std::vector<Part> parts) {
  Observed& seen = observed.at(id);
  for (const Part& before : state.find(id)->held()->parts) {
    const auto after = std::ranges::find(parts, before.device, &Part::device);
    if (after == parts.end() || after->budget >= before.budget) continue;
    Use& use = seen.use[before.device];
    use.upper_bound = std::max(use.upper_bound, before.budget);
    seen.shrunk_at = now.instant;
  }
  if (seen.shrunk_at == now.instant) {
    shrunk.insert(id);
    seen.shrink_confirmed = false;
    ask_probe(now.instant);
  }
  const Lease& lease = *state.find(id);
  seen.budgets_before = LeaseResized{id, lease.request.share, lease.held()->parts};
  decide(id, LeaseResized{id, share, std::move(parts)});
}

// What a budget that fell had left free is still charged, and what it grew by was given to nobody
// else: nothing is in the way.
void Coordinator::Impl::take_back_resize(LeaseId id) {
  const Lease* lease = state.find(id);
  if (lease == nullptr || lease->held() == nullptr) return;
  std::optional<LeaseResized> before = std::exchange(observed.at(id).budgets_before, std::nullopt);
  if (!before) return;
  decide(id, *std::move(before));
  announce_budget(id);
}

void Coordinator::Impl::resize_to_exclusive(const Resize& event, const Lease& lease) {
  std::vector<Part> parts = lease.held()->parts;
  for (Part& part : parts) {
    const Account* account = ledger.find(part.device);
    if (account == nullptr || !account->seen || account->entries.size() != 1) {
      refuse(event.token, RefusalCode::kBusy,
             "other leases are on the device of " + text_of(lease.id) +
                 ": it can be made exclusive when it is alone there");
      return;
    }
    const Bytes room = saturating_sub(account->capacity, account->held_back());
    part.budget = std::max(part.budget, room);
  }
  resize(lease.id, Share::kExclusive, std::move(parts));
  notify(lease.id, LeaseEvent::kResized);
  answer(event.token, lease.id);
}

std::optional<Refusal> Coordinator::Impl::refuse_growth(const Lease& lease, Bytes vram) const {
  if (!may_grant()) {
    return Refusal{RefusalCode::kSafeMode,
                   "nothing is granted now, growth included (see berth doctor)"};
  }
  Bytes sum;
  for (std::size_t i = 0; i < lease.held()->parts.size(); ++i) sum += vram;
  const UserLimits& limits = limits_of(lease.user);
  const Bytes others =
      saturating_sub(users.at(lease.user).vram, observed.at(lease.id).counted_vram);
  if (others + sum > limits.vram_max) {
    return Refusal{RefusalCode::kQueueFull,
                   "that is above your limit of " + to_text(limits.vram_max) + " of VRAM"};
  }
  for (const Part& part : lease.held()->parts) {
    const Account* account = ledger.find(part.device);
    const Bytes most = account == nullptr ? Bytes{} : account->grantable_when_empty();
    if (vram > most) {
      return Refusal{RefusalCode::kNeverFits,
                     to_text(vram) + " does not fit into that GPU: at most " + to_text(most)};
    }
    // Room that only another waiting growth could make is room that never comes.
    Bytes waiting_to_grow;
    LeaseId other;
    for (const auto& [id, entry] : account->entries) {
      if (id == lease.id || !growing.contains(id)) continue;
      waiting_to_grow += entry.charge;
      other = id;
    }
    if (waiting_to_grow + vram > most) {
      return Refusal{RefusalCode::kWouldWaitForEachOther,
                     "it would wait for " + text_of(other) + ", which waits to grow as well"};
    }
  }
  return std::nullopt;
}

bool Coordinator::Impl::try_growth(LeaseId id) {
  const Held& held = *state.find(id)->held();
  CHECK(held.growth.has_value());
  const Bytes vram = held.growth->vram;
  for (const Part& part : held.parts) {
    const Account* account = ledger.find(part.device);
    if (account == nullptr || (vram > part.budget && !account->seen)) return false;
    // Where the lease uses more than its budget, its charge has room that its budget may not take.
    const Bytes others = saturating_sub(account->granted, part.budget);
    const bool fits = others + vram + account->reserve <= account->capacity;
    if (vram > part.budget && (!fits || account->overcommitted())) return false;
    const auto entry = account->entries.find(id);
    const Bytes own = entry == account->entries.end() ? Bytes{} : entry->second.charge;
    if (saturating_sub(vram, own) > account->grantable() && vram > own) return false;
  }
  resize(id, shared_as(*state.find(id)), with_budget(held.parts, vram));
  Observed& seen = observed.at(id);
  const std::optional<Token> token = std::exchange(seen.growth_token, std::nullopt);
  if (token) answer(*token, id);
  announce_budget(id);
  notify(id, LeaseEvent::kResized);
  return true;
}

void Coordinator::Impl::drop_growth(LeaseId id, std::optional<Refusal> refusal) {
  decide(id, GrowthDropped{id});
  Observed& seen = observed.at(id);
  const std::optional<Token> token = std::exchange(seen.growth_token, std::nullopt);
  if (token && refusal) effects.emplace_back(Reply{*token, *std::move(refusal)});
}

void Coordinator::Impl::on(const GrowthRequesterGone& event) {
  const Lease* lease = state.find(event.lease);
  if (lease == nullptr || lease->held() == nullptr || !lease->held()->growth) return;
  observed.at(event.lease).growth_token.reset();
  drop_growth(event.lease, std::nullopt);
}

}  // namespace berth::core
