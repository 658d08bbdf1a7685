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
    : env_(env), plan_(std::move(plan)), program_(env, plan_), renewals_left_(plan_.renewals) {}

void Session::finishing() {
  if (phase_ != Phase::kWaiting) return;
  if (plan_.never_claims) {
    leave({});
  } else {
    ask_aside(
        core::Park{.token = {}, .actor = actor(), .handle = handle_, .body = {.parked = false}});
  }
}

bool Session::over() const {
  return phase_ == Phase::kOver && program_.over();
}

std::string Session::describe() const {
  return fmt::format("session of {} in phase {}, lease {}, connection {}", supervisor_.pid,
                     static_cast<int>(phase_), id_.value, connection_ ? connection_->value : 0);
}

void Session::start(std::optional<Process> parent) {
  const Processes::Birth* outer = parent ? env_.processes.find(*parent) : nullptr;
  supervisor_ = env_.processes.spawn({.parent = parent.value_or(Process{}),
                                      .user = plan_.user,
                                      .name = "berth",
                                      .lease = outer == nullptr ? std::nullopt : outer->lease,
                                      .subreaper = true,
                                      .on_end = {}});
  plan_harm();
  connect_and_ask();
}

// Not before the delay, and only if it is then still in that phase.
void Session::once(Duration delay, Phase phase, std::function<void()> action) {
  env_.context.clock.after(delay, [this, phase, action = std::move(action)] {
    if (phase_ == phase) action();
  });
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
  server::Command ask = core::Submit{.token = {},
                                     .actor = actor(),
                                     .handle = {},
                                     .supervisor = supervisor_,
                                     .request = plan_.request};
  if (plan_.request.ttl && !plan_.anchored) std::get<core::Submit>(ask).supervisor.reset();
  if (phase_ == Phase::kWaiting) {
    ask = core::Reconnect{
        .token = {}, .actor = actor(), .handle = handle_, .body = {.restarts = restarts_}};
    perhaps_reconnect_twice(ask);
  }
  if (!connect()) {
    disconnected();
    return;
  }
  if (phase_ == Phase::kClaiming) {
    claim();
    return;
  }
  env_.network.ask(*connection_, ask, server::Engine::Listen::kStream);
}

