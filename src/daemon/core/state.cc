// SPDX-License-Identifier: Apache-2.0
#include "core/state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {
namespace {

double budget_sum(const Held& held) {
  double sum = 0;
  if (held.is_swapped_out()) return sum;
  for (const Part& part : held.parts) sum += static_cast<double>(part.budget.value);
  return sum;
}

void depart(Held& held, Process process) {
  if (held.departed.size() >= limits::kMembersPerLease) held.departed.erase(held.departed.begin());
  held.departed.push_back(process);
}

}  // namespace

// One function a fact. Each returns false where the fact does not fit what is known, and has then
// changed nothing.
struct State::Applier {
  State& self;
  const Record& record;

  Lease* lease(LeaseId id) const {
    const auto found = self.leases_.find(id);
    return found == self.leases_.end() ? nullptr : &found->second;
  }
  template <class S>
  S* in_state(LeaseId id) const {
    Lease* found = lease(id);
    return found == nullptr ? nullptr : std::get_if<S>(&found->state);
  }
  // Held, or releasing with what it held.
  Held* granted(LeaseId id) const {
    if (Held* held = in_state<Held>(id)) return held;
    Releasing* releasing = in_state<Releasing>(id);
    return releasing == nullptr ? nullptr : &releasing->was;
  }

  template <OnlyTold Told>
  bool operator()(const Told& fact) const {
    return lease(fact.id) != nullptr;
  }

  bool operator()(const RequestQueued& fact) const {
    if (fact.id.value == 0 || self.leases_.contains(fact.id)) return false;
    self.leases_.emplace(fact.id, Lease{.id = fact.id,
                                        .handle = fact.handle,
                                        .user = fact.user,
                                        .supervisor = fact.supervisor,
                                        .request = fact.request,
                                        .queued_at = record.at,
                                        .queued_wall = record.wall,
                                        .queued_sequence = record.sequence,
                                        .checkpoints = {},
                                        .checkpoint_asked = std::nullopt,
                                        .measures = {},
                                        .waited_before = {},
                                        .retries = {.left = fact.request.retry_max},
                                        .state = Waiting{}});
    self.begin_member(*lease(fact.id));
    self.by_handle_[fact.handle] = fact.id;
    self.next_id_ = std::max(self.next_id_, fact.id.value + 1);
    return true;
  }

  bool operator()(const RequestPassed& fact) const {
    Waiting* waiting = in_state<Waiting>(fact.id);
    if (waiting == nullptr) return false;
    if (!waiting->passed_since) waiting->passed_since = record.at;
    return true;
  }

  bool operator()(const RequestParked& fact) const {
    Waiting* waiting = in_state<Waiting>(fact.id);
    if (waiting == nullptr) return false;
    waiting->parked_since = fact.parked ? std::optional(record.at) : std::nullopt;
    return true;
  }

  bool operator()(const RequestOnHold& fact) const {
    Waiting* waiting = in_state<Waiting>(fact.id);
    if (waiting == nullptr) return false;
    waiting->hold =
        fact.on_hold ? std::optional(OnHold{record.wall, fact.by, fact.reason}) : std::nullopt;
    return true;
  }

