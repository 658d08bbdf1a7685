// SPDX-License-Identifier: Apache-2.0
#include "core/requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {

// Live, or it has run: one that came to nothing may be asked for anew.
std::optional<LeaseId> Requests::find_key(const std::string& key, UserId user) const {
  if (key.empty()) return std::nullopt;
  for (const auto& [id, lease] : core_->state().leases()) {
    if (lease.user == user && lease.request.key == key) return id;
  }
  for (const LeaseView& ended : core_->state().ended()) {
    // A set itself never does: its members do.
    const bool has_run = ended.started_at || (ended.set && ended.set->begun > 0);
    if (ended.user == user && ended.request.key == key && has_run) return ended.id;
  }
  return std::nullopt;
}

void Requests::on(const Submit& event) {
  if (const auto lease = find_key(event.request.key, event.actor.user)) {
    return core_->refuse(
        event.token,
        {RefusalCode::kExists,
         text_of(*lease) + " was asked for with the key '" + event.request.key + "'", lease});
  }
  Request request = admission_->with_learned_size(event.request, event.actor.user);
  if (std::optional<Refusal> refusal = admission_->refuse(request, event.actor)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  if (std::optional<Refusal> refusal = dependencies_->refuse(request, event.actor.user)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  const bool no_wait = request.wait_max && request.wait_max->ns == 0;
  if (no_wait) {
    const std::variant<FitView, Refusal> fits = explainer_->fit(request, event.actor, core_->now());
    if (const auto* view = std::get_if<FitView>(&fits); view == nullptr || !view->fits) {
      core_->refuse(event.token, RefusalCode::kBusy,
                    admission_->shortage_text(request, event.actor.user));
      return;
    }
  }
  const LeaseId id{core_->state().next_id()};
  core_->decide(
      id, RequestQueued{id, event.handle, event.actor.user, event.supervisor, std::move(request)});
  // Its keeper may be killed before it could say so, and a number is given to one member only.
  if (event.request.member) core_->decide(id, RequestKept{id});
  if (devices_->all().empty()) note_unchecked(id);
  core_->answer(event.token, id);
  core_->note_requester_of(id);
  if (!confirmations_->ending().empty()) core_->ask_probe(core_->now().instant);
}

void Requests::on(const Reconnect& event) {
  if (!core_->state().find(event.handle)) {
    // An answer that was lost is given again, the last one included.
    const auto ended = std::ranges::find(core_->state().ended(), event.handle, &LeaseView::handle);
    if (ended != core_->state().ended().end() && ended->user == event.actor.user) {
      core_->answer(event.token, ended->id);
      return;
    }
  }
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* granted = lease->granted();
  const bool stopped = requeuing_->comes_back(*lease);
  if (event.body.restarts != lease->restarts + (stopped ? 1U : 0U)) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(lease->id) + " has been started " + std::to_string(lease->restarts) +
                      " times again, and this was said for another run");
    return;
  }
  const bool has_begun = granted != nullptr && (lease->held() == nullptr || granted->claimed);
  if (event.body.keep && !lease->job && (has_begun || lease->request.ttl)) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(lease->id) + (has_begun ? " has begun, and only what waits becomes a job"
                                                  : " is a reservation, which is no job"));
    return;
  }
  if (event.body.keep && !lease->job) core_->decide(lease->id, RequestKept{lease->id});
  presence_->connected(lease->id);
  if (lease->held() != nullptr && !lease->held()->claimed) {
    presence_->offered(lease->id, core_->now().instant + core_->settings().claim_within);
  }
  if (lease->waiting() != nullptr && lease->waiting()->parked_since) {
    core_->decide(lease->id, RequestParked{lease->id, false});
  }
  core_->answer(event.token, lease->id);
  core_->note_requester_of(lease->id);
  core_->look_again();
  core_->derive(lease->id);
  if (stopped) lifecycle_->finish_if_free(lease->id);
}

void Requests::on(const Claim& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  const bool again = held != nullptr && held->claimed && held->command == event.body.command;
  const bool is_old = event.body.restarts != lease->restarts;
  if (held == nullptr || is_old || (held->claimed && !again) || lease->request.ttl) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(lease->id) + " cannot be claimed: " +
                      (is_old            ? "this was said for another run"
                       : held == nullptr ? "it has not been granted, or the offer lapsed"
                                         : "it is claimed already"));
    return;
  }
  if (!again) {
    LeaseClaimed fact{lease->id, event.body.command};
    if (lease->job) fact.supervisor = event.actor.process;
    core_->decide(lease->id, fact);
  }
  core_->answer(event.token, lease->id);
}

void Requests::on(const Join& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  if (held == nullptr || !held->claimed) {
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(lease->id) + " is not held: no process can join it");
    return;
  }
  const bool joined = held->members.contains(event.body) || held->command == event.body;
  if (!joined && held->members.size() >= limits::kMembersPerLease) {
    core_->refuse(event.token, RefusalCode::kQueueFull,
                  text_of(lease->id) + " has " + std::to_string(limits::kMembersPerLease) +
                      " processes already, which is the most that one lease can have");
    return;
  }
  if (!joined) core_->decide(lease->id, MemberSeen{lease->id, event.body});
  core_->answer(event.token, lease->id);
}

