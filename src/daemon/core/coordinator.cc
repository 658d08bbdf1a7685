// SPDX-License-Identifier: Apache-2.0
// The order of things: an event goes to the part whose it is and is decided into records, each
// record is applied, what is derived from the state follows by derive(), and when nothing is left
// to be decided the schedule is looked at.
#include "core/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::size_t kEffectsUsual = 8;  // They are large to move, and most steps have fewer.
constexpr const char* kWentDown = "the machine went down";
constexpr int kDeadlinesMax = 8;  // More than a lease has at a time.

// What is known of the end of one that the machine has ended in any case.
EndResult result_at_last(const Lease& lease) {
  if (const Releasing* releasing = lease.releasing()) return result_of(*releasing);
  const Held* held = lease.held();
  const bool is_told = held != nullptr && (held->exit || held->revoked);
  return is_told ? result_of(*held) : EndResult::kLost;
}

template <class Part, class E>
concept Decides = requires(Part& part, const E& event) { part.on(event); };

template <class E, class... Parts>
void give(const E& event, Parts&... parts) {
  static_assert((static_cast<int>(Decides<Parts, E>) + ...) == 1, "one part decides an event");
  const auto offer = [&]<class Part>(Part& part) {
    if constexpr (Decides<Part, E>) part.on(event);
  };
  (offer(parts), ...);
}

template <class Part>
concept Weighs = requires(Part& part, LeaseId id, Instant at) { part.weigh(id, at); };

// To each part that decides by what leases use.
template <class... Parts>
void offer_to_weigh(LeaseId id, Instant asked_at, Parts&... parts) {
  const auto offer = [&]<class Part>(Part& part) {
    if constexpr (Weighs<Part>) part.weigh(id, asked_at);
  };
  (offer(parts), ...);
}

}  // namespace

std::vector<Effect> Coordinator::Impl::step(Now at, const Event& event) {
  CHECK(effects_.empty());
  CHECK(answers_.empty());
  effects_.reserve(kEffectsUsual);
  now_ = at;
  std::visit(
      [this](const auto& e) {
        give(e, *this, requests, lifecycle, resizing, progress, saves, requeuing, transfers,
             messages, left_alone);
      },
      event);
  settle_everything();
  for (const auto& [token, id] : answers_) emit(Reply{token, views.lease(id, now_)});
  answers_.clear();
  asking_.reset();
  const std::optional<Instant> next =
      timers.empty() ? std::nullopt : std::optional(timers.next().first);
  if (next && next != wake_at) emit(WakeAt{*next});
  wake_at = next;
  return std::exchange(effects_, {});
}

void Coordinator::Impl::settle_everything() {
  std::size_t done = 0;
  do {
    end_what_never_starts();
    for (const LeaseId id : dependencies.take_over_sets()) {
      const bool well = checked(state().find(id)->set).failed == 0;
      lifecycle.end_waiting(id, well ? EndResult::kOk : EndResult::kFailed, {});
    }
    if (!indexes.measuring().empty()) escalation.tend_measures();
    done = effects_.size();
    if (std::exchange(dirty_, false)) scheduler.schedule();
    dirty_ = false;
  } while (effects_.size() != done);
}

// The end of one may be what others waited for in vain.
void Coordinator::Impl::end_what_never_starts() {
  for (auto broken = dependencies.take_broken(); !broken.empty();
       broken = dependencies.take_broken()) {
    for (const auto& [id, why] : broken) {
      lifecycle.end_waiting(id, EndResult::kRefused,
                            {{RefusalCode::kWrongState, why + ", so it never starts"}});
    }
  }
}

// Each index is told of the lease before anything that asks for it: the ledger is charged by what
// is indexed, and the deadline is the soonest of what all parts wait for.
void Coordinator::Impl::derive(LeaseId id) {
  const Lease* lease = state().find(id);
  look_again(indexes.update(id, lease));
  look_again(slices.update(id, lease));
  dependencies.update(id, lease);
  attribution.charge(id, lease, progress.end(id));
  lifecycle.update_watches(id, lease);
  timers.set(id, lease == nullptr ? Instant::never() : deadline_of(*lease));
  if (lease == nullptr || lease->held() == nullptr) transfers.refuse_waiters_of_ended(id);
  if (lease == nullptr) forget(id);
  changed();
}

void Coordinator::Impl::derive_deadline(LeaseId id) {
  timers.set(id, deadline_of(*state().find(id)));
}

Instant Coordinator::Impl::deadline_of(const Lease& lease) const {
  return std::min({lifecycle.due(lease), saves.due(lease), Escalation::due(lease),
                   transfers.pause_due(lease), slices.due(lease), dependencies.due(lease.id),
                   messages.due(lease)});
}

void Coordinator::Impl::leave_queues(LeaseId id) {
  indexes.leave_queue(id);
  slices.leave_queue(id);
  dependencies.leave_queue(id);
}