  bool operator()(const RequestEdited& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->waiting()) return false;
    found->request = edited(std::move(found->request), fact.edit);
    return true;
  }

  bool operator()(const RequestKept& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || found->releasing() != nullptr || found->request.ttl) return false;
    found->job = true;
    found->supervisor.reset();
    return true;
  }

  bool operator()(const JobQueuedAgain& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->job) return false;
    self.queue_again(*found, fact.waited, record.at);
    return true;
  }

  bool operator()(const LeaseGranted& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->waiting() || fact.parts.empty()) return false;
    Held held;
    held.parts = fact.parts;
    held.granted = {record.at, record.wall, record.sequence, fact.passed_others};
    held.runs_since = record.at;
    found->state = std::move(held);
    self.charge_share(*found, record.at, 1);
    return true;
  }

  bool operator()(const OfferLapsed& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->held() || found->held()->command) return false;
    self.charge_share(*found, record.at, -1);
    found->state = Waiting{.parked_since = fact.parked ? std::optional(record.at) : std::nullopt};
    return true;
  }

  bool operator()(const LeaseClaimed& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || held->claimed) return false;
    held->claimed = true;
    held->command = fact.command;
    if (fact.supervisor) lease(fact.id)->supervisor = fact.supervisor;
    return true;
  }

  bool operator()(const MemberSeen& fact) const {
    Held* held = granted(fact.id);
    if (held == nullptr || held->members.size() >= limits::kMembersPerLease) return false;
    held->members.insert(fact.process);
    return true;
  }

  bool operator()(const MemberGone& fact) const {
    Held* held = granted(fact.id);
    if (held == nullptr || held->members.erase(fact.process) == 0) return false;
    depart(*held, fact.process);
    return true;
  }

  bool operator()(const CommandEnded& fact) const {
    if (Held* held = granted(fact.id)) {
      if (!held->command_ended && held->command) depart(*held, *held->command);
      held->command_ended = true;
      if (fact.exit) held->exit = fact.exit;
      Retries& retries = lease(fact.id)->retries;
      retries.kind = fact.kind;
      retries.next = fact.retry;
      return true;
    }
    // The exit status came after the end: nobody knew the result yet.
    const auto found = std::ranges::find(self.past_.ended, fact.id, &LeaseView::id);
    if (found == self.past_.ended.end() || found->exit || !fact.exit) return false;
    found->exit = fact.exit;
    if (found->result == EndResult::kLost) {
      found->result = fact.exit->signal != 0 ? EndResult::kKilled
                      : fact.exit->code != 0 ? EndResult::kFailed
                                             : EndResult::kOk;
    }
    return true;
  }

  bool operator()(const LeaseResized& fact) const {
    Lease* found = lease(fact.id);
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || fact.parts.size() != held->parts.size()) return false;
    self.charge_share(*found, record.at, -1);
    held->parts = fact.parts;
    held->growth.reset();
    found->request.share = fact.share;
    found->request.vram = fact.share == Share::kExclusive ? Bytes{} : fact.parts.front().budget;
    self.charge_share(*found, record.at, 1);
    return true;
  }

  bool operator()(const GrowthQueued& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr) return false;
    held->growth = Growth{.vram = fact.vram, .queued_at = record.at, .until = fact.until};
    return true;
  }

  bool operator()(const GrowthDropped& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->growth) return false;
    held->growth.reset();
    return true;
  }

  bool operator()(const SuspendBegun& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || held->suspension || fact.used.size() != held->parts.size()) return false;
    held->suspension = Suspension{
        .used = fact.used, .since = record.at, .yields_to = fact.yields_to, .turn = fact.turn};
    return true;
  }

  bool operator()(const LeaseSuspended& fact) const {
    Lease* found = lease(fact.id);
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->suspension || held->is_swapped_out()) return false;
    if (!fact.used.empty()) {
      if (fact.used.size() != held->parts.size()) return false;
      held->suspension->used = fact.used;
    }
    self.charge_share(*found, record.at, -1);
    const bool left = held->suspension->phase == Suspension::Phase::kSwappingOut;
    held->suspension->phase = Suspension::Phase::kSuspended;
    if (left && held->suspension->turn) queue_return(*held->suspension, true);
    return true;
  }

  bool operator()(const ResumeQueued& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->suspension || !held->is_swapped_out()) return false;
    queue_return(*held->suspension, fact.queued);
    if (fact.queued) held->end_pause();
    return true;
  }
  void queue_return(Suspension& suspension, bool queued) const {
    suspension.queued = queued ? std::optional(record.at) : std::nullopt;
    suspension.queued_sequence = queued ? record.sequence : 0;
  }

  bool operator()(const LeasePaused& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || (!held->suspension && !held->frozen)) return false;
    held->pause =
        Pause{.since = record.wall, .reason = fact.reason, .until = fact.until_wall, .by = fact.by};
    held->pause_ends = fact.until;
    return true;
  }

  bool operator()(const LeaseMoved& fact) const {
    Held* held = in_state<Held>(fact.id);
    const bool fits = held != nullptr && held->suspension && held->is_swapped_out() &&
                      fact.devices.size() == held->parts.size();
    if (!fits) return false;
    std::vector<DeviceId>& from = held->suspension->moved_from;
    const bool is_first = from.empty();
    for (std::size_t i = 0; i < fact.devices.size(); ++i) {
      if (is_first) from.push_back(held->parts[i].device);
      held->parts[i].device = fact.devices[i];
    }
    if (from == fact.devices) from.clear();
    held->suspension->moved_by = from.empty() ? std::nullopt : fact.by;
    return true;
  }

  bool operator()(const ResumeBegun& fact) const {
    Lease* found = lease(fact.id);
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->suspension || !held->is_swapped_out()) return false;
    held->suspension->phase = Suspension::Phase::kSwappingIn;
    held->suspension->queued.reset();
    self.charge_share(*found, record.at, 1);
    return true;
  }

  bool operator()(const LeaseResumed& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->suspension || held->is_swapped_out()) return false;
    held->away = held->away + (record.at - held->suspension->since);
    held->suspension.reset();
    held->end_pause();
    held->runs_since = record.at;
    held->idle_since.reset();
    return true;
  }

  bool operator()(const RequeueAsked& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || held->is_being_stopped()) return false;
    held->requeue = Requeue{.unsaved = fact.unsaved, .kill_at = std::nullopt, .by = fact.by};
    return true;
  }

  bool operator()(const RequeueBegun& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr || !held->requeue || held->requeue->kill_at) return false;
    held->requeue->kill_at = fact.kill_at;
    return true;
  }

  bool operator()(const RequeueDropped& fact) const {
    Held* held = granted(fact.id);
    if (held == nullptr || !held->requeue) return false;
    held->requeue.reset();
    if (Releasing* releasing = in_state<Releasing>(fact.id)) releasing->result = fact.result;
    return true;
  }

  bool operator()(const LeaseRequeued& fact) const {
    Lease* found = lease(fact.id);
    const Releasing* releasing = in_state<Releasing>(fact.id);
    if (releasing == nullptr) return false;
    const bool is_told = fact.retry || releasing->was.is_being_stopped() ||
                         found->retries.kind == EndKind::kShutdown;
    if (!is_told) return false;
    found->retries.kind = EndKind::kPlain;
    found->retries.next.reset();
    if (fact.retry) begin_retry(*found, *fact.retry, releasing->was.exit);
    found->waited_before = found->waited_before + (releasing->was.granted.at - found->queued_at);
    found->queued_at = record.at;
    found->queued_sequence = record.sequence;
    found->checkpoint_asked.reset();
    ++found->restarts;
    found->state = Waiting{};
    return true;
  }

  static bool freeze(Held* held, bool frozen) {
    if (held == nullptr || held->frozen == frozen) return false;
    held->frozen = frozen;
    // A pause of what is on the way back was for its processes alone.
    const std::optional<Suspension>& away = held->suspension;
    const bool comes = away && (away->queued || away->phase == Suspension::Phase::kSwappingIn);
    if (!away || comes) held->end_pause();
    return true;
  }
  bool operator()(const LeaseFrozen& fact) const { return freeze(in_state<Held>(fact.id), true); }
  bool operator()(const LeaseThawed& fact) const { return freeze(granted(fact.id), false); }

  bool operator()(const LeaseIdle& fact) const {
    Held* held = in_state<Held>(fact.id);
    return held != nullptr && std::exchange(held->idle_since, fact.since) != fact.since;
  }

  template <IsOfMessages Fact>
  bool operator()(const Fact& fact) const {
    Lease* found = lease(fact.id);
    return found != nullptr && found->messages.take(fact, record);
  }

  bool operator()(const MeasureBegun& fact) const {
    Lease* found = in_state<Held>(fact.id) == nullptr ? nullptr : lease(fact.id);
    return found != nullptr && found->measures.begin(fact, record);
  }
  bool operator()(const MeasureEnded& fact) const {
    Lease* found = lease(fact.id);
    return found != nullptr && found->measures.end(fact);
  }

  bool operator()(const LeaseRenewed& fact) const {
    Held* held = in_state<Held>(fact.id);
    if (held == nullptr) return false;
    held->expires = Moment{.at = fact.expires, .wall = fact.expires_wall};
    return true;
  }

  bool operator()(const LeaseRevoked& fact) const {
    Held* held = granted(fact.id);  // Of one that was released, its programs are told to end.
    if (held == nullptr || held->revoked) return false;
    held->revoked = Revocation{.result = fact.result, .kill_at = fact.kill_at, .by = fact.by};
    return true;
  }

  bool operator()(const LeaseReleasing& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->held()) return false;
    self.charge_share(*found, record.at, -1);
    Held was = std::move(*std::get_if<Held>(&found->state));
    was.forget_pause();
    const std::optional<UserId> by = fact.by ? fact.by : was.revoked ? was.revoked->by : fact.by;
    if (fact.result == EndResult::kDetached) was.revoked.reset();  // They run on.
    found->state =
        Releasing{.was = std::move(was), .result = fact.result, .since = record.at, .by = by};
    return true;
  }

  bool operator()(const LeaseEnded& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr) return false;
    if (found->held()) self.charge_share(*found, record.at, -1);
    if (found->request.member) self.end_member(*found->request.member, fact.result);
    self.learn(*found, fact);
    self.end(fact, record);
    return true;
  }

  bool operator()(const CheckpointAsked& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr || !found->held() || found->checkpoints.asked) return false;
    found->checkpoints.asked = {.number = fact.number, .reason = fact.reason, .at = record.wall};
    found->checkpoint_asked = record.at;
    return true;
  }

  bool operator()(const CheckpointEnded& fact) const {
    Lease* found = lease(fact.id);
    if (found == nullptr) return false;
    Checkpoints& saves = found->checkpoints;
    if (!saves.asked || saves.asked->number != fact.number) return false;
    saves.last = {.number = fact.number,
                  .reason = saves.asked->reason,
                  .outcome = fact.outcome,
                  .detail = fact.detail,
                  .at = record.wall};
    if (fact.outcome == CheckpointOutcome::kSaved) saves.saved = record.wall;
    saves.asked.reset();
    return true;
  }

  bool operator()(const UsageRestored& fact) const {
    self.shares_.restore({fact.user, fact.session}, fact.byte_seconds, fact.at, record.at);
    return true;
  }

  bool operator()(const CommandRestored& fact) const {
    self.past_.runs.restore(fact);
    return true;
  }

  bool operator()(const CountersRestored& fact) const {
    self.next_id_ = std::max(self.next_id_, fact.next_id);
    self.last_sequence_ = std::max(self.last_sequence_, fact.last_sequence);
    return true;
  }

  bool operator()(const LeaseRestored& fact) const;
};