void Requests::on(const Park& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const bool offered = lease->held() != nullptr && !lease->held()->claimed;
  if (lease->waiting() == nullptr && !(offered && event.body.parked)) {
    core_->refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not waiting");
    return;
  }
  if (offered) {
    lifecycle_->lapse(id, true);
  } else if (lease->waiting()->parked_since.has_value() != event.body.parked) {
    core_->decide(id, RequestParked{id, event.body.parked});
  }
  core_->answer(event.token, id);
}

// It keeps its place, and its age. What was offered to it goes to the next one.
void Requests::on(const Hold& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const bool offered = lease->held() != nullptr && !lease->held()->claimed && !lease->request.ttl;
  if (lease->waiting() == nullptr && (event.body.off || !offered)) {
    const bool runs = lease->held() != nullptr;
    core_->refuse(event.token, RefusalCode::kWrongState,
                  text_of(id) + (runs ? " has been granted, and only a request can be on hold "
                                        "(berth pause " +
                                            to_text(id) + " makes it leave the GPU)"
                                      : " does not wait"));
    return;
  }
  if (offered && ends_wait(*lease) <= core_->now().instant) {
    return core_->refuse(event.token, RefusalCode::kWrongState,
                         text_of(id) +
                             " was granted at the end of the time that it may wait, and "
                             "on hold it would end (berth cancel " +
                             to_text(id) + " ends it)");
  }
  if (offered) lifecycle_->lapse(id, false);
  if (lease->waiting()->hold.has_value() == event.body.off) {
    core_->decide(id, RequestOnHold{id, !event.body.off, event.actor.user});
    core_->look_again(lease->set.has_value());  // Its members may be granted, or not.
  }
  core_->answer(event.token, id);
}

void Requests::on(const Edit& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  if (lease->set) {
    return core_->refuse(event.token, RefusalCode::kWrongState,
                         text_of(id) + " is a set, whose members ask for what was submitted: " +
                             "cancel it, and submit the rest anew with --resume");
  }
  if (lease->waiting() == nullptr) {
    const bool runs = lease->held() != nullptr;
    return core_->refuse(event.token, RefusalCode::kWrongState,
                         text_of(id) + (runs ? " has been granted, and only a request can be "
                                               "edited (berth resize changes its memory)"
                                             : " does not wait"));
  }
  const Request wanted = edited(lease->request, event.body);
  if (std::optional<Refusal> refusal = admission_->refuse_edit(wanted, *lease, event.actor)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  if (std::optional<Refusal> refusal = dependencies_->refuse_start(wanted)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  core_->leave_queues(id);
  core_->decide(id, RequestEdited{id, event.body, event.actor.user});
  if (devices_->all().empty()) note_unchecked(id);
  core_->look_again();
  core_->answer(event.token, id);
}

// A job stays, and so does what it was offered: another process may be on its way to take it up.
void Requests::leave(const Lease& job) {
  CHECK(job.job && (job.waiting() != nullptr || !job.held()->claimed));
  presence_->disconnected(job.id);
  core_->derive(job.id);
  core_->look_again();
}

void Requests::on(const RequesterGone& event) {
  const Lease* lease = core_->state().find(event.lease);
  if (lease == nullptr) return;
  const bool offered = lease->held() != nullptr && !lease->held()->claimed;
  if (lease->waiting() != nullptr || offered) {
    if (lease->job) return leave(*lease);
    lifecycle_->end_waiting(event.lease, EndResult::kCancelled, {});
  } else if (lease->granted()->is_being_stopped()) {
    lifecycle_->nobody_starts_it_again(event.lease);
  } else if (requeuing_->comes_back(*lease)) {
    if (lease->job) return presence_->disconnected(event.lease);  // Its keeper comes again.
    requeuing_->drop_next_attempt(event.lease);
    lifecycle_->finish_if_free(event.lease);
  }
}

// What was asked for when no device was known is looked at once all of them are. One that is away
// or asleep may turn out to be what was meant.
void Requests::refuse_what_never_fits(const Sample& sample) {
  if (unchecked_.empty()) return;
  const bool all_known = std::ranges::all_of(sample.devices, [&](const DeviceSample& device) {
    const Account* account = ledger_->find(device.id);
    return account != nullptr && account->seen && account->capacity > Bytes{};
  });
  if (!all_known) return;
  for (const LeaseId id : std::exchange(unchecked_, {})) {
    const Lease& lease = *core_->state().find(id);
    if (lease.waiting() == nullptr) continue;
    if (auto refusal = admission_->refuse_devices(lease.request, lease.user)) {
      lifecycle_->end_waiting(id, EndResult::kRefused, {*std::move(refusal)});
    }
  }
}

}  // namespace berth::core
