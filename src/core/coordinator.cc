// SPDX-License-Identifier: Apache-2.0
// The frame: an event is decided into records, each record is applied, and what is derived from the
// state follows by reindex().
#include "core/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::size_t kEffectsUsual = 8;  // They are large to move, and most steps have fewer.

}  // namespace

Coordinator::Coordinator(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Coordinator::~Coordinator() = default;
Coordinator::Coordinator(Coordinator&&) noexcept = default;
Coordinator& Coordinator::operator=(Coordinator&&) noexcept = default;

Status Coordinator::apply(const Record& record) {
  return impl_->state.apply(record);
}

std::vector<Effect> Coordinator::step(Now now, const Event& event) {
  return impl_->step(now, event);
}

void Coordinator::take_no_shortcuts() {
  impl_->full_walk = true;
}

std::uint64_t Coordinator::last_sequence() const {
  return impl_->state.last_sequence();
}

std::vector<Record> Coordinator::snapshot(Now now) const {
  std::vector<Record> records = impl_->state.snapshot(now.instant);
  for (Record& record : records) record.wall = now.wall;
  return records;
}

std::vector<Effect> Coordinator::Impl::step(Now at, const Event& event) {
  CHECK(effects.empty());
  CHECK(answers.empty());
  effects.reserve(kEffectsUsual);
  now = at;
  std::visit([this](const auto& e) { on(e); }, event);
  settle();
  for (const auto& [token, id] : answers) {
    effects.emplace_back(Reply{token, view(id, now.instant, now.wall)});
  }
  answers.clear();
  asking.reset();
  const std::optional<Instant> next =
      timers.empty() ? std::nullopt : std::optional(timers.begin()->first);
  if (next && next != wake_at) effects.emplace_back(WakeAt{*next});
  wake_at = next;
  return std::exchange(effects, {});
}

// A measure may end by what was scheduled, and what ends makes room: nothing is left for the next
// event that could be done now.
void Coordinator::Impl::settle() {
  std::size_t done = 0;
  do {
    if (!measuring.empty()) tend_measures();
    done = effects.size();
    if (dirty) schedule();
  } while (effects.size() != done);
}

void Coordinator::Impl::decide(LeaseId id, Fact fact) {
  // Any other may be what somebody waits for. Who has only just started has nothing on a device
  // yet, and asked at once to make room it could not.
  dirty |= !std::holds_alternative<LeaseClaimed>(fact);
  Record record{state.last_sequence() + 1, now.instant, now.wall, std::move(fact)};
  const Status applied = state.apply(record);
  CHECK(applied.ok());
  effects.emplace_back(Append{std::move(record)});
  reindex(id);
}

void Coordinator::Impl::reindex(LeaseId id) {
  const Lease* lease = state.find(id);
  Observed& seen = observed[id];
  reindex_queue(lease, seen);
  reindex_turns(id, lease, seen);
  reindex_ledger(id, lease, seen);
  reindex_processes(id, lease, seen);
  reindex_user(lease, seen);
  reindex_timer(id, lease, seen);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  const bool skips_turn =
      lease != nullptr && lease->request.share == Share::kSlice && held != nullptr && held->frozen;
  const bool wanted =
      held != nullptr && held->suspension && held->suspension->queued && !skips_turn;
  if (held != nullptr && (held->growth || wanted)) {
    growing.insert(id);
  } else {
    growing.erase(id);
  }
  if (lease != nullptr && lease->measures.under_way() != nullptr) {
    measuring.insert(id);
  } else {
    measuring.erase(id);
  }
  if (held != nullptr && held->suspension && held->suspension->yields_to) {
    yielding.insert(id);
  } else {
    yielding.erase(id);
  }
  if (held == nullptr || !held->is_swapped_out()) just_swapped_out.erase(id);
  if (held == nullptr && !seen.transfer_tokens.empty()) answer_transfer_waiters(id, "it has ended");
  if (held == nullptr) {
    for (const Token token : std::exchange(seen.thaw_tokens, {}))
      seen.freeze_tokens.push_back(token);
    if (!seen.freeze_tokens.empty()) answer_freeze_waiters(id, "it has ended");
  }
  if (lease == nullptr) {
    settling.erase(id);
    shrunk.erase(id);
    resuming.erase(id);
    unchecked.erase(id);
    measured.erase(id);
    displaced.erase(id);
    observed.erase(id);
  }
  ++version;
}

void Coordinator::Impl::reindex_queue(const Lease* lease, Observed& seen) {
  const bool waits = lease != nullptr && lease->waiting() != nullptr;
  if (waits == seen.place.has_value()) return;
  if (waits) {
    seen.place = Queue::place_of(*lease, settings);
    queue.insert(*seen.place);
  } else {
    queue.erase(*seen.place);
    seen.place.reset();
  }
  ++queue_version;
  dirty = true;
}

void Coordinator::Impl::reindex_ledger(LeaseId id, const Lease* lease, Observed& seen) {
  const Held* held = lease == nullptr ? nullptr : lease->granted();
  const bool releasing = lease != nullptr && lease->releasing() != nullptr;
  const bool gone = held == nullptr || seen.freed;
  if (gone) {
    for (const DeviceId device : seen.charged_on) dirty |= ledger.put(device, id, std::nullopt);
    seen.charged_on.clear();
    return;
  }
  for (const Part& part : held->parts) {
    const auto use = seen.use.find(part.device);
    // Until a sample asked after the end tells what is left, all of it may be; then no more than
    // that, whatever it had before or was to have again.
    const bool figure_missing = use != seen.use.end() && use->second.figure_missing;
    const bool known = releasing && !seen.settle_since && !figure_missing;
    Bytes used;
    if (use != seen.use.end()) {
      used = use->second.now.value_or(Bytes{});
      // What may be is not what is away, unless nobody has looked since its budget fell: not all of
      // it need be of processes that are known, and were moved.
      const bool unconfirmed_shrink = shrunk.contains(id) && !seen.shrink_confirmed;
      const bool may_be_there = !known && (!held->is_swapped_out() || unconfirmed_shrink);
      if (may_be_there) used = std::max(used, use->second.upper_bound);
      if (use->second.figure_missing) used = std::max(used, use->second.last);
    }
    // A process of it that nobody knew of was not moved, and may have all of its budget.
    if (held->is_swapped_out() && just_swapped_out.contains(id)) used = std::max(used, part.budget);
    // One that has ended may have left something, like any other, until a sample tells.
    const bool away = held->is_swapped_out();
    if (away && !releasing && !seen.settle_since) {
      const bool there = used > Bytes{};
      const auto rest = there ? std::optional(Entry{.charge = used}) : std::nullopt;
      dirty |= ledger.put(part.device, id, rest);
      continue;
    }
    const bool empty = known && used == Bytes{};  // What it left may be on another device.
    const Entry entry{.budget = releasing || away ? Bytes{} : part.budget,
                      .charge = known ? used : std::max(part.budget, used),
                      .exclusive = lease->request.share == Share::kExclusive && !away && !empty,
                      .reported_end = seen.reported_end()};
    dirty |= ledger.put(part.device, id, entry);
  }
  if (seen.charged_on.empty()) {
    for (const Part& part : held->parts) seen.charged_on.push_back(part.device);
  }
}

void Coordinator::Impl::reindex_processes(LeaseId id, const Lease* lease, Observed& seen) {
  std::vector<Process> watch;
  std::vector<Belonging> belonging;
  const auto count = [&](const Process& process, bool certain) {
    belonging.push_back({.process = process, .certain = certain, .lease = id});
  };
  const Held* held = lease == nullptr ? nullptr : lease->granted();
  if (lease != nullptr && lease->waiting() != nullptr && !seen.connected && lease->supervisor) {
    watch.push_back(*lease->supervisor);
  }
  if (held != nullptr) {
    if (held->command) {
      count(*held->command, true);
      if (!held->command_ended) watch.push_back(*held->command);
    }
    if (lease->supervisor) {
      const bool anchored = lease->request.ttl.has_value();
      if (!anchored) count(*lease->supervisor, true);
      const bool works = lease->checkpoints.asked || held->requeue;  // It does that.
      if ((anchored && lease->held() != nullptr) || (!held->claimed && !seen.connected) || works) {
        watch.push_back(*lease->supervisor);
      }
    }
    watch.insert(watch.end(), held->members.begin(), held->members.end());
    for (const Process& member : held->members) count(member, true);
    for (const Process& left : seen.leftovers) count(left, false);
  }
  std::ranges::sort(watch);
  watch.erase(std::ranges::unique(watch).begin(), watch.end());
  if (watch != seen.watched) rewatch(id, seen, std::move(watch));
  if (belonging != seen.belonging) {
    for (const Belonging& old : seen.belonging) belongings.erase(old);
    belongings.insert(belonging.begin(), belonging.end());
    seen.belonging = std::move(belonging);
  }
  if (lease != nullptr && !seen.handle) {
    seen.handle = lease->handle;
    by_handle[lease->handle] = id;
  } else if (lease == nullptr && seen.handle) {
    by_handle.erase(*seen.handle);
  }
}

// A process is watched once, however many leases wait for its end.
void Coordinator::Impl::rewatch(LeaseId id, Observed& seen, std::vector<Process> watch) {
  const auto watched_for_another = [&](const Process& process) {
    const auto other = watches.lower_bound({process, LeaseId{}});
    return other != watches.end() && other->first == process;
  };
  for (const Process& process : seen.watched) {
    if (std::ranges::binary_search(watch, process)) continue;
    watches.erase({process, id});
    if (!watched_for_another(process)) effects.emplace_back(Unwatch{process});
  }
  for (const Process& process : watch) {
    if (std::ranges::binary_search(seen.watched, process)) continue;
    if (!watched_for_another(process)) effects.emplace_back(Watch{process});
    watches.emplace(process, id);
  }
  seen.watched = std::move(watch);
}

void Coordinator::Impl::reindex_user(const Lease* lease, Observed& seen) {
  if (lease != nullptr) seen.user = lease->user;
  if (!seen.user) return;
  UserCount& count = users[*seen.user];
  const bool waits = lease != nullptr && lease->waiting() != nullptr;
  const bool holds = lease != nullptr && lease->held() != nullptr;
  Bytes vram;
  if (holds) {
    for (const Part& part : lease->held()->parts) vram += part.budget;
  }
  count.waiting += (waits ? 1U : 0U) - (seen.counted_waiting ? 1U : 0U);
  count.held += (holds ? 1U : 0U) - (seen.counted_held ? 1U : 0U);
  count.vram = saturating_sub(count.vram, seen.counted_vram) + vram;
  dirty |= seen.counted_held && !holds;  // The user may hold another one.
  seen.counted_waiting = waits;
  seen.counted_held = holds;
  seen.counted_vram = vram;
  if (count.waiting == 0 && count.held == 0) users.erase(*seen.user);
}

void Coordinator::Impl::reindex_timer(LeaseId id, const Lease* lease, Observed& seen) {
  const Instant deadline = lease == nullptr ? Instant::never() : deadline_of(*lease, seen);
  if (deadline == seen.deadline) return;
  if (seen.deadline != Instant::never()) timers.erase({seen.deadline, id});
  if (deadline != Instant::never()) timers.emplace(deadline, id);
  seen.deadline = deadline;
}

Instant Coordinator::Impl::deadline_of(const Lease& lease, const Observed& seen) const {
  Instant at = Instant::never();
  const auto sooner = [&](Instant other) { at = std::min(at, other); };
  sooner(seen.exit_answer_by);
  sooner(checkpoint_due(lease, seen));
  sooner(measure_due(lease));
  if (const Waiting* waiting = lease.waiting()) {
    if (const std::optional<Instant> end = ends_wait(lease)) sooner(*end);
    if (waiting->parked_since) sooner(*waiting->parked_since + limits::kParkedMax);
    if (seen.reconnect_until) sooner(*seen.reconnect_until);
  } else if (const Held* held = lease.held()) {
    if (!held->claimed) {
      sooner(seen.claim_until);  // Its limit is looked at when there is something to end.
      return at;
    }
    if (held->expires) sooner(*held->expires);
    if (held->growth && held->growth->until) sooner(*held->growth->until);
    sooner(pause_due(*held, seen));
    sooner(seen.begins_until);
    sooner(seen.turn_over);
    if (held->revoked) {
      if (!seen.killed) sooner(held->revoked->kill_at);
    } else if (const std::optional<Instant> stopped_by = held->stopped_by()) {
      if (!seen.killed) sooner(*stopped_by + limits::kRequeueMargin);
    } else if (lease.request.limit && !held->suspension) {
      sooner(held->granted_at + held->away + *lease.request.limit);
    }
    if (held->command_ended && seen.settle_since) {
      sooner(*seen.settle_since + limits::kReleasingMax);
    }
  } else if (const Releasing* releasing = lease.releasing()) {
    const bool awaits_move = seen.freed && releasing->was.frozen;
    if (const std::optional<Instant> kill_at = kill_due(lease, seen)) {
      sooner(*kill_at);  // Nothing of it is given up before.
    } else if (!awaits_move) {
      sooner(releasing->since + (seen.freed ? report_within(lease) : limits::kReleasingMax));
    }
  }
  return at;
}

void Coordinator::Impl::refuse(Token token, RefusalCode code, std::string message) {
  effects.emplace_back(Reply{token, Refusal{code, std::move(message)}});
}

void Coordinator::Impl::notify(LeaseId id, LeaseEvent news, std::vector<Refusal> refusal) {
  effects.emplace_back(Notify{id, news, std::move(refusal)});
}

void Coordinator::Impl::ask_probe(Instant at) {
  if (probe_at && *probe_at <= at) return;
  probe_at = at;
  effects.emplace_back(AskProbe{at});
}

const UserLimits& Coordinator::Impl::limits_of(UserId user) const {
  const auto found = settings.limits.find(user);
  return found == settings.limits.end() ? settings.limits_default : found->second;
}

}  // namespace berth::core
