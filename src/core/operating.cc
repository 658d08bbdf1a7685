// SPDX-License-Identifier: Apache-2.0
// Events of the operator and the machine: configuration, recovery, a journal that cannot be
// written.
#include <algorithm>
#include <string>
#include <vector>

#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

std::vector<LeaseId> ids_of(const std::map<LeaseId, Lease>& leases) {
  std::vector<LeaseId> ids;
  ids.reserve(leases.size());
  for (const auto& [id, lease] : leases) ids.push_back(id);
  return ids;
}

}  // namespace

void Coordinator::Impl::on(const Configured& event) {
  for (auto& [id, seen] : observed) {
    if (seen.place) queue.erase(*seen.place);
    if (seen.turn_place) turns.erase(*seen.turn_place);
  }
  settings = event.settings;
  for (auto& [id, seen] : observed) {
    if (seen.turn_place) {
      seen.turn_place = Queue::place_of(*state.find(id), settings);
      turns.insert(*seen.turn_place);
    }
    if (!seen.place) continue;
    seen.place = Queue::place_of(*state.find(id), settings);
    queue.insert(*seen.place);
  }
  for (const auto& [device, last] : seen_devices) {
    const auto own = settings.device_reserve.find(device);
    Account& account = ledger.account(device);
    account.reserve = own == settings.device_reserve.end() ? settings.reserve : own->second;
    // What is to be ignored from now on the next sample tells.
    if (settings.unmanaged != Unmanaged::kIgnore) account.ignored = {};
  }
  ++version;
  order_cache.reset();
  dirty = true;
}

void Coordinator::Impl::on(const Recovered& event) {
  safe_mode = event.safe_mode;
  if (!event.same_boot) {
    // Instants of another boot mean nothing in this one: shares begin to decay anew.
    const Instant last_at = state.last_at();
    for (const auto& [user, sessions] : std::map(state.shares().users())) {
      for (const auto& [session, usage] : sessions) {
        const double share = share_at(usage, last_at);
        decide(LeaseId{}, UsageRestored{user, session, share, now.instant});
      }
    }
  }
  for (const LeaseId id : ids_of(state.leases())) {
    if (!event.same_boot) {
      // The machine went down with everything on it.
      decide(id, LeaseEnded{id, EndResult::kLost});
      continue;
    }
    const Lease& lease = *state.find(id);
    Observed& seen = observed[id];
    const bool offered = lease.held() != nullptr && !lease.held()->claimed;
    if (lease.waiting() != nullptr) unchecked.insert(id);
    if (lease.waiting() != nullptr || offered) {
      seen.connected = false;
      seen.reconnect_until = now.instant + limits::kReconnectWithin;
      seen.claim_until = now.instant + limits::kReconnectWithin + settings.claim_within;
    } else if (lease.releasing() != nullptr || lease.held()->command_ended) {
      seen.settle_since = now.instant;
      settling.insert(id);
    }
    if (const Held* held = lease.granted(); held != nullptr && held->requeue) {
      const bool asked = !held->requeue->kill_at && !lease.checkpoints.asked;
      seen.connected = false;
      if (asked) {
        seen.begins_until = now.instant + limits::kReconnectWithin + limits::kRequeueHeardWithin;
      }
    }
    reindex(id);
    // Whoever moved its memory may have got anywhere: all that is away comes back.
    const auto* held = lease.held();
    if (held != nullptr && held->suspension && !held->is_swapped_out()) begin_swap_in(id);
    restore_frozen(id);
    const MeasureTaken* moved = lease.measures.last(Measure::kSuspend);
    const bool made_room = moved != nullptr && moved->cause == Cause::kUnmanaged &&
                           moved->outcome == MeasureOutcome::kConfirmed;
    const bool is_for_that = held != nullptr && held->is_swapped_out() && !held->pause &&
                             made_room && held->its_suspension().since == moved->begun;
    if (is_for_that) displaced.insert(id);
    // Nobody is left to be told whether it grew.
    if (lease.held() != nullptr && lease.held()->growth) drop_growth(id, std::nullopt);
  }
  ask_probe(now.instant);
  dirty = true;
}

void Coordinator::Impl::on(const JournalFailed& event) {
  journal_full_where = event.where;
  for (const LeaseId id : event.refused) {
    if (state.find(id) != nullptr) decide(id, LeaseEnded{id, EndResult::kRefused});
  }
  for (const LeaseId id : event.granted) {
    const Lease* lease = state.find(id);
    if (lease == nullptr || lease->held() == nullptr || lease->held()->command) continue;
    lapse(id, false);
  }
  for (const LeaseId id : event.resized) take_back_resize(id);
  effects.emplace_back(Say{"the journal " + event.where +
                           " cannot be written: nothing is granted until it can; running leases "
                           "are not touched"});
}

void Coordinator::Impl::on(const JournalMended&) {
  if (journal_full_where.empty()) return;
  effects.emplace_back(Say{"the journal can be written again: leases are granted again"});
  journal_full_where.clear();
  dirty = true;
}

}  // namespace berth::core
