// SPDX-License-Identifier: Apache-2.0
#include "sim/invariant_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "sim/advice.h"
#include "sim/values.h"

namespace berth::sim {
namespace {

// Each takes as long as some hundred events.
constexpr std::uint64_t kAdviceEvery = 53;
constexpr std::uint64_t kWaitingEvery = 10;  // Of the events in which something was decided.

std::optional<Handle> handle_of(const server::Command& command) {
  return std::visit(
      [](const auto& what) -> std::optional<Handle> {
        if constexpr (requires { what.handle; }) {
          return what.handle;
        } else {
          return std::nullopt;
        }
      },
      command);
}

template <class What>
bool is_a(const server::Command& command) {
  return std::holds_alternative<What>(command);
}

LeaseId lease_of(const Fact& fact) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.id; }) {
          return what.id;
        } else {
          return LeaseId{};
        }
      },
      fact);
}

// It has ended, and of what it still has the driver lists nothing.
bool finds_free(const Observations& observations, const ReferenceLease& lease,
                const Sample& sample) {
  const bool has_ended = lease.state == ReferenceLease::State::kReleasing &&
                         lease.times.of<LeaseReleasing>() <= sample.asked_at;
  if (!has_ended) return false;
  return std::ranges::all_of(lease.parts, [&](const Part& part) {
    const auto seen = std::ranges::find(sample.devices, part.device, &DeviceSample::id);
    if (seen == sample.devices.end() || seen->lost || !seen->processes) return false;
    const std::optional<std::size_t> index = observations.devices.index_of(part.device);
    const Device& device = observations.devices.at(checked(index));
    return std::ranges::none_of(device.uses, [&](const Use& use) {
      const auto is_it = [&](const ProcessSample& one) { return one.process == use.process; };
      return use.lease == lease.handle && std::ranges::any_of(*seen->processes, is_it);
    });
  });
}

/// What its program tells of its end counts at once.
std::string check_progress(const core::ReportProgress& report, const LeaseView& view,
                           core::Now now) {
  const UnixMs latest{now.wall.value + checked(report.body.left).ns / 1'000'000};
  const bool runs = view.state == LeaseState::kHeld && !view.flags.suspending;
  if (!runs || (view.expected_end && *view.expected_end <= latest)) return {};
  return fmt::format("lease {} has told when it ends, and that does not count", view.id.value);
}

}  // namespace

InvariantChecker::InvariantChecker(SimContext& context, const Devices& devices,
                                   const Processes& processes, const Disk& disk)
    : context_(context),
      disk_(disk),
      observations_{.devices = devices, .processes = processes, .reserve_least = Bytes::max()} {}

void InvariantChecker::check(std::string broken) {
  if (!broken.empty()) context_.fail(std::move(broken));
}

void InvariantChecker::daemon_starts(const core::Settings& settings, bool same_boot) {
  observations_.daemon_since = now().instant;
  observations_.behind_at = {};
  observations_.rebooted = !same_boot;
  observations_.sampled_lost.clear();
  observations_.last_asked_at = {};
  if (!same_boot) {
    fairness_.rebooted();
    observations_.journal.rebooted();
    for (auto& [id, known] : observations_.known) known.reconnected_at = {};
  }
  configured(settings);
}

void InvariantChecker::daemon_died() {
  decided_ = false;
  calls_.clear();
  turns_.forget();
  observations_.moving.clear();
  observations_.coming_back.clear();
}

void InvariantChecker::configured(const core::Settings& settings) {
  context_.note("settings: order {} backfill {} pass_max {} ms reserve {} users {}",
                static_cast<int>(settings.order), settings.backfill,
                settings.pass_max.ns / 1'000'000, settings.reserve.value,
                settings.limits_default.leases_max);
  observations_.settings = settings;
  observations_.claim_within_max = std::max(observations_.claim_within_max, settings.claim_within);
  observations_.reserve_least = std::min(observations_.reserve_least, settings.reserve);
  for (const auto& [device, reserve] : settings.device_reserve) {
    observations_.reserve_least = std::min(observations_.reserve_least, reserve);
  }
}

