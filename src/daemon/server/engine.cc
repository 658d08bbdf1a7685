// SPDX-License-Identifier: Apache-2.0
#include "server/engine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "server/audit.h"

namespace berth::server {
namespace {

bool awaits_requester(const LeaseView& lease) {
  return lease.state == LeaseState::kWaiting || lease.flags.unclaimed || comes_back(lease);
}

Refusal unwritten_refusal(const std::string& path, const Error& error) {
  return {.code = RefusalCode::kDiskFull,
          .message = "the journal " + path + " cannot be written (" + error.message +
                     "): free some space there; running leases are not touched"};
}

// The lease that gets, changes or loses its budgets by this fact, or is paused or goes on.
std::optional<LeaseId> held_otherwise(const Fact& fact) {
  return std::visit(
      [](const auto& what) -> std::optional<LeaseId> {
        if constexpr (TellsGuard<std::decay_t<decltype(what)>>) {
          return what.id;
        } else {
          return std::nullopt;
        }
      },
      fact);
}

}  // namespace

/// One step's effects while they are performed.
struct Engine::Batch {
  std::optional<Error> unwritten;  // Why its records could not be written.
  std::set<LeaseId> grants;        // Among its records,
  std::set<LeaseId> resizes;       // and these.
  core::JournalFailed failed;
};

Engine::Engine(EngineSettings settings, World& world, Outbox& outbox)
    : settings_(std::move(settings)),
      world_(world),
      outbox_(outbox),
      coordinator_(settings_.core),
      journal_(world),
      event_streams_(outbox),
      probe_(settings_.sample_interval) {}

void Engine::recover(core::Now now, const std::vector<Record>& records, core::Recovered recovered) {
  for (const Record& record : records) {
    if (const Status applied = coordinator_.apply(record); !applied.ok()) {
      world_.say("record " + std::to_string(record.sequence) + " (" +
                 std::string(name_of(record.fact)) + ") is set aside: " + applied.error().message);
    }
  }
  decide(now, recovered);
  std::set<LeaseId> leases;
  for (const LeaseView& lease : coordinator_.leases(now)) leases.insert(lease.id);
  announce_budgets(now, leases);
  live_ = coordinator_.leases(now).size();
  if (const Status written = write_snapshot(now); !written.ok()) {
    world_.say("no snapshot at the start: " + written.error().message);
  }
}

Status Engine::write_snapshot(core::Now now) {
  const bool was_behind = journal_.behind();
  Status written =
      journal_.replace(now.instant, coordinator_.snapshot(now), coordinator_.last_sequence());
  if (written.ok() && was_behind) decide(now, core::JournalMended{});
  return written;
}

void Engine::ask(core::Now now, ConnectionId connection, Command ask, Listen listen) {
  Call call{.kind = CallKind::kOther, .listen = listen, .lease = {}};
  if (std::holds_alternative<core::Submit>(ask)) call.kind = CallKind::kSubmit;
  if (std::holds_alternative<core::Reconnect>(ask)) call.kind = CallKind::kReconnect;
  if (std::holds_alternative<core::Claim>(ask)) call.kind = CallKind::kClaim;
  if (const auto* resize = std::get_if<core::Resize>(&ask)) {
    call.kind = CallKind::kResize;
    call.lease = resize->lease;
  }
  const bool first = calls_.emplace(connection, call).second;
  CHECK(first);
  probe_.want_fresh_sample(now.instant);
  if (const auto* release = std::get_if<core::Release>(&ask)) note_ends(now, release->lease);
  decide(now, std::visit(
                  [connection](auto& event) -> core::Event {
                    event.token = {connection.value};
                    return std::move(event);
                  },
                  ask));
}

// A client that saw the last program of a lease end may release it, also before the news of that
// end has come here.
void Engine::note_ends(core::Now now, LeaseId id) {
  const std::optional<LeaseView> lease = coordinator_.lease(id, now);
  if (!lease || lease->state == LeaseState::kEnded) return;
  std::vector<Process> processes = lease->members;
  if (lease->command && !lease->exit) processes.push_back(*lease->command);
  for (const Process process : processes) {
    if (world_.has_ended(process)) decide(now, core::ProcessEnded{process});
  }
}

void Engine::follow(core::Now now, ConnectionId connection, LeaseId lease) {
  const std::optional<LeaseView> view = coordinator_.lease(lease, now);
  if (view) {
    event_streams_.open_lease(connection, *view);
  } else {
    outbox_.answer(connection, Refusal{.code = RefusalCode::kNotFound,
                                       .message = "no lease " + std::to_string(lease.value)});
  }
}

void Engine::follow_all(ConnectionId connection) {
  event_streams_.open_all(connection);
}

void Engine::follow_fit(core::Now now, ConnectionId connection, core::Actor actor,
                        Request request) {
  const auto fit = coordinator_.fit(request, actor, now);
  if (const auto* refusal = std::get_if<Refusal>(&fit)) {
    outbox_.answer(connection, *refusal);
  } else {
    event_streams_.open_fit(now, coordinator_, connection, actor, std::move(request));
  }
}

void Engine::on_disconnect(core::Now now, ConnectionId connection) {
  event_streams_.close(connection);
  if (const auto call = calls_.find(connection); call != calls_.end()) {
    const bool growth = call->second.kind == CallKind::kResize;
    const LeaseId lease = call->second.lease;
    calls_.erase(call);
    if (growth) decide(now, core::GrowthRequesterGone{lease});
  }
  std::vector<LeaseId> leases;
  for (auto it = asked_.lower_bound({connection, {}});
       it != asked_.end() && it->first == connection; ++it) {
    leases.push_back(it->second);
  }
  for (const LeaseId lease : leases) {
    forget_requester(lease);
    decide(now, core::RequesterGone{lease});
  }
}

void Engine::want_fresh_sample(core::Now now) {
  probe_.want_fresh_sample(now.instant);
  ask_probe_if_due(now);
}

void Engine::process_ended(core::Now now, Process process) {
  decide(now, core::ProcessEnded{process});
}

void Engine::transfer_done(core::Now now, const core::TransferDone& done) {
  decide(now, done);
}

// Charges are held against the figures of the same sample, and a context's cost is learned from
// both; the dead are settled last, since what they charged is part of the charges until then.
void Engine::sampled(core::Now now, Sample& sample) {
  world_.withhold(now, sample);
  sample.charges = world_.charges(coordinator_.settling());
  sample.contexts = world_.context_costs(sample);
  world_.settle_dead(sample);
  probe_.want(world_.ask_again_at());
  probe_.answered(now.instant);
  event_streams_.changed();
  decide(now, core::Sampled{sample});
}

void Engine::probe_failed(core::Now now) {
  probe_.answered(now.instant);
  ask_probe_if_due(now);
}

void Engine::configure(core::Now now, const EngineSettings& settings) {
  settings_ = settings;
  probe_.configure(settings.sample_interval);
  decide(now, core::Configured{settings.core});
}

void Engine::on_timer(core::Now now) {
  if (now.instant >= journal_.retry_at()) keep_journal(now);
  if (now.instant >= core_wake_) {
    core_wake_ = Instant::never();
    decide(now, core::Woke{});
  }
  ask_probe_if_due(now);
  event_streams_.roll(now, coordinator_);
}

Instant Engine::next_wake() const {
  return std::min(
      {core_wake_, journal_.retry_at(), probe_.next(busy()), event_streams_.next_roll()});
}

void Engine::decide(core::Now now, core::Event event) {
  events_.push_back(std::move(event));
  if (deciding_) return;
  deciding_ = true;
  while (!events_.empty()) {
    const core::Event next = std::move(events_.front());
    events_.pop_front();
    ++version_;
    perform(now, next, coordinator_.step(now, next));
  }
  deciding_ = false;
  if (journal_.snapshot_due(now.instant)) keep_journal(now);
  ask_probe_if_due(now);
}

// Note [Written before told]: all records of a step are written in one transaction before anybody
// hears of it. Where that fails, nobody is told of a grant that a dead daemon would have forgotten:
// a new request and a resize are answered with `disk_full`, a grant to a waiting request is not
// announced, no program is held to a budget that was not written, and the coordinator hears at once
// which leases that concerns, so that it takes all this back. All else is performed: releasing must
// work on a full disk. The records are kept, in order, for later.
void Engine::perform(core::Now now, const core::Event& event, std::vector<core::Effect> effects) {
  std::vector<Record> records;
  std::set<LeaseId> changed;
  Batch batch;
  for (core::Effect& effect : effects) {
    auto* append = std::get_if<core::Append>(&effect);
    if (append == nullptr) continue;
    if (std::holds_alternative<RequestQueued>(append->record.fact)) ++live_;
    if (const auto* grant = std::get_if<LeaseGranted>(&append->record.fact)) {
      batch.grants.insert(grant->id);
    }
    if (const auto* resize = std::get_if<LeaseResized>(&append->record.fact)) {
      batch.resizes.insert(resize->id);
    }
    if (std::holds_alternative<LeaseEnded>(append->record.fact)) --live_;
    if (const auto lease = held_otherwise(append->record.fact)) changed.insert(*lease);
    records.push_back(std::move(append->record));
  }
  const std::vector<AuditEntry> done = audit(now, event, records, effects);
  const bool was_behind = journal_.behind();
  if (std::holds_alternative<core::ProcessEnded>(event)) ask_probe_meanwhile(now, effects);
  if (!records.empty()) {
    event_streams_.changed();
    const Status written = journal_.append(now.instant, std::move(records));
    if (!written.ok()) batch.unwritten = written.error();
    batch.failed.where = settings_.journal_path;
  }
  for (const LeaseId id : batch.resizes) {
    if (batch.unwritten) changed.erase(id);
  }
  announce_budgets(now, changed);
  for (const AuditEntry& entry : done) {
    const bool taken_back = entry.verb == Verb::kGrant || entry.verb == Verb::kResize;
    if (batch.unwritten && taken_back) continue;
    world_.did(entry);
    if (!is_only_told(entry.verb)) continue;
    event_streams_.publish(entry);
    world_.on_audit(now, coordinator_, entry);
  }
  for (const core::Effect& effect : effects) perform_one(now, effect, batch);

  if (batch.unwritten) {
    const bool news = !batch.failed.refused.empty() || !batch.failed.granted.empty() ||
                      !batch.failed.resized.empty();
    if (news || !was_behind) events_.emplace_front(std::move(batch.failed));
  } else if (was_behind && !journal_.behind()) {
    events_.emplace_back(core::JournalMended{});
  }
}

// Others wait for what the driver says of an end. It is asked before the records are written: to
// ask tells nobody anything. Not where processes are to be watched: one of them may turn out to
// have ended since, and an answer counts only if it was asked for after the end.
void Engine::ask_probe_meanwhile(core::Now now, std::vector<core::Effect>& effects) {
  const auto watches = [](const core::Effect& effect) {
    return std::holds_alternative<core::Watch>(effect);
  };
  if (std::ranges::any_of(effects, watches)) return;
  std::erase_if(effects, [this](const core::Effect& effect) {
    const auto* ask = std::get_if<core::AskProbe>(&effect);
    if (ask != nullptr) probe_.want(ask->at);
    return ask != nullptr;
  });
  ask_probe_if_due(now);
}

std::vector<AuditEntry> Engine::audit(core::Now now, const core::Event& event,
                                      const std::vector<Record>& records,
                                      const std::vector<core::Effect>& effects) const {
  return audit_of({.event = event, .at = now.wall, .records = records, .effects = effects},
                  [&](LeaseId id) { return coordinator_.lease(id, now); });
}

// Before anybody hears of a grant: its program may start at once.
void Engine::announce_budgets(core::Now now, const std::set<LeaseId>& leases) {
  for (const LeaseId id : leases) {
    const std::optional<LeaseView> lease = coordinator_.lease(id, now);
    if (!lease) continue;
    std::vector<Part> budgets;
    const bool waits = lease->state == LeaseState::kWaiting;
    if (!waits && lease->state != LeaseState::kEnded) {
      for (const LeasePart& part : lease->parts) budgets.push_back({part.device, part.granted});
    }
    world_.set_budgets(*lease, budgets,
                       lease->flags.unclaimed ? World::Taken::kOffered : World::Taken::kTaken);
    if (!budgets.empty()) {
      const bool away = lease->state == LeaseState::kSuspended || lease->flags.suspending;
      world_.pause(lease->handle, {.away = away, .frozen = lease->flags.frozen});
    }
  }
}

void Engine::perform_one(core::Now now, const core::Effect& effect, Batch& batch) {
  std::visit(
      [&](const auto& what) {
        using T = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<T, core::Append>) {
          // Written already, with all the others.
        } else if constexpr (std::is_same_v<T, core::Reply>) {
          reply(now, what, batch);
        } else if constexpr (std::is_same_v<T, core::Notify>) {
          if (batch.unwritten && what.news == core::LeaseEvent::kGranted) {
            batch.failed.granted.push_back(what.lease);
            return;
          }
          // Whatever else is told of it shows the grant, unless that is over already.
          const bool shows_grant = batch.grants.contains(what.lease);
          if (batch.unwritten && shows_grant && what.news != core::LeaseEvent::kEnded) return;
          if (batch.unwritten && what.news == core::LeaseEvent::kResized) {
            batch.failed.resized.push_back(what.lease);
            return;
          }
          if (what.news == core::LeaseEvent::kEnded) forget_requester(what.lease);
          publish_event(now, what);
        } else if constexpr (std::is_same_v<T, core::NotifyUnmanaged>) {
          event_streams_.publish(what);
        } else if constexpr (std::is_same_v<T, core::NotifyDevice>) {
          event_streams_.publish(now, coordinator_, what);
        } else if constexpr (std::is_same_v<T, core::Watch>) {
          if (!world_.watch(what.process)) events_.emplace_back(core::ProcessEnded{what.process});
        } else if constexpr (std::is_same_v<T, core::Unwatch>) {
          world_.unwatch(what.process);
        } else if constexpr (std::is_same_v<T, core::Signal>) {
          if (!world_.signal(what)) {
            events_.emplace_back(core::NotSignalled{what.lease, what.process});
          }
        } else if constexpr (std::is_same_v<T, core::AskProbe>) {
          probe_.want(what.at);
        } else if constexpr (std::is_same_v<T, core::WakeAt>) {
          core_wake_ = what.at;
        } else if constexpr (std::is_same_v<T, core::SetUnaccounted>) {
          world_.set_unaccounted(what.lease, what.bytes, what.may_give_back);
        } else if constexpr (std::is_same_v<T, core::Transfer>) {
          // Nothing is moved that the next daemon would not know of; who goes on needs no record.
          if (!journal_.behind() || what.direction == Direction::kThaw) {
            return world_.transfer(what);
          }
          events_.emplace_back(core::TransferDone{
              .lease = what.lease,
              .number = what.number,
              .result = {.outcome = TransferResult::Outcome::kUndone,
                         .trouble = "the journal " + settings_.journal_path +
                                    " cannot be written: free some space there"}});
        } else {
          static_assert(std::is_same_v<T, core::Say>);
          world_.say(what.text);
        }
      },
      effect);
}

