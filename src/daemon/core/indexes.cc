// SPDX-License-Identifier: Apache-2.0
#include "core/indexes.h"

#include "base/check.h"
#include "core/site.h"

namespace berth::core {
namespace {

void put(std::set<LeaseId>& set, LeaseId id, bool is_in) {
  if (is_in) {
    set.insert(id);
  } else {
    set.erase(id);
  }
}

// It wants back what it had. One that runs in turns does not while its processes are stopped.
bool wants_back(const Lease& lease) {
  const Held* held = lease.held();
  const bool skips_turn = lease.request.share == Share::kSlice && held->frozen;
  return held->suspension && held->suspension->queued && !skips_turn;
}

}  // namespace

bool Indexes::update(LeaseId id, const Lease* lease) {
  OfLease& known = known_[id];
  bool is_news = update_queue(lease, known);
  is_news |= update_user(lease, known);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  put(growing_, id, held != nullptr && (held->growth || wants_back(*lease)));
  put(yielding_, id, held != nullptr && held->suspension && held->suspension->yields_to);
  put(measuring_, id, lease != nullptr && lease->measures.under_way() != nullptr);
  if (lease == nullptr) known_.forget(id);
  return is_news;
}

void Indexes::leave_queue(LeaseId id) {
  if (!known_.at(id).place) return;
  queue_.erase(*known_.at(id).place);
  known_[id].place.reset();
}

bool Indexes::update_queue(const Lease* lease, OfLease& known) {
  const bool waits = lease != nullptr && lease->waiting() != nullptr;
  if (waits == known.place.has_value()) return false;
  if (waits) {
    known.place = Queue::place_of(*lease, core_->settings());
    queue_.insert(*known.place);
  } else {
    queue_.erase(*known.place);
    known.place.reset();
  }
  ++queue_version_;
  return true;
}

bool Indexes::update_user(const Lease* lease, OfLease& known) {
  if (lease != nullptr) known.user = lease->user;
  const bool waits = lease != nullptr && lease->waiting() != nullptr;
  const bool holds = lease != nullptr && lease->held() != nullptr;
  const bool gives_room = known.holds && !holds;  // The user may hold another one.
  Bytes vram;
  if (holds) {
    for (const Part& part : lease->held()->parts) vram += part.budget;
  }
  if (lease == nullptr && !known.waits && !known.holds) return false;
  UserCount& count = users_[known.user];
  count.waiting += (waits ? 1U : 0U) - (known.waits ? 1U : 0U);
  count.held += (holds ? 1U : 0U) - (known.holds ? 1U : 0U);
  count.vram = saturating_sub(count.vram, known.vram) + vram;
  known.waits = waits;
  known.holds = holds;
  known.vram = vram;
  if (count.waiting == 0 && count.held == 0) users_.erase(known.user);
  return gives_room;
}

void Indexes::rank_again() {
  queue_ = {};
  for (const auto& [id, lease] : core_->state().leases()) {
    if (!known_.at(id).place) continue;
    const Place place = Queue::place_of(lease, core_->settings());
    queue_.insert(place);
    known_[id].place = place;
  }
}

UserCount Indexes::count_of(UserId user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? UserCount{} : found->second;
}

bool Indexes::user_has_room(const Lease& lease) const {
  const UserLimits& limits = core_->limits_of(lease.user);
  const UserCount count = count_of(lease.user);
  if (count.held >= limits.leases_max) return false;
  return limits.vram_max == Bytes::max() ||
         count.vram + most_taken(*ledger_, lease.request) <= limits.vram_max;
}

void Indexes::check() const {
  std::map<UserId, UserCount> recount;
  std::size_t waiting = 0;
  for (const auto& [id, lease] : core_->state().leases()) {
    CHECK(known_.at(id).place.has_value() == (lease.waiting() != nullptr));
    waiting += lease.waiting() != nullptr ? 1U : 0U;
    UserCount& count = recount[lease.user];
    count.waiting += lease.waiting() != nullptr ? 1U : 0U;
    if (lease.held() == nullptr) continue;
    count.held += 1;
    for (const Part& part : lease.held()->parts) count.vram += part.budget;
  }
  CHECK(waiting == queue_.size());
  for (const auto& [user, count] : recount) {
    const UserCount kept = count_of(user);
    CHECK(kept.waiting == count.waiting && kept.held == count.held && kept.vram == count.vram);
  }
}

}  // namespace berth::core