void InvariantChecker::asked(ConnectionId connection, const server::Command& command) {
  context_.note("call {} of kind {}", connection.value, command.index());
  const bool first = calls_.emplace(connection, Call{command}).second;
  if (!first) context_.fail("a second call on a connection that waits for the first");
  if (const auto* release = std::get_if<core::Release>(&command)) {
    observations_.known[release->lease].released = true;
  }
  if (const auto* cancel = std::get_if<core::Cancel>(&command)) {
    observations_.known[cancel->lease].released = true;
  }
  if (const auto* suspend = std::get_if<core::Suspend>(&command)) {
    observations_.known[suspend->lease].pausers.insert(suspend->actor.user);
  }
  if (const auto* freeze = std::get_if<core::Freeze>(&command)) {
    observations_.known[freeze->lease].pausers.insert(freeze->actor.user);
  }
  if (const auto* resume = std::get_if<core::Resume>(&command)) {
    observations_.known[resume->lease].resumed_by_somebody = true;
  }
  if (const auto* report = std::get_if<core::ReportExit>(&command)) {
    const ReferenceLease* lease = observations_.journal.find(report->handle);
    if (lease != nullptr)
      observations_.known[lease->id].leftovers = {report->body.leftovers.begin(),
                                                  report->body.leftovers.end()};
  }
  if (std::holds_alternative<core::Reconnect>(command)) {
    const std::optional<Handle> handle = handle_of(command);
    if (const ReferenceLease* lease = observations_.journal.find(checked(handle))) {
      observations_.known[lease->id].reconnected_at = now().instant;
    }
  }
}

void InvariantChecker::on_disconnect(ConnectionId connection) {
  calls_.erase(connection);
  for (auto& [id, known] : observations_.known) {
    if (known.requester == connection) known.requester_gone = true;
  }
}

void InvariantChecker::moves(LeaseId lease, std::uint64_t number, bool begins) {
  if (begins) {
    observations_.moving[lease] = number;
  } else if (observations_.moving.contains(lease) && observations_.moving.at(lease) == number) {
    observations_.moving.erase(lease);
  }
}

void InvariantChecker::moves_back(LeaseId lease, bool begins) {
  if (!begins) {
    observations_.coming_back.erase(lease);
    return;
  }
  observations_.coming_back.insert(lease);
  const ReferenceLease* known = observations_.journal.find(lease);
  const bool asked = known == nullptr || !known->is_away(ReferenceLease::Away::kSwappingIn) ||
                     known->times.of<ResumeBegun>() <= observations_.last_asked_at;
  if (!asked) {
    context_.fail(
        fmt::format("lease {} is moved back, and the driver was not asked since its room "
                    "is its own",
                    lease.value));
  }
}

void InvariantChecker::came_back(LeaseId lease, Process process) {
  observations_.known[lease].back_at = now().instant;
  check(check_place(observations_, lease, process));
}

void InvariantChecker::sampled(const Sample& sample) {
  if (sample.trouble.empty()) {
    observations_.last_asked_at = sample.asked_at;
    for (const auto& [id, lease] : observations_.journal.leases()) {
      const bool there = lease.holds() && lease.is_away(ReferenceLease::Away::kNo);
      if (there) observations_.known[id].largest.clear();
      if (finds_free(observations_, lease, sample)) observations_.known[id].found_free = true;
    }
  }
  observations_.sampled_lost.clear();
  observations_.above_budget.sampled(observations_, sample);
  observations_.sampled_uses.clear();
  for (const DeviceSample& device : sample.devices) {
    if (device.lost) observations_.sampled_lost.insert(device.id);
    if (!device.processes) continue;
    for (const ProcessSample& one : *device.processes) {
      observations_.sampled_uses.emplace(device.id, one.process);
    }
  }
}

void InvariantChecker::wrote(const std::vector<Record>& records, const server::Engine& engine) {
  const bool late = engine.journal_behind();
  for (const Record& record : records) check_record(record, engine, late);
  // Who was just claimed is looked at with the next event: there is nothing yet that could be
  // moved.
  decided_ |= std::ranges::any_of(records, [](const Record& record) {
    return !std::holds_alternative<LeaseClaimed>(record.fact);
  });
}

