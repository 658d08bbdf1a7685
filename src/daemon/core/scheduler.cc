// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {

void Scheduler::schedule() {
  if (!core_->may_grant()) return;
  next_turns_at_.reset();
  // One for which a lease leaves a device is next on no other, where the one after it may fit now.
  std::uint64_t begun = 0;
  do {
    begun = transfers_->count();
    grant_all();
    if (!indexes_->yielding().empty()) {
      yielding_->resume_yielded();
      grant_all();
    }
    yielding_->make_room_for_next();
    slices_->take_turns(next_turns());
  } while (transfers_->count() != begun);  // Each time a lease leaves that had not been told to.
}

// To find them takes as long as all the rest of a pass, in which nothing changes but by decisions.
const NextTurns& Scheduler::next_turns() {
  if (next_turns_at_ != core_->version()) next_turns_ = slices_->next_turns();
  next_turns_at_ = core_->version();
  return next_turns_;
}

// Each turn takes one request out of the queue, or one growth, or is the last.
void Scheduler::grant_all() {
  while ((indexes_->queue().size() > 0 || !indexes_->growing().empty()) && grant_one()) {
  }
}

// Whichever waits, and wherever in the queue. Ends the walk in the usual case: devices are full, or
// reserved for those ahead.
bool Scheduler::nobody_fits(const Walk& walk) const {
  const Queue& queue = indexes_->queue();
  const bool whole = queue.has_whole_device_request() && walk.may_place(Bytes::max());
  return queue.size() == 0 || (!walk.may_place(queue.least_need()) && !whole);
}

bool Scheduler::grant_one() {
  Walk walk(core_->state(), *ledger_, core_->settings(), core_->now().instant, full_walk_);
  walk.take_turns(next_turns());
  if (resume_one(walk)) return true;
  if (nobody_fits(walk)) return false;
  std::vector<const Lease*> ahead;
  InOrder waiting = indexes_->in_order(core_->now().instant);
  for (std::size_t examined = 0; examined < limits::kBackfillDepth; ++examined) {
    const Lease* next = waiting.next();
    if (next == nullptr) break;
    if (walk.may_place(Queue::need_of(next->request)) || walk.is_heeded(*next)) {
      if (!presence_->takes_part(*next)) continue;
      std::optional<std::vector<Part>> parts;
      if (presence_->is_offerable(*next)) parts = walk.place(next->request, next->id);
      if (parts) {
        const bool passed_any = mark_passed(ahead, *parts);
        grant(next->id, *parts, passed_any);
        return true;
      }
      walk.leave_waiting(*next);
      if (nobody_fits(walk)) break;
    }
    ahead.push_back(next);
  }
  return false;
}

bool Scheduler::resume_one(Walk& walk) {
  for (const LeaseId id : in_order_of_resumption()) {
    const Lease& lease = *core_->state().find(id);
    const bool grows = lease.held()->growth.has_value();
    const bool may = grows || (walk.may_take_turn(lease) && transfers_->may_resume(id));
    if (may && (grows ? resizing_->try_to_grow(id) : transfers_->try_resume(id))) return true;
    walk.leave_growing(lease);
  }
  return false;
}

// Those that want back or more, by age; of those that run in turns, for which no device has more
// than one place kept, the one that needs most comes first of them.
std::vector<LeaseId> Scheduler::in_order_of_resumption() const {
  std::vector<LeaseId> order(indexes_->growing().begin(), indexes_->growing().end());
  const auto rank = [&](LeaseId id) {
    const Lease& lease = *core_->state().find(id);
    const bool turn = wants_turn(lease);
    return std::tuple(turn, turn ? ~transfers_->needs().of_turn(lease).value : 0, id);
  };
  if (slices_->waiting() > 0) std::ranges::sort(order, {}, rank);
  return order;
}

// Those ahead that could use a device of the grant are passed by it; the first time is recorded.
bool Scheduler::mark_passed(const std::vector<const Lease*>& ahead,
                            const std::vector<Part>& parts) {
  bool passed_any = false;
  for (const Lease* lease : ahead) {
    const bool marked = lease->waiting()->passed_since.has_value();
    if (passed_any && marked) continue;
    if (!presence_->takes_part(*lease)) continue;
    const bool same_device = std::ranges::any_of(parts, [&](const Part& part) {
      const Account* account = ledger_->find(part.device);
      return is_eligible(*account, lease->request) && fits_ever(*account, lease->request);
    });
    if (!same_device) continue;
    passed_any = true;
    if (!marked) core_->decide(lease->id, RequestPassed{lease->id});
  }
  return passed_any;
}

void Scheduler::grant(LeaseId id, const std::vector<Part>& parts, bool passed_others) {
  const Instant now = core_->now().instant;
  presence_->offered(id, now + core_->settings().claim_within);
  presence_->expected_no_more(id);
  core_->decide(id, LeaseGranted{id, parts, passed_others});
  for (const Part& part : parts) {
    const Account& account = *ledger_->find(part.device);
    CHECK(account.charged + account.held_back() <= account.capacity);
    CHECK(account.granted <= saturating_sub(account.capacity, account.reserve));
    CHECK(account.exclusive_count == 0 || account.entries.size() == 1);
  }
  const Request& request = core_->state().find(id)->request;
  if (request.ttl) {
    const Instant expires = now + *request.ttl;
    core_->decide(id, LeaseClaimed{id, std::nullopt});
    core_->decide(id, LeaseRenewed{id, expires, wall_at(expires, core_->now())});
  }
  if (!core_->hears_by_answer(id)) core_->notify(id, LeaseEvent::kGranted);
}

}  // namespace berth::core
