// SPDX-License-Identifier: Apache-2.0
// The keeper of a user's jobs: is there for their grants, starts them, and writes down how they
// ended. What it knows is on disk and with the daemon, so that another can take its place at any
// moment. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "jobs/job_folder.h"
#include "keeper/next_act.h"
#include "keeper/starter.h"
#include "model/bodies.h"
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
  /// Of a set, or 0; and the job's own number, or the member's in the set.
  using Key = std::pair<LeaseId, LeaseId>;
  /// Of a set: what each member is made of, and how far that has come.
  struct Members {
    std::vector<std::string> lines;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    RequestBody request;
    std::uint32_t next = 1;            // The first that was not begun.
    std::vector<std::uint32_t> again;  // Begun, and their files make no sense.
    bool may_be_there = true;          // An earlier keeper may have asked for the next one.
    Instant not_before = {};
  };
  struct Tended {
    jobs::JobFolder folder;
    jobs::Job job;
    Sight sight = {};
    std::optional<client::Connection> stream = {};
    std::optional<Starter> starter = {};
    std::optional<Members> members = {};
    Bytes log_max = {};   // Of its attempt; 0: no bound.
    Instant next = {};    // Nothing is done about it before.
    Duration pause = {};  // What it waits after the next failure.
    bool over = false;
    std::string name() const { return folder.name_of(job.id); }
  };
  struct Count {
    std::uint32_t live = 0;
    std::uint32_t waiting = 0;  // Of these.
  };

  void look_for_jobs();
  void take_up(const jobs::JobFolder& folder, Key key);
  void tend(Tended& tended, Instant now);
  void act(Tended& tended, const Next& next, Instant now);
  void ask(Tended& tended, Instant now);
  void listen(Tended& tended, Instant now);
  void start(Tended& tended, Instant now);
  void give_up(Tended& tended, const jobs::JobResult& result, Instant now);
  void finish(Tended& tended, const jobs::JobResult& result, Instant now);
  void receive(Tended& tended, Instant now);
  void look_at_starter(Tended& tended);
  static void note_attempt(Tended& tended);
  static void try_later(Tended& tended, Instant now);
  void bound_logs(Instant now);
  static void bound_log(Tended& tended);
  bool wait(Instant now);
  /// Null: there is no daemon now.
  client::Client* daemon(Instant now);

  // members.cc
  Status read_members(Tended& set) const;
  Count count_members(LeaseId set) const;
  /// When the next one may be asked for; never: nothing is to be done about that.
  Instant next_member_at(const Tended& tended) const;
  void begin_member(LeaseId id, Instant now);
  Result<LeaseView> find_or_ask_for(Tended& set, std::uint32_t number, Instant now);
  Result<LeaseView> ask_for_member(const Tended& set, std::uint32_t number);
  void take_up_members(Tended& set);

  jobs::JobFolder folder_;
  Ports ports_;
  std::map<Key, Tended> jobs_;
  std::optional<client::Client> client_;
  Instant daemon_not_before_ = {};
  Instant logs_next_ = {};  // When they are looked at next.
};

/// On stderr, which is the keeper's log.
void complain(const std::string& sentence);

}  // namespace berth::keeper