void InvariantChecker::note_budgets(LeaseId id, const std::vector<Part>& before) {
  std::vector<Bytes>& largest = observations_.known[id].largest;
  largest.resize(std::max(largest.size(), before.size()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    largest[i] = std::max(largest[i], before[i].budget);
  }
}

void InvariantChecker::check_record(const Record& record, const server::Engine& engine, bool late) {
  const LeaseId id = lease_of(record.fact);
  context_.note("record {} {} of lease {}", record.sequence, name_of(record.fact), id.value);
  const ReferenceLease* found = observations_.journal.find(id);
  const std::optional<ReferenceLease> before = found ? std::optional(*found) : std::nullopt;
  fairness_.advance(observations_.journal, record.at);
  check(observations_.journal.apply(record, context_.coverage));
  note_record(record, before);
  if (!context_.failed() && !late) check_record_by_rules(record, before, engine);
  if (std::holds_alternative<LeaseEnded>(record.fact)) observations_.known.erase(id);
}

// Of each, whenever it was written.
void InvariantChecker::note_record(const Record& record,
                                   const std::optional<ReferenceLease>& before) {
  const LeaseId id = lease_of(record.fact);
  if (std::holds_alternative<LeaseResized>(record.fact)) note_budgets(id, checked(before).parts);
  if (std::holds_alternative<LeasePaused>(record.fact)) {
    // A Resume that is on the way may be meant to end it.
    observations_.known[id].resumed_by_somebody = std::ranges::any_of(
        calls_, [](const auto& call) { return is_a<core::Resume>(call.second.command); });
  }
  if (std::holds_alternative<LeaseEnded>(record.fact) ||
      std::holds_alternative<LeaseRequeued>(record.fact)) {
    observations_.known[id].found_free = false;
  }
}

void InvariantChecker::check_record_by_rules(const Record& record,
                                             const std::optional<ReferenceLease>& before,
                                             const server::Engine& engine) {
  const LeaseId id = lease_of(record.fact);
  const ReferenceLease* after = observations_.journal.find(id);
  const bool grant = std::holds_alternative<LeaseGranted>(record.fact);
  if (grant) {
    check(turns_.check_grant(observations_, *after, engine.coordinator(), now()));
    check(check_user(observations_, *after));
  }
  if (grant || std::holds_alternative<LeaseResized>(record.fact)) {
    bool grows = grant;
    for (const Part& part : after->parts) {
      grows = grows || part.budget > checked(before).budget_on(part.device);
    }
    if (grows) check(check_grant(observations_, *after, checked(before)));
  }
  if (std::holds_alternative<ResumeBegun>(record.fact)) {
    check(check_grant(observations_, *after, checked(before)));
  }
  if (std::holds_alternative<LeaseMoved>(record.fact)) {
    check(check_migration(observations_, *after, checked(before)));
  }
  const auto* wanted = std::get_if<ResumeQueued>(&record.fact);
  if (wanted != nullptr && wanted->queued) {
    check(check_resume(observations_, checked(before), now()));
  }
  const auto* leaves = std::get_if<SuspendBegun>(&record.fact);
  if (leaves != nullptr && leaves->turn) {
    check(Turns::check_end_of_turn(observations_, checked(before), engine.coordinator(), now()));
  }
  if (const auto* measure = std::get_if<MeasureBegun>(&record.fact)) {
    check(check_measure(observations_, checked(before), *measure, now()));
  }
  if (const auto* member = std::get_if<MemberSeen>(&record.fact)) {
    check(check_member(observations_, *after, member->process));
  }
  if (const auto* answered = std::get_if<MessageAnswered>(&record.fact)) {
    // What is agreed to may be a pause.
    observations_.known[id].pausers.insert(answered->by.value_or(after->user));
  }
  if (const auto* releasing = std::get_if<LeaseReleasing>(&record.fact)) {
    check(check_end(observations_, checked(before), releasing->result, now()));
  }
  if (std::holds_alternative<LeaseEnded>(record.fact) ||
      std::holds_alternative<LeaseRequeued>(record.fact)) {
    check(check_freeing(observations_, checked(before), now()));
  }
  if (const auto* ended = std::get_if<LeaseEnded>(&record.fact)) {
    check(check_end(observations_, checked(before), ended->result, now()));
    check(check_end_on_the_way(observations_, checked(before), now()));
  }
}

void InvariantChecker::replaced(const std::vector<Record>& snapshot, std::uint64_t last_sequence,
                                bool behind) {
  context_.note("snapshot of {} records up to {}", snapshot.size(), last_sequence);
  const bool was_told_all = observations_.journal.last_sequence() == last_sequence;
  if (was_told_all) fairness_.advance(observations_.journal, snapshot.back().at);
  std::string broken = observations_.journal.replace(snapshot, last_sequence);
  if (!was_told_all) fairness_.begin_anew(snapshot, observations_.journal);
  if (!behind) check(std::move(broken));
}

void InvariantChecker::check_view(const LeaseView& view, const server::Engine& engine) {
  const bool behind = engine.journal_behind();
  const ReferenceLease* said = observations_.journal.find(view.id);
  if (view.state == LeaseState::kEnded) {
    if (said != nullptr && !behind) context_.fail("an end was told that was not written");
    return;
  }
  if (said == nullptr) {
    context_.fail(
        fmt::format("lease {} was told of, and the journal does not know it", view.id.value));
    return;
  }
  check(mismatch(*said, view, behind));
  if (!behind) check(check_expected_end(*said, view, now()));
}

void InvariantChecker::answered(ConnectionId connection, const server::Answer& answer,
                                const server::Engine& engine) {
  const auto call = calls_.find(connection);
  if (call == calls_.end() || call->second.streams) {
    context_.fail("an answer to a call that was not made, or was answered already");
    return;
  }
  const Call made = call->second;
  calls_.erase(call);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    context_.note("refused {}: {}", connection.value, refusal->message);
    return;
  }
  const LeaseView& view = *std::get<Boxed<LeaseView>>(answer);
  context_.note("answered {}: lease {} is {}", connection.value, view.id.value,
                to_text(view.state));
  const std::optional<Handle> handle = handle_of(made.command);
  if (handle && *handle != view.handle) context_.fail("an answer about another lease");
  check_view(view, engine);
  const ReferenceLease* said = observations_.journal.find(view.id);
  if (is_a<core::Claim>(made.command) && said != nullptr &&
      said->state == ReferenceLease::State::kOffered) {
    context_.fail("a claim was answered that was not written");
  }
  if (const auto* report = std::get_if<core::ReportProgress>(&made.command)) {
    context_.coverage.reached(Moment::kProgressTold);
    check(check_progress(*report, view, now()));
  }
}

