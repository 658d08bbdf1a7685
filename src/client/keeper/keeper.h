// SPDX-License-Identifier: Apache-2.0
// The keeper of a user's jobs: is there for their grants, starts them, and writes down how they
// ended. What it knows is on disk and with the daemon, so that another can take its place at any
// moment. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/client.h"
#include "jobs/job_folder.h"
#include "keeper/next_act.h"
#include "keeper/starter.h"
#include "os/signals.h"

namespace berth::keeper {

class Keeper {
 public:
  struct Ports {
    client::ClientOptions client;
    os::SignalDescriptor signals;  // Any of them ends it.
    os::UniqueFd wake;             // From JobFolder::listen().
    std::string program;           // The path of `berth`.
  };
  Keeper(jobs::JobFolder folder, Ports ports);

  /// Until a signal ends it. Jobs go on.
  void run();

 private:
  struct Tended {
    jobs::Job job;
    Sight sight = {};
    std::optional<client::Connection> stream = {};
    std::optional<Starter> starter = {};
    Instant next = {};    // Nothing is done about it before.
    Duration pause = {};  // What it waits after the next failure.
  };

  void look_for_jobs();
  void take_up(LeaseId id);
  void tend(Tended& tended, Instant now);
  void act(Tended& tended, const Next& next, Instant now);
  void ask(Tended& tended, Instant now);
  void listen(Tended& tended, Instant now);
  void start(Tended& tended, Instant now);
  void finish(Tended& tended, const jobs::JobResult& result);
  void receive(Tended& tended, Instant now);
  void look_at_starter(Tended& tended);
  void note_attempt(Tended& tended);
  void try_later(Tended& tended, Instant now);
  bool wait(Instant now);
  /// Null: there is no daemon now.
  client::Client* daemon(Instant now);

  jobs::JobFolder folder_;
  Ports ports_;
  std::map<LeaseId, Tended> jobs_;
  std::optional<client::Client> client_;
  Instant daemon_not_before_ = {};
};

}  // namespace berth::keeper
