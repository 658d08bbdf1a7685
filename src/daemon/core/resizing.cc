// SPDX-License-Identifier: Apache-2.0
#include "core/resizing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/operations.h"
#include "core/run_history.h"

namespace berth::core {
namespace {

constexpr Duration kRoomyFor = minutes(10);

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

void Resizing::on(const Resize& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  // Bytes for a lease that has its devices to itself make it an ordinary budget.
  const Share share = event.body.share.value_or(shared_as(*lease));
  if (std::optional<Refusal> refusal = refuse(*lease, share)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  drop(id, Refusal{RefusalCode::kBusy, "asked anew"});
  if (share == Share::kExclusive) return make_exclusive(event.token, *lease);
  const Bytes vram = event.body.vram.value_or(Bytes{});
  const Bytes least = devices_->dearest_context(*lease);
  if (vram < least) {
    return core_->refuse(event.token, Admission::below_a_context(vram, least));
  }
  const Held* held = lease->held();
  const bool grows =
      std::ranges::any_of(held->parts, [&](const Part& part) { return vram > part.budget; });
  if (!grows) {
    resize(id, shared_as(*lease), with_budget(held->parts, vram));
    return resized(id, event.token);
  }
  if (std::optional<Refusal> refusal = refuse_growth(*lease, vram)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  const bool waits = event.body.wait_max && event.body.wait_max->ns > 0;
  std::optional<Instant> until;
  if (waits) until = core_->now().instant + *event.body.wait_max;
  core_->decide(id, GrowthQueued{id, vram, until});
  known_[id].waiter = event.token;
  if (!try_to_grow(id) && !waits) {
    drop(id, Refusal{RefusalCode::kBusy,
                     "not now: " + admission_->shortage_text(lease->request, lease->user)});
  }
}

std::optional<Refusal> Resizing::refuse(const Lease& lease, Share share) const {
  const auto wrong_state = [&](const std::string& why) {
    return Refusal{RefusalCode::kWrongState, text_of(lease.id) + why};
  };
  // An offer may lapse, and takes its growth with it.
  if (auto refusal = refusal_of(Operation::kResize, lease)) return refusal;
  const bool in_turns = lease.request.share == Share::kSlice;
  if (in_turns && share == Share::kExclusive) {
    return wrong_state(" runs in turns: it gets no GPU for itself: ask anew");
  }
  if (!in_turns && share == Share::kSlice) {
    return wrong_state(" does not run in turns, and cannot begin to: ask anew");
  }
  if (!core_->journal_full_where().empty()) {
    return Refusal{RefusalCode::kDiskFull, "the journal " + core_->journal_full_where() +
                                               " cannot be written: " + text_of(lease.id) +
                                               " keeps its budget; free some space there"};
  }
  return std::nullopt;
}

// The budget falls at once. What it leaves free is granted when a sample asked after this has told
// that it is: a program gives back when it can, if at all.
void Resizing::resize(LeaseId id, Share share, std::vector<Part> parts) {
  if (attribution_->keep_until_shrunk(id, parts)) core_->ask_probe(core_->now().instant);
  const Lease& lease = *core_->state().find(id);
  CHECK(lease.held() != nullptr && parts.size() == lease.held()->parts.size());
  known_[id].before = LeaseResized{id, lease.request.share, lease.held()->parts};
  core_->decide(id, LeaseResized{id, share, std::move(parts)});
}

void Resizing::resized(LeaseId id, std::optional<Token> token) {
  if (token) core_->answer(*token, id);
  attribution_->announce_budget(id);
  core_->notify(id, LeaseEvent::kResized);
}

// What a budget that fell had left free is still charged, and what it grew by was given to nobody
// else: nothing is in the way.
void Resizing::take_back(LeaseId id) {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr || lease->held() == nullptr) return;
  std::optional<LeaseResized> before = std::exchange(known_[id].before, std::nullopt);
  if (!before) return;
  core_->decide(id, *std::move(before));
  attribution_->announce_budget(id);
}

std::optional<Refusal> Resizing::refuse_above_limit(const Lease& lease,
                                                    const std::vector<Part>& parts) const {
  Bytes all = saturating_sub(indexes_->count_of(lease.user).vram, indexes_->vram_of(lease.id));
  for (const Part& part : parts) all += part.budget;
  const Bytes most = core_->limits_of(lease.user).vram_max;
  if (all <= most) return std::nullopt;
  return Refusal{RefusalCode::kQueueFull,
                 "that is above your limit of " + to_text(most) + " of VRAM"};
}

void Resizing::make_exclusive(Token token, const Lease& lease) {
  std::vector<Part> parts = lease.held()->parts;
  for (Part& part : parts) {
    const Account* account = ledger_->find(part.device);
    if (account == nullptr || !account->seen || account->entries.size() != 1) {
      core_->refuse(token, RefusalCode::kBusy,
                    "other leases are on the device of " + text_of(lease.id) +
                        ": it can be made exclusive when it is alone there");
      return;
    }
    const Bytes room = saturating_sub(account->capacity, account->held_back());
    part.budget = std::max(part.budget, room);
  }
  if (auto refusal = refuse_above_limit(lease, parts)) {
    return core_->refuse(token, *std::move(refusal));
  }
  resize(lease.id, Share::kExclusive, std::move(parts));
  core_->notify(lease.id, LeaseEvent::kResized);
  core_->answer(token, lease.id);
}

std::optional<Refusal> Resizing::refuse_growth(const Lease& lease, Bytes vram) const {
  if (!core_->may_grant()) {
    return Refusal{RefusalCode::kSafeMode,
                   "nothing is granted now, growth included (see berth doctor)"};
  }
  if (auto refusal = refuse_above_limit(lease, with_budget(lease.held()->parts, vram))) {
    return refusal;
  }
  for (const Part& part : lease.held()->parts) {
    const Account* account = ledger_->find(part.device);
    const Bytes most = account == nullptr ? Bytes{} : account->grantable_when_empty();
    if (vram > most) {
      return Refusal{RefusalCode::kNeverFits,
                     to_text(vram) + " does not fit into that GPU: at most " + to_text(most)};
    }
    // Room that only another waiting growth could make is room that never comes.
    Bytes waiting_to_grow;
    LeaseId other;
    for (const auto& [id, entry] : account->entries) {
      if (id == lease.id || !indexes_->growing().contains(id)) continue;
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

// What it could fall to by itself; absent: it cannot, or nobody knows.
std::optional<Bytes> Resizing::enough_for(const Lease& lease) const {
  const Held* held = lease.held();
  const bool may_fall = lease.request.shrink == Shrink::kAuto && held != nullptr &&
                        lease.request.share != Share::kExclusive && !held->growth &&
                        !held->frozen && !refuse(lease, shared_as(lease));
  if (!may_fall) return std::nullopt;
  Bytes most;
  for (const Part& part : held->parts) {
    const Use* use = attribution_->use(lease.id, part.device);
    const bool is_told = use != nullptr && use->now && !use->figure_missing;
    if (!is_told || use->refused > 0 || use->wanted > Bytes{}) return std::nullopt;
    most = std::max(most, use->highest());
  }
  return std::max(with_margin(most), devices_->dearest_context(lease));
}

void Resizing::weigh(LeaseId id, Instant asked_at) {
  const Lease* lease = core_->state().find(id);
  const std::optional<Bytes> enough = lease == nullptr ? std::nullopt : enough_for(*lease);
  const Bytes budget = enough ? lease->held()->parts.front().budget : Bytes{};
  if (!enough || *enough + *enough > budget) {
    if (known_.at(id).roomy) known_[id].roomy.reset();
    return;
  }
  std::optional<Roomy>& roomy = known_[id].roomy;
  if (!roomy || roomy->budget != budget) roomy = Roomy{budget, asked_at};
  if (asked_at - roomy->since < kRoomyFor) return;
  roomy.reset();
  resize(id, shared_as(*lease), with_budget(lease->held()->parts, *enough));
  resized(id, std::nullopt);
}

bool Resizing::try_to_grow(LeaseId id) {
  const Held& held = *core_->state().find(id)->held();
  CHECK(held.growth.has_value());
  const Bytes vram = held.growth->vram;
  for (const Part& part : held.parts) {
    const Account* account = ledger_->find(part.device);
    if (account == nullptr || (vram > part.budget && !account->seen)) return false;
    // Where the lease uses more than its budget, its charge has room that its budget may not take.
    const Bytes others = saturating_sub(account->granted, part.budget);
    const bool fits = others + vram + account->reserve <= account->capacity;
    if (vram > part.budget && (!fits || account->overcommitted())) return false;
    const auto entry = account->entries.find(id);
    const Bytes own = entry == account->entries.end() ? Bytes{} : entry->second.charge;
    if (saturating_sub(vram, own) > account->grantable() && vram > own) return false;
  }
  resize(id, shared_as(*core_->state().find(id)), with_budget(held.parts, vram));
  resized(id, std::exchange(known_[id].waiter, std::nullopt));
  return true;
}

void Resizing::drop(LeaseId id, std::optional<Refusal> refusal) {
  const Held* held = core_->state().find(id)->held();
  if (held == nullptr || !held->growth) return;
  core_->decide(id, GrowthDropped{id});
  const std::optional<Token> token = std::exchange(known_[id].waiter, std::nullopt);
  if (token && refusal) core_->refuse(*token, *std::move(refusal));
}

void Resizing::on(const GrowthRequesterGone& event) {
  const Lease* lease = core_->state().find(event.lease);
  if (lease == nullptr) return;
  known_[event.lease].waiter.reset();
  drop(event.lease, std::nullopt);
}

}  // namespace berth::core