void Coordinator::Impl::forget_run(LeaseId id) {
  devices.forget(id);
  attribution.forget_run(id);
  confirmations.forget(id);
  membership.forget_run(id);
  unmanaged.forget(id);
  idle.forget(id);
  progress.forget(id);
  pressure.forget(id);
  presence.forget(id);
  saves.forget(id);
  resizing.forget(id);
  transfers.forget(id);
  displaced.forget(id);
  left_alone.forget(id);
  slices.forget_run(id);
  requeuing.forget(id);
  lifecycle.forget_run(id);
  escalation.forget(id);
}

void Coordinator::Impl::forget(LeaseId id) {
  forget_run(id);
  attribution.forget(id);
  membership.forget(id);
  slices.forget(id);
  lifecycle.forget(id);
  requests.forget(id);
  messages.forget(id);
}

// What a sample says of the devices comes before who uses them, who uses them before who is above
// their budget, that before what is done about it; and what has come free is known before anybody
// is brought back.
void Coordinator::Impl::on(const Sampled& event) {
  const Sample& sample = event.sample;
  if (probe_at_ && sample.asked_at >= *probe_at_) probe_at_.reset();
  // A driver in trouble tells nothing: what was known last stays, and grows old.
  if (devices.hear(sample)) {
    devices.update(sample);
    for (const LeaseId id : attribution.take(sample)) {
      offer_to_weigh(id, sample.asked_at, saves, resizing, transfers, slices, yielding, requeuing,
                     lifecycle, escalation);
    }
    unmanaged.look(sample);
    idle.look(sample);
    pressure.update(sample);
    escalation.escalate(sample);
    lifecycle.settle_with(sample);
    attribution.count_left_behind(sample);
    transfers.swap_in_where_confirmed(sample);
    requests.refuse_what_never_fits(sample);
  }
  ask_probe_again(sample.asked_at);
}

// As long as something waits for what a sample tells.
void Coordinator::Impl::ask_probe_again(Instant asked_at) {
  const Instant now = now_.instant;
  Instant at = confirmations.shrunk_due(asked_at);
  const bool awaited = indexes.queue().size() > 0 || !indexes.growing().empty();
  for (const LeaseId id : confirmations.ending()) {
    const std::optional<Instant> awaited_since = confirmations.end_awaited_since(id);
    if (awaited_since && asked_at < *awaited_since) {
      at = now;
      break;
    }
    const Releasing* releasing = state().find(id)->releasing();
    const std::optional<Instant> since =
        releasing != nullptr ? std::optional(releasing->since) : awaited_since;
    if (!since) continue;
    const Duration every = !awaited                               ? seconds(1)
                           : now - *since < limits::kProbeFastFor ? limits::kProbeFastEvery
                                                                  : limits::kProbeSlowEvery;
    at = std::min(at, now + every);
  }
  if (confirmations.awaits_any_swapped_out()) at = now;  // A sample asked since ends that.
  if (transfers.awaits_room()) at = std::min(at, now + limits::kProbeSlowEvery);
  // A driver in trouble is not asked in a loop.
  if (!devices.trouble().empty()) at = std::max(at, now + seconds(1));
  if (at != Instant::never()) ask_probe(at);
}

void Coordinator::Impl::on(const TransferDone& event) {
  const LeaseId id = event.lease;
  const bool awaited = event.number != 0 && transfers.of(id).number == event.number;
  if (!awaited) return;
  const bool left = transfers.of(id).direction == Direction::kSwapOut;
  lifecycle.transfer_over(id);
  transfers.done(event);
  lifecycle.finish_if_free(id);
  const Lease* lease = state().find(id);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (!left || held == nullptr || !held->is_swapped_out()) return;
  yielding.resume_yielded();
  ask_probe(now_.instant);  // What it leaves free is granted when the driver says that it is.
}

void Coordinator::Impl::on(const Woke&) {
  wake_at.reset();
  std::pair<Instant, LeaseId> last;
  int rounds = 0;
  while (!timers.empty() && timers.next().first <= now_.instant) {
    // A daemon that is woken late finds several things due of one lease, and does one at a time;
    // one that never left its instant behind would be asked for ever.
    rounds = timers.next() == last ? rounds + 1 : 0;
    CHECK(rounds < kDeadlinesMax);
    last = timers.next();
    on_due(last.second);
  }
  look_again();
}

void Coordinator::Impl::on_due(LeaseId id) {
  const bool done = lifecycle.tend_exit(id) || slices.tend(id) || saves.tend(id) ||
                    escalation.tend_late(id) || transfers.tend_pause(id) || dependencies.tend(id) ||
                    messages.tend(id);
  if (!done) lifecycle.tend(id);
}

void Coordinator::Impl::on(const Configured& event) {
  settings_ = event.settings;
  indexes.rank_again();
  slices.rank_again();
  devices.keep_reserves();
  changed();
  explainer.forget_order();
  look_again();
}

void Coordinator::Impl::on(const Recovered& event) {
  safe_mode_ = event.safe_mode;
  if (event.same_boot) {
    std::vector<LeaseId> all;
    for (const auto& [id, lease] : state().leases()) all.push_back(id);
    for (const LeaseId id : all) recover(id);
  } else {
    lose_everything();
  }
  ask_probe(now_.instant);
  look_again();
}

