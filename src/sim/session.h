// SPDX-License-Identifier: Apache-2.0
// One client of the daemon, from its first call to its last: `berth run` around a program, a
// reservation, or a job with all that see to it. It does what its plan says, well or badly, and
// comes back when the daemon was gone.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "model/lease.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/client.h"
#include "sim/demands.h"
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
  void power_cut();
  /// Neither the client nor anything that it started is left.
  bool over() const;

  /// Where it stands, for people.
  std::string describe() const;

  /// Its program, while that runs under a lease: something may run inside of it.
  const Program* program() const { return client_.is(Phase::kRunning) ? &program_ : nullptr; }
  LeaseId lease() const { return client_.id; }
  const std::vector<LeaseId>& ancestors() const { return client_.plan.request.ancestors; }
  UserId user() const { return client_.plan.user; }

 private:
  using Phase = Client::Phase;

  /// Who asks, of a job; of all else the one that starts it.
  enum class Role : std::uint8_t { kSubmitter, kKeeper, kStarter };

  void connect_and_ask();
  bool connect();
  void hang_up();
  void disconnected();
  void hear(const server::Item& item);
  void hear(const server::Answer& answer);
  void granted(const LeaseView& lease);
  void claim();
  void claimed(const server::Answer& answer);
  void command_ended(ExitStatus exit);
  void report(std::uint32_t tries);
  void reported(const server::Answer& answer);
  void leave(ExitStatus exit);

  /// Its files are there, or may be: a keeper sees to what becomes of it.
  bool is_kept() const {
    return client_.plan.job.is_one && (role_ != Role::kSubmitter || keeping_);
  }
  void keep();
  void hand_to_keeper(ExitStatus exit);
  void keeper_looks();
  void begin_attempt();

  void plan_harm();
  void watch_requeue();
  void stop();
  void wait_until_stopped(Instant kill_at);
  void renew();
  void perhaps_reconnect_twice(const server::Command& ask);

  Client client_;
  SimEnv& env_;
  Program program_;
  Demands demands_;
  Role role_;
  Process supervisor_;
  std::optional<ConnectionId> keeping_;  // By which a request becomes a job.
  std::optional<ConnectionId> connection_;
  std::uint64_t connections_made_ = 0;
  std::optional<ConnectionId> given_up_;  // It asked there before, and heard nothing.
  ExitStatus exit_;
  EndKind end_kind_ = EndKind::kPlain;
  bool stopping_ = false;  // The program, to start it again.
  std::uint32_t renewals_left_ = 0;
};

}  // namespace berth::sim