void Engine::publish_event(core::Now now, const core::Notify& notify) {
  event_streams_.publish(now, coordinator_, notify);
  world_.on_lease_event(now, coordinator_, notify);
}

void Engine::reply(core::Now now, const core::Reply& reply, Batch& batch) {
  const ConnectionId connection{reply.token.value};
  const auto found = calls_.find(connection);
  if (found == calls_.end()) return;  // It hung up before the answer was known.
  const Call call = found->second;
  calls_.erase(found);

  const auto* boxed = std::get_if<Boxed<LeaseView>>(&reply.answer);
  if (boxed == nullptr) {
    outbox_.answer(connection, reply.answer);
    return;
  }
  const LeaseView* lease = &**boxed;
  if (batch.unwritten && call.kind == CallKind::kSubmit) {
    batch.failed.refused.push_back(lease->id);
    outbox_.answer(connection, unwritten_refusal(settings_.journal_path, *batch.unwritten));
    return;
  }
  if (batch.unwritten && call.kind == CallKind::kReconnect && batch.grants.contains(lease->id)) {
    // The grant is taken back before it is asked again, and then it waits.
    batch.failed.granted.push_back(lease->id);
    calls_.emplace(connection, call);
    events_.emplace_back(core::Reconnect{.token = reply.token,
                                         .actor = {.user = lease->user},
                                         .handle = lease->handle,
                                         .body = {.restarts = lease->restarts}});
    return;
  }
  // What the answer says may stand on a record of this step or of one before, as where a claim is
  // repeated that could not be written the first time.
  const bool stands_on_records = call.kind == CallKind::kResize || call.kind == CallKind::kClaim ||
                                 batch.grants.contains(lease->id);
  if (journal_.behind() && stands_on_records) {
    outbox_.answer(connection, unwritten_refusal(settings_.journal_path, journal_.trouble()));
    return;
  }
  if (!awaits_requester(*lease)) forget_requester(lease->id);
  const bool requester = call.kind == CallKind::kSubmit || call.kind == CallKind::kReconnect;
  // The requester has its answer; streams of everything hear of it here.
  if (call.kind == CallKind::kSubmit) {
    const bool waits = lease->state == LeaseState::kWaiting;
    publish_event(now, {.lease = lease->id,
                        .news = waits ? core::LeaseEvent::kQueued : core::LeaseEvent::kGranted,
                        .refusal = {}});
  }
  if (requester && awaits_requester(*lease)) set_requester(lease->id, connection);
  if (requester && call.listen == Listen::kStream) {
    event_streams_.open_requester(now, coordinator_, connection, *lease);
  } else {
    outbox_.answer(connection, reply.answer);
  }
}