bool State::Applier::operator()(const LeaseRestored& fact) const {
  const LeaseView& view = *fact.view;
  if (view.id.value == 0 || self.leases_.contains(view.id)) return false;
  self.next_id_ = std::max(self.next_id_, view.id.value + 1);
  if (view.state == LeaseState::kEnded) {
    self.keep_ended(view);
    return true;
  }
  std::optional<Lease> lease = restored_lease(fact);
  if (!lease) return false;
  const Lease& kept = self.leases_.emplace(view.id, *std::move(lease)).first->second;
  self.by_handle_[kept.handle] = kept.id;
  if (kept.held()) self.charge_share(kept, record.at, 1);
  return true;
}

Status State::apply(const Record& record) {
  const bool numbered = record.sequence != 0;
  if (numbered && record.sequence <= last_sequence_) {
    return Error{Errc::kCorrupt, "record " + std::to_string(record.sequence) +
                                     " comes after record " + std::to_string(last_sequence_)};
  }
  if (!std::visit(Applier{*this, record}, record.fact)) {
    return Error{Errc::kCorrupt, "record " + std::to_string(record.sequence) + " (" +
                                     std::string(name_of(record.fact)) +
                                     ") does not fit what the records before it say"};
  }
  if (numbered) last_sequence_ = record.sequence;
  last_at_ = record.at;
  return Unit{};
}

const Lease* State::find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

std::optional<LeaseId> State::find(Handle handle) const {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? std::nullopt : std::optional(found->second);
}

void State::charge_share(const Lease& lease, Instant at, double sign) {
  const Held* held = lease.held();
  CHECK(held != nullptr);
  shares_.charge({lease.user, lease.request.session}, at, sign * budget_sum(*held));
}

}  // namespace berth::core