void Session::disconnected() {
  connection_.reset();
  if (phase_ != Phase::kAsking && phase_ != Phase::kWaiting && phase_ != Phase::kClaiming) return;
  once(env_.context.random.between(milliseconds(20), milliseconds(1'020)), phase_, [this] {
    if (!connection_) connect_and_ask();  // It may have run since, and wait again.
  });
}

void Session::hear(const server::Item& item) {
  if (given_up_) env_.network.close(*given_up_);
  given_up_.reset();
  const auto* lease = std::get_if<LeaseView>(&item.body);
  if (lease == nullptr || (phase_ != Phase::kAsking && phase_ != Phase::kWaiting)) return;
  id_ = lease->id;
  handle_ = lease->handle;
  if (item.event == "ended") {
    leave({.code = 75, .signal = 0});
  } else if (item.event == "granted") {
    granted(*lease);
  } else if (phase_ == Phase::kAsking) {
    phase_ = Phase::kWaiting;
    plan_park();
    plan_release();
  }
}

void Session::hear(const server::Answer& answer) {
  if (phase_ == Phase::kClaiming) {
    claimed(answer);
  } else if (std::holds_alternative<Refusal>(answer)) {
    leave({.code = 64, .signal = 0});
  }
}

void Session::granted(const LeaseView& lease) {
  phase_ = Phase::kWaiting;
  if (plan_.request.ttl) {
    phase_ = Phase::kHolding;
    env_.network.close(checked(connection_));
    connection_.reset();
    plan_resize();
    renew();
    return;
  }
  if (plan_.never_claims && !env_.finishing) {
    env_.context.record_fault(Fault::kNeverClaims);
    once(env_.context.random.spread(milliseconds(1), seconds(10)), Phase::kWaiting,
         [this] { leave({}); });
    return;
  }
  if (!lease.flags.unclaimed) return;
  // Whoever has asked anew meanwhile is told anew: the offer of which it was told may have lapsed.
  once(plan_.claims_after, Phase::kWaiting, [this, number = connections_made_] {
    if (number != connections_made_) return;
    phase_ = Phase::kClaiming;
    program_.start(supervisor_, handle_, plan_.request.ancestors,
                   [this](ExitStatus exit) { command_ended(exit); });
    if (connection_) {
      claim();
    } else {
      disconnected();
    }
  });
}

void Session::claim() {
  const core::Claim claim{.token = {},
                          .actor = actor(),
                          .handle = handle_,
                          .body = {.command = program_.command(), .restarts = restarts_}};
  perhaps_twice(claim);
  env_.network.ask(checked(connection_), claim, server::Engine::Listen::kAnswer);
}

void Session::claimed(const server::Answer& answer) {
  if (std::holds_alternative<Refusal>(answer)) {
    program_.end({.code = 0, .signal = SIGKILL});
    leave({.code = 75, .signal = 0});
    return;
  }
  phase_ = Phase::kRunning;
  env_.network.close(checked(connection_));
  connection_.reset();
  program_.run();
  plan_resize();
  plan_save();
  watch_saves();
  plan_suspend();
  plan_requeue();
  watch_requeue();
  plan_move();
  plan_progress();
  plan_freeze();
  watch_away();
}

void Session::command_ended(ExitStatus exit) {
  if (phase_ == Phase::kOver || !env_.processes.alive(supervisor_) || stopping_) return;
  exit_ = exit;
  phase_ = Phase::kReporting;
  report(kReportTries);
}

// Until somebody answers; then, or when nobody ever does, its own work is done.
void Session::report(std::uint32_t tries) {
  if (tries == 0) {
    leave(exit_);
    return;
  }
  core::ReportExit ask{.token = {},
                       .actor = actor(),
                       .handle = handle_,
                       .body = {.exit = exit_, .restarts = restarts_}};
  ask.body.leftovers = env_.processes.descendants(supervisor_);
  perhaps_twice(ask);
  ask_aside(ask, [this](const server::Answer&) {
    if (phase_ == Phase::kReporting) leave(exit_);
  });
  once(milliseconds(500), Phase::kReporting, [this, tries] { report(tries - 1); });
}

void Session::leave(ExitStatus exit) {
  if (phase_ == Phase::kOver) return;
  phase_ = Phase::kOver;
  for (auto* connection : {&connection_, &given_up_}) {
    if (*connection) env_.network.close(**connection);
    connection->reset();
  }
  env_.processes.end(supervisor_, exit);
}

void Session::ask_aside(const server::Command& ask,
                        std::function<void(const server::Answer&)> answered) {
  env_.network.ask_once(ask, std::move(answered));
}

// The same call over a connection that it then gives up: it may arrive at any time, or never.
void Session::perhaps_twice(const server::Command& ask) {
  if (env_.finishing || !env_.context.random.chance(env_.plan.rate(Fault::kMessageTwice))) return;
  env_.context.record_fault(Fault::kMessageTwice);
  ask_aside(ask);
}

// A connection that it gives up, and closes once it hears something on the next.
void Session::perhaps_reconnect_twice(const server::Command& ask) {
  if (env_.finishing || !env_.context.random.chance(env_.plan.rate(Fault::kMessageTwice))) return;
  env_.context.record_fault(Fault::kMessageTwice);
  if (given_up_) env_.network.close(*given_up_);  // One that outlived its process would be none.
  given_up_ = env_.network.open({.answer = {}, .item = {}, .closed = {}});
  if (given_up_) env_.network.ask(*given_up_, ask, server::Engine::Listen::kStream);
}

}  // namespace berth::sim
