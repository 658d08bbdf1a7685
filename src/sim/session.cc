// SPDX-License-Identifier: Apache-2.0
#include "sim/session.h"

#include <fmt/core.h>

#include <csignal>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"

namespace berth::sim {
namespace {

constexpr std::uint32_t kReportTries = 8;

}  // namespace

Session::Session(SimEnv& env, SessionPlan plan)
    : client_{.env = env, .plan = std::move(plan)},
      env_(env),
      program_(env, client_.plan),
      demands_(client_),
      role_(client_.plan.job.is_one ? Role::kSubmitter : Role::kStarter),
      renewals_left_(client_.plan.reservation.renewals) {}

void Session::finishing() {
  // Its end was told while it could not be written, and the daemon was killed: its user ends it.
  const bool is_back = client_.is(Phase::kOver) && client_.plan.job.is_one && client_.lease();
  if (is_back) return client_.ask(core::Cancel{});
  if (!client_.is(Phase::kWaiting)) return;
  if (client_.plan.client.never_claims) return leave({});
  client_.ask(core::Park{.body = {.parked = false}});
  const ReferenceLease* lease = client_.lease();
  if (lease != nullptr && lease->place.on_hold) client_.ask(core::Hold{.body = {.off = true}});
}

bool Session::over() const {
  return client_.is(Phase::kOver) && program_.over();
}

std::string Session::describe() const {
  return fmt::format("session of {} in phase {}, lease {}, connection {}", supervisor_.pid,
                     static_cast<int>(client_.phase), client_.id.value,
                     connection_ ? connection_->value : 0);
}

void Session::start(std::optional<Process> parent) {
  const Processes::Birth* outer = parent ? env_.processes.find(*parent) : nullptr;
  supervisor_ = env_.processes.spawn({.parent = parent.value_or(Process{}),
                                      .user = client_.plan.user,
                                      .name = "berth",
                                      .lease = outer == nullptr ? std::nullopt : outer->lease,
                                      .subreaper = true,
                                      .on_end = {}});
  plan_harm();
  connect_and_ask();
}

bool Session::connect() {
  CHECK(!connection_);
  connection_ = env_.network.open({.answer = [this](const server::Answer& answer) { hear(answer); },
                                   .item = [this](const server::Item& item) { hear(item); },
                                   .closed =
                                       [this, number = ++connections_made_] {
                                         if (number == connections_made_) disconnected();
                                       }});
  return connection_.has_value();
}

// First it asks for something; once it has a handle it asks for that.
void Session::connect_and_ask() {
  core::Submit submit{.request = client_.plan.request};
  if (!submit.request.ttl || client_.plan.reservation.anchored) submit.supervisor = supervisor_;
  server::Command ask = client_.about(std::move(submit));
  if (client_.is(Phase::kWaiting)) {
    ask = client_.about(core::Reconnect{.body = {.keep = role_ == Role::kKeeper}});
    perhaps_reconnect_twice(ask);
  }
  if (!connect()) return disconnected();
  if (client_.is(Phase::kClaiming)) return claim();
  env_.network.ask(checked(connection_), ask, server::Engine::Listen::kStream);
}

void Session::hang_up() {
  ++connections_made_;  // Whatever is heard of those is of no interest.
  for (auto* connection : {&connection_, &given_up_, &keeping_}) {
    if (*connection) env_.network.close(**connection);
    connection->reset();
  }
}

void Session::disconnected() {
  connection_.reset();
  if (role_ == Role::kKeeper) return keeper_looks();
  if (!client_.is(Phase::kAsking, Phase::kWaiting, Phase::kClaiming)) return;
  client_.once(client_.random().between(milliseconds(20), milliseconds(1'020)), client_.phase,
               [this] {
                 if (!connection_) connect_and_ask();  // It may have run since, and wait again.
               });
}

void Session::hear(const server::Item& item) {
  if (given_up_) env_.network.close(*given_up_);
  given_up_.reset();
  const auto* lease = std::get_if<LeaseView>(&item.body);
  if (lease == nullptr || !client_.is(Phase::kAsking, Phase::kWaiting)) return;
  client_.id = lease->id;
  client_.handle = lease->handle;
  if (item.event == "ended") {
    leave({.code = 75, .signal = 0});
  } else if (item.event == "granted") {
    granted(*lease);
  } else if (client_.is(Phase::kAsking)) {
    client_.phase = Phase::kWaiting;
    demands_.begin_waiting();
    if (role_ == Role::kSubmitter) keep();
  }
}

void Session::hear(const server::Answer& answer) {
  if (client_.is(Phase::kClaiming)) {
    claimed(answer);
  } else if (std::holds_alternative<Refusal>(answer)) {
    is_kept() ? hand_to_keeper({.code = 64}) : leave({.code = 64, .signal = 0});
  }
}

void Session::granted(const LeaseView& lease) {
  client_.phase = Phase::kWaiting;
  if (role_ == Role::kSubmitter) return;  // It does not start it.
  if (role_ == Role::kKeeper) return begin_attempt();
  if (client_.plan.request.ttl) {
    client_.phase = Phase::kHolding;
    env_.network.close(checked(connection_));
    connection_.reset();
    demands_.begin_holding();
    renew();
    return;
  }
  if (client_.plan.client.never_claims && !env_.finishing) {
    env_.context.record_fault(Fault::kNeverClaims);
    client_.once(client_.random().spread(milliseconds(1), seconds(10)), Phase::kWaiting,
                 [this] { leave({}); });
    return;
  }
  if (!lease.flags.unclaimed) return is_kept() ? hand_to_keeper({.code = 75}) : void();
  // A client that has asked anew meanwhile is told anew: the offer of which it was told may have
  // lapsed.
  client_.once(client_.plan.client.claims_after, Phase::kWaiting,
               [this, number = connections_made_] {
                 if (number != connections_made_) return;
                 client_.phase = Phase::kClaiming;
                 program_.start(supervisor_, client_.handle, client_.plan.request.ancestors,
                                [this](ExitStatus exit) { command_ended(exit); });
                 if (connection_) {
                   claim();
                 } else {
                   disconnected();
                 }
               });
}

void Session::claim() {
  auto claim = client_.about(core::Claim{.body = {.command = program_.command()}});
  if (is_kept()) claim.actor.process = supervisor_;
  if (client_.meets(Fault::kMessageTwice)) client_.ask(claim);
  env_.network.ask(checked(connection_), claim, server::Engine::Listen::kAnswer);
}

void Session::claimed(const server::Answer& answer) {
  if (std::holds_alternative<Refusal>(answer)) {
    // Of what was never taken up nobody tells how it ended.
    if (is_kept()) hand_to_keeper({.code = 75});
    program_.end({.code = 0, .signal = SIGKILL});
    if (!is_kept()) leave({.code = 75, .signal = 0});
    return;
  }
  client_.phase = Phase::kRunning;
  env_.network.close(checked(connection_));
  connection_.reset();
  program_.run();
  demands_.begin_running();
  watch_requeue();
}

void Session::command_ended(ExitStatus exit) {
  if (client_.is(Phase::kOver) || !env_.processes.alive(supervisor_) || stopping_) return;
  exit_ = exit;
  const std::uint32_t shutdowns = env_.finishing ? 0 : client_.plan.job.shutdown_per_mille;
  const bool ran_out = client_.plan.request.on_oom == OnOom::kGrow && client_.random().chance(300);
  end_kind_ = shutdowns > 0 && client_.random().chance(shutdowns) ? EndKind::kShutdown
              : ran_out                                           ? EndKind::kOutOfMemory
                                                                  : EndKind::kPlain;
  client_.phase = Phase::kReporting;
  report(kReportTries);
}

// Until a daemon answers; then, or when none ever does, its own work is done.
void Session::report(std::uint32_t tries) {
  if (tries == 0) return is_kept() ? hand_to_keeper(exit_) : leave(exit_);
  core::ReportExit ask{.body = {.exit = exit_, .kind = end_kind_}};
  ask.body.leftovers = env_.processes.descendants(supervisor_);
  client_.ask_perhaps_twice(ask, [this, restarts = client_.restarts](const server::Answer& answer) {
    if (client_.is(Phase::kReporting) && restarts == client_.restarts) reported(answer);
  });
  client_.once(milliseconds(500), Phase::kReporting, [this, tries, restarts = client_.restarts] {
    if (restarts == client_.restarts) report(tries - 1);
  });
}

// What has failed may be started again: by it, or, of a job, by another one.
void Session::reported(const server::Answer& answer) {
  if (is_kept()) return hand_to_keeper(exit_);
  const auto* lease = std::get_if<Boxed<LeaseView>>(&answer);
  const bool comes_again =
      lease != nullptr && ((*lease)->restarts > client_.restarts || next_attempt_of(**lease));
  if (!comes_again) return leave(exit_);
  hang_up();
  ++client_.restarts;
  client_.phase = Phase::kWaiting;
  connect_and_ask();
}

void Session::leave(ExitStatus exit) {
  if (client_.is(Phase::kOver)) return;
  client_.phase = Phase::kOver;
  hang_up();
  env_.processes.end(supervisor_, exit);
}

// As `berth submit` does, by another connection; what it then leaves is in the keeper's files.
void Session::keep() {
  const auto kept = [this] {
    if (role_ == Role::kSubmitter && client_.is(Phase::kWaiting)) hand_to_keeper({});
  };
  keeping_ = env_.network.open({.answer = [kept](const server::Answer&) { kept(); },
                                .item = [kept](const server::Item&) { kept(); },
                                .closed = kept});
  if (!keeping_) return kept();
  const auto ask = client_.about(core::Reconnect{.body = {.keep = true}});
  env_.network.ask(*keeping_, ask, server::Engine::Listen::kStream);
}

// The process that saw to it last is gone, in order or not.
void Session::hand_to_keeper(ExitStatus exit) {
  hang_up();
  env_.processes.end(supervisor_, exit);
  supervisor_ = {};
  stopping_ = false;
  role_ = Role::kKeeper;
  client_.phase = Phase::kWaiting;
  keeper_looks();
}

// It knows of the lease what it asks for, and starts nothing that it is not offered.
void Session::keeper_looks() {
  client_.once(client_.random().between(milliseconds(20), milliseconds(1'020)), Phase::kWaiting,
               [this] {
                 if (role_ != Role::kKeeper || connection_) return;
                 const ReferenceLease* lease = client_.lease();
                 if (lease == nullptr) return leave({});
                 const bool may_start = lease->state == ReferenceLease::State::kWaiting ||
                                        lease->state == ReferenceLease::State::kOffered;
                 if (!may_start) return keeper_looks();
                 client_.restarts = lease->requeue.restarts;
                 connect_and_ask();
               });
}

// The one that starts the command asks for its offer anew.
void Session::begin_attempt() {
  hang_up();
  role_ = Role::kStarter;
  supervisor_ = env_.processes.spawn({.parent = {},
                                      .user = client_.plan.user,
                                      .name = "berth",
                                      .lease = std::nullopt,
                                      .subreaper = true,
                                      .on_end = {}});
  connect_and_ask();
}

// The machine went down with it. Of a job there are files.
void Session::power_cut() {
  if (is_kept() && !client_.is(Phase::kOver)) return hand_to_keeper({});
  hang_up();
  client_.phase = Phase::kOver;
}

void Session::give_up() {
  if (client_.is(Phase::kOver)) return;
  if (client_.is(Phase::kAsking, Phase::kWaiting) && !is_kept()) return leave({});
  client_.ask(core::Cancel{});
}

void Session::plan_harm() {
  const auto after = [&](std::optional<Duration> delay, Fault fault, std::function<void()> harm) {
    if (!delay) return;
    env_.context.clock.after(*delay, [this, fault, harm = std::move(harm)] {
      if (env_.finishing || client_.is(Phase::kOver)) return;
      env_.context.record_fault(fault);
      harm();
    });
  };
  after(client_.plan.client.hangs_up_after, Fault::kClientHangsUp, [this] {
    if (!client_.is(Phase::kAsking, Phase::kWaiting)) return;
    is_kept() ? hand_to_keeper({}) : leave({});
  });
  after(client_.plan.client.killed_after, Fault::kClientKilled, [this] {
    // A command that has not been let go yet ends with its supervisor.
    const bool ready = client_.is(Phase::kClaiming);
    const ExitStatus killed{.code = 0, .signal = SIGKILL};
    is_kept() ? hand_to_keeper(killed) : leave(killed);
    if (ready) program_.end({.code = 0, .signal = SIGKILL});
  });
}

// It says that it is about to stop, and does so once the daemon has written that down.
void Session::watch_requeue() {
  if (!client_.plan.request.requeue_grace) return;
  client_.once(milliseconds(200), Phase::kRunning, [this] {
    const ReferenceLease* lease = client_.lease();
    const bool asked = lease != nullptr && lease->requeue.asked && !lease->save.number;
    if (asked && lease->requeue.stop_at) return stop();
    if (asked) client_.ask_perhaps_twice(core::BeginRequeue{});
    watch_requeue();
  });
}

void Session::stop() {
  stopping_ = true;
  program_.signal(SIGTERM);
  wait_until_stopped(env_.context.clock.instant() + checked(client_.plan.request.requeue_grace));
}

// Then it waits for its turn again.
void Session::wait_until_stopped(Instant kill_at) {
  client_.once(milliseconds(50), Phase::kRunning, [this, kill_at] {
    if (!stopping_) return;  // It was killed meanwhile, and this is another attempt.
    if (!program_.over()) {
      if (env_.context.clock.instant() >= kill_at) program_.signal(SIGKILL);
      return wait_until_stopped(kill_at);
    }
    stopping_ = false;
    ++client_.restarts;
    client_.phase = Phase::kWaiting;
    connect_and_ask();
  });
}

void Session::renew() {
  if (!client_.is(Phase::kHolding)) return;
  if (renewals_left_ == 0 || env_.finishing) {
    // Given back in time by half of them; the others expire.
    if (client_.random().chance(500)) client_.ask(core::Release{.body = {.detach = true}});
    return leave({});
  }
  --renewals_left_;
  const Duration ttl = checked(client_.plan.request.ttl);
  client_.once({ttl.ns / 2}, Phase::kHolding, [this, ttl] {
    client_.ask(core::Renew{.body = {.ttl = ttl}});
    renew();
  });
}

// A connection that it gives up, and closes once it hears something on the next.
void Session::perhaps_reconnect_twice(const server::Command& ask) {
  if (!client_.meets(Fault::kMessageTwice)) return;
  if (given_up_) env_.network.close(*given_up_);  // One that outlived its process would be none.
  given_up_ = env_.network.open({.answer = {}, .item = {}, .closed = {}});
  if (given_up_) env_.network.ask(*given_up_, ask, server::Engine::Listen::kStream);
}

}  // namespace berth::sim
