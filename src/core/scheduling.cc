// SPDX-License-Identifier: Apache-2.0
// A scheduling pass: who is granted what, now. It runs at the end of each step that changed the
// queue or the ledger.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "core/backfill.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {

void Coordinator::Impl::schedule() {
  dirty = false;
  if (!may_grant()) return;
  const auto grant_all = [this] {
    // Each turn takes one request out of the queue, or one growth, or is the last.
    while ((queue.size() > 0 || !growing.empty()) && grant_one()) {
    }
  };
  // For whom somebody leaves one device is next on no other, where the one after him may fit now.
  std::uint64_t begun = 0;
  do {
    begun = moves;
    grant_all();
    if (!yielding.empty()) {
      resume_yielded();
      grant_all();
    }
    make_room_for_urgent();
    take_turns();
  } while (moves != begun);  // Each time somebody leaves who had not been told to.
  dirty = false;
}

// Whoever waits, and wherever in the queue. Ends the walk in the usual case: devices are full, or
// reserved for those ahead.
bool Coordinator::Impl::nobody_fits(const Walk& walk) const {
  const bool whole = queue.has_whole_device_request() && walk.may_place(Bytes::max());
  return queue.size() == 0 || (!walk.may_place(queue.least_need()) && !whole);
}

bool Coordinator::Impl::grant_one() {
  Walk walk(state, ledger, settings, now.instant, full_walk);
  walk.take_turns(next_turns());
  for (const LeaseId id : in_order_of_resumption()) {
    const Lease& lease = *state.find(id);
    const bool grows = lease.held()->growth.has_value();
    const bool may = grows || (walk.may_take_turn(lease) && may_swap_in(id));
    if (may && (grows ? try_growth(id) : try_resume(id))) return true;
    walk.leave_growing(lease);
  }
  if (nobody_fits(walk)) return false;
  std::vector<const Lease*> ahead;
  InOrder waiting(queue, now.instant, settings, state.shares());
  for (std::size_t examined = 0; examined < limits::kBackfillDepth; ++examined) {
    const Lease* next = waiting.next();
    if (next == nullptr) break;
    if (walk.may_place(Queue::need_of(next->request)) || walk.is_heeded(*next)) {
      if (!takes_part(*next)) continue;
      std::optional<std::vector<Part>> parts;
      if (is_offerable(*next)) parts = walk.place(next->request, next->id);
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

// Those that want back or more, by age; of those that run in turns, for which no device has more
// than one place kept, whoever needs most comes first of them.
std::vector<LeaseId> Coordinator::Impl::in_order_of_resumption() const {
  std::vector<LeaseId> order(growing.begin(), growing.end());
  const auto rank = [&](LeaseId id) {
    const Lease& lease = *state.find(id);
    const bool turn = wants_turn(lease);
    return std::tuple(turn, turn ? ~turn_needs(lease).value : 0, id);
  };
  if (turns.size() > 0) std::ranges::sort(order, {}, rank);
  return order;
}

// It is granted something or others wait behind it. Does not change in a pass.
bool Coordinator::Impl::takes_part(const Lease& lease) const {
  return is_offerable(lease) ? user_has_room(lease) : keeps_place(lease);
}

bool Coordinator::Impl::is_offerable(const Lease& lease) const {
  return !lease.waiting()->parked_since && observed.at(lease.id).connected;
}

// Its asker is expected back any moment: nobody takes the place meanwhile.
bool Coordinator::Impl::keeps_place(const Lease& lease) const {
  const Observed& seen = observed.at(lease.id);
  return !lease.waiting()->parked_since && seen.reconnect_until &&
         *seen.reconnect_until > now.instant;
}

bool Coordinator::Impl::user_has_room(const Lease& lease) const {
  const UserLimits& limits = limits_of(lease.user);
  const auto found = users.find(lease.user);
  if (found == users.end()) return true;
  const std::uint64_t devices =
      lease.request.devices.empty() ? lease.request.device_count : lease.request.devices.size();
  Bytes asked;
  for (std::uint64_t i = 0; i < devices; ++i) asked += lease.request.vram;
  return found->second.held < limits.leases_max && found->second.vram + asked <= limits.vram_max;
}

// Those ahead that could use a device of the grant are passed by it; the first time is recorded.
bool Coordinator::Impl::mark_passed(const std::vector<const Lease*>& ahead,
                                    const std::vector<Part>& parts) {
  bool passed_any = false;
  for (const Lease* lease : ahead) {
    const bool marked = lease->waiting()->passed_since.has_value();
    if (passed_any && marked) continue;
    if (!takes_part(*lease)) continue;
    const bool same_device = std::ranges::any_of(parts, [&](const Part& part) {
      const Account* account = ledger.find(part.device);
      return is_eligible(*account, lease->request) && fits_ever(*account, lease->request);
    });
    if (!same_device) continue;
    passed_any = true;
    if (!marked) decide(lease->id, RequestPassed{lease->id});
  }
  return passed_any;
}

void Coordinator::Impl::grant(LeaseId id, const std::vector<Part>& parts, bool passed_others) {
  Observed& seen = observed.at(id);
  seen.claim_until = now.instant + settings.claim_within;
  seen.reconnect_until.reset();
  decide(id, LeaseGranted{id, parts, passed_others});
  for (const Part& part : parts) {
    const Account& account = *ledger.find(part.device);
    CHECK(account.charged + account.held_back() <= account.capacity);
    CHECK(account.granted <= saturating_sub(account.capacity, account.reserve));
    CHECK(account.exclusive_count == 0 || account.entries.size() == 1);
  }
  const Request& request = state.find(id)->request;
  if (request.ttl) {
    const Instant expires = now.instant + *request.ttl;
    decide(id, LeaseClaimed{id, std::nullopt});
    decide(id, LeaseRenewed{id, expires, wall_at(expires, now)});
  }
  if (asking != id) notify(id, LeaseEvent::kGranted);
}

}  // namespace berth::core