// The machine went down with everything on it. Instants of another boot mean nothing in this one:
// shares begin to decay anew.
void Coordinator::Impl::lose_everything() {
  const Instant last_at = state().last_at();
  for (const auto& [user, sessions] : std::map(state().shares().users())) {
    for (const auto& [session, usage] : sessions) {
      const double share = share_at(usage, last_at);
      decide(LeaseId{}, UsageRestored{user, session, share, now_.instant});
    }
  }
  std::vector<LeaseId> all;
  for (const auto& [id, lease] : state().leases()) all.push_back(id);
  for (const LeaseId id : all) {
    const Lease& lease = *state().find(id);
    const EndResult result = result_at_last(lease);
    if (starts_after_boot(lease, result)) {
      const Instant until = lease.waiting() != nullptr ? last_at : lease.granted()->granted.at;
      if (const auto& save = lease.checkpoints.asked) {
        decide(id, CheckpointEnded{id, save->number, CheckpointOutcome::kGone, kWentDown});
      }
      decide(id, JobQueuedAgain{id, until - lease.queued_at});
      recover(id);
    } else {
      decide(id, LeaseEnded{id, result});
    }
  }
}

// What waited, was never taken up, or was on its way back does. What ran does where its user said
// that it may be started anew, and nobody has told that it is over.
bool Coordinator::Impl::starts_after_boot(const Lease& lease, EndResult result) const {
  if (!lease.job) return false;
  const Held* was = lease.granted();
  const bool has_begun = was != nullptr && (was->claimed || lease.releasing() != nullptr);
  const bool may_begin_anew = lease.request.requeue_grace && result == EndResult::kLost;
  return !has_begun || may_begin_anew || requeuing.comes_back(lease);
}

void Coordinator::Impl::recover(LeaseId id) {
  const Lease& lease = *state().find(id);
  const bool offered = lease.held() != nullptr && !lease.held()->claimed;
  const Instant back_until = now_.instant + limits::kReconnectWithin;
  if (lease.waiting() != nullptr) requests.note_unchecked(id);
  if (lease.waiting() != nullptr || offered) {
    presence.disconnected(id, back_until);
    presence.offered(id, back_until + settings_.claim_within);
  } else if (lease.releasing() != nullptr || lease.held()->command_ended) {
    confirmations.await_end(id);
  }
  if (requeuing.comes_back(lease)) presence.disconnected(id);
  if (const Held* held = lease.granted(); held != nullptr && held->requeue) {
    presence.disconnected(id);
    const bool asked = !held->requeue->kill_at && !lease.checkpoints.asked;
    if (asked) {
      requeuing.expect_answer(id, limits::kReconnectWithin + limits::kRequeueHeardWithin);
    }
  }
  derive(id);
  transfers.recover(id);
  const Held* held = lease.held();
  const MeasureTaken* moved = lease.measures.last(Measure::kSuspend);
  const bool made_room = moved != nullptr && moved->cause == Cause::kUnmanaged &&
                         moved->outcome == MeasureOutcome::kConfirmed;
  const bool is_for_that = held != nullptr && held->is_swapped_out() && !held->pause && made_room &&
                           held->its_suspension().since == moved->begun;
  if (is_for_that) displaced.insert(id);
  resizing.drop(id, std::nullopt);  // Nobody is left to be told whether it grew.
}

void Coordinator::Impl::on(const JournalFailed& event) {
  journal_full_where_ = event.where;
  for (const LeaseId id : event.refused) {
    if (state().find(id) != nullptr) decide(id, LeaseEnded{id, EndResult::kRefused});
  }
  for (const LeaseId id : event.granted) {
    const Lease* lease = state().find(id);
    if (lease == nullptr || lease->held() == nullptr || lease->held()->command) continue;
    lifecycle.lapse(id, false);
  }
  for (const LeaseId id : event.resized) resizing.take_back(id);
  say("the journal " + event.where +
      " cannot be written: nothing is granted until it can; running leases are not touched");
}

void Coordinator::Impl::on(const JournalMended&) {
  if (journal_full_where_.empty()) return;
  say("the journal can be written again: leases are granted again");
  journal_full_where_.clear();
  look_again();
}

void Coordinator::Impl::was_copied() {
  indexes.rank_again();
  slices.rank_again();
}

// Recounts from nothing what derive() keeps by hand.
void Coordinator::Impl::check_everything() const {
  ledger.check();
  indexes.check();
  slices.check();
  for (const auto& [id, lease] : state().leases()) {
    CHECK(state().find(lease.handle) == id);
    CHECK(timers.at_of(id) == deadline_of(lease));
    const Held* held = lease.held();
    if (held == nullptr || held->is_swapped_out()) continue;
    for (const Part& part : held->parts) {
      CHECK(ledger.find(part.device)->entries.at(id).budget == part.budget);
    }
  }
  for (const Account& account : ledger.accounts()) {
    for (const auto& [id, entry] : account.entries) {
      const Lease* lease = state().find(id);
      CHECK(lease != nullptr && lease->granted() != nullptr);
    }
  }
}

}  // namespace berth::core