void InvariantChecker::on_item(ConnectionId connection, const server::Item& item,
                               const server::Engine& engine) {
  const auto call = calls_.find(connection);
  if (call == calls_.end()) {
    context_.fail("an item of a stream that nobody asked for, or that was over");
    return;
  }
  context_.note("told {}: {}", connection.value, item.event);
  if (const auto* view = std::get_if<LeaseView>(&item.body)) {
    const std::optional<Handle> handle = handle_of(call->second.command);
    if (handle && *handle != view->handle) context_.fail("an item about another lease");
    check_view(*view, engine);
    heard(connection, call->second, view->id);
  }
  call->second.streams = true;
  if (item.last) calls_.erase(call);
}

void InvariantChecker::heard(ConnectionId connection, const Call& call, LeaseId lease) {
  if (!is_a<core::Submit>(call.command) && !is_a<core::Reconnect>(call.command)) return;
  Known& known = observations_.known[lease];
  if (connection < known.requester) return;  // It came late.
  known.requester = connection;
  known.requester_gone = false;
}

void InvariantChecker::event_done(const server::Engine& engine, core::Now at) {
  ++events_;
  observations_.rebooted = false;
  if (engine.journal_behind()) observations_.behind_at = at.instant;
  engine.coordinator().check_everything();
  check(check_delay(observations_, at));
  check(turns_.check_idleness(observations_, engine, at));
  check(turns_.check_turn_ends(observations_, engine, at));
  if (!observations_.is_behind(at.instant)) {
    const std::vector<LeaseId> queue = engine.coordinator().queue(at);
    check(fairness_.check_order(observations_, queue, at.instant));
    check(check_value_order(observations_, queue));
  }
  if (events_ % audit_every_ == 0) audit(engine, at);
  const bool decided = std::exchange(decided_, false);
  if (engine.journal_behind()) return;
  if (decided && ++decisions_ % kWaitingEvery == 0 && engine.next_wake() > at.instant) {
    check(check_waiting({.coordinator = engine.coordinator(), .now = at}));
  }
  if (events_ % kAdviceEvery != 0) return;
  const std::uint64_t number = events_ / kAdviceEvery;
  if (number % 2 == 0) {
    check(check_advice(observations_,
                       {.coordinator = engine.coordinator(), .now = at, .number = number / 2}));
  } else {
    const core::Coordinator anew = restored(engine.coordinator().snapshot(at));
    check(check_restart(observations_, {.coordinator = anew, .now = at, .number = number / 2}));
  }
}

void InvariantChecker::out_of_memory(std::size_t device) {
  check(check_out_of_memory(observations_, device));
}

}  // namespace berth::sim