void Engine::set_requester(LeaseId lease, ConnectionId connection) {
  // A connection that is older, and perhaps half dead, speaks no more for it, even if it is heard
  // last.
  if (const auto found = requesters_.find(lease);
      found != requesters_.end() && found->second > connection) {
    return;
  }
  forget_requester(lease);
  requesters_.emplace(lease, connection);
  asked_.emplace(connection, lease);
}

void Engine::forget_requester(LeaseId lease) {
  const auto found = requesters_.find(lease);
  if (found == requesters_.end()) return;
  asked_.erase({found->second, lease});
  requesters_.erase(found);
}

void Engine::keep_journal(core::Now now) {
  if (journal_.snapshot_due(now.instant)) {
    if (const Status written = write_snapshot(now); !written.ok()) {
      world_.say("no snapshot: " + written.error().message);
    }
  } else if (journal_.behind() && journal_.append(now.instant, {}).ok()) {
    decide(now, core::JournalMended{});
  }
}

void Engine::ask_probe_if_due(core::Now now) {
  const bool is_busy = busy();
  if (is_busy) probe_.used(now.instant);
  if (now.instant < probe_.next(is_busy)) return;
  probe_.asked(now.instant);
  world_.ask_probe();
}

bool Engine::busy() const {
  return live_ > 0 || event_streams_.streams() > 0;
}

}  // namespace berth::server
