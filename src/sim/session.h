// SPDX-License-Identifier: Apache-2.0
// One client of the daemon, from its first call to its last: `berth run` around a program, or a
// reservation. It does what its plan says, well or badly, and comes back when the daemon was gone.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "model/lease.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/env.h"
#include "sim/plan.h"
#include "sim/program.h"

namespace berth::sim {

class Session {
 public:
  Session(SimEnv& env, SessionPlan plan);

  /// `parent`: the command it runs inside of, if it runs inside of one.
  void start(std::optional<Process> parent);
  /// It comes to an end now, in good order.
  void finishing();
  /// Its user has had enough of it: it is to end now.
  void give_up();
  /// The machine went down with it.
  void power_cut() { phase_ = Phase::kOver; }
  /// Neither the client nor anything that it started is left.
  bool over() const;

  /// Where it stands, for people.
  std::string describe() const;

  /// Its program, while that runs under a lease: something may run inside of it.
  const Program* program() const { return phase_ == Phase::kRunning ? &program_ : nullptr; }
  LeaseId lease() const { return id_; }
  const std::vector<LeaseId>& ancestors() const { return plan_.request.ancestors; }
  UserId user() const { return plan_.user; }

 private:
  enum class Phase : std::uint8_t {
    kAsking,    // Until the first answer.
    kWaiting,   // Until the grant.
    kClaiming,  // The command stands ready.
    kRunning,
    kHolding,  // A reservation.
    kReporting,
    kOver,
  };

  core::Actor actor() const { return {.user = plan_.user, .admin = false}; }
  void connect_and_ask();
  bool connect();
  void disconnected();
  void hear(const server::Item& item);
  void hear(const server::Answer& answer);
  void granted(const LeaseView& lease);
  void claim();
  void claimed(const server::Answer& answer);
  void command_ended(ExitStatus exit);
  void report(std::uint32_t tries);
  void leave(ExitStatus exit);
  void once(Duration delay, Phase phase, std::function<void()> action);

  void plan_harm();
  void plan_park();
  void plan_release();
  void plan_resize();
  void plan_save();
  void watch_saves();
  void plan_suspend();
  void watch_return();
  void watch_away();
  void plan_requeue();
  void watch_requeue();
  void stop();
  void wait_until_stopped(Instant kill_at);
  void plan_move();
  void plan_progress();
  void plan_freeze();
  void freeze();
  void resume_frozen();
  void renew();
  void perhaps_twice(const server::Command& ask);
  void perhaps_reconnect_twice(const server::Command& ask);
  void ask_aside(const server::Command& ask,
                 std::function<void(const server::Answer&)> answered = {});

  SimEnv& env_;
  const SessionPlan plan_;
  Program program_;
  Phase phase_ = Phase::kAsking;
  Process supervisor_;
  std::optional<server::ConnectionId> connection_;
  std::uint64_t connections_made_ = 0;
  std::optional<server::ConnectionId> given_up_;  // It asked there before, and heard nothing.
  LeaseId id_;
  Handle handle_;
  ExitStatus exit_;
  std::uint32_t restarts_ = 0;
  bool stopping_ = false;  // The program, to start it again.
  std::uint32_t renewals_left_ = 0;
};

}  // namespace berth::sim
