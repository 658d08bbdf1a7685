// SPDX-License-Identifier: Apache-2.0
// The command of a lease: held until the lease is taken up for it, started, watched, and its end
// reported. Not shared between threads; waits for the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "cli/run/console.h"
#include "cli/run/environment.h"
#include "cli/run/queue_wait.h"
#include "cli/run/status_descriptor.h"
#include "cli/save/saver.h"
#include "cli/supervise/command.h"
#include "cli/supervise/job_terminal.h"
#include "client/client.h"
#include "enforce/lease_files.h"
#include "os/signals.h"
#include "wire/lease.h"

namespace berth::cli {

class Runner {
 public:
  /// Whose lease it is. A command that joined one leaves its end to the one that started that.
  enum class Lease : std::uint8_t { kOwn, kJoined };

  struct Ports {
    client::Client& client;
    os::SignalDescriptor& signals;
    Console& console;
    StatusDescriptor& status;
  };
  /// `saves`: how the command can be had to save itself.
  Runner(Ports ports, std::vector<std::string> words, SaveOptions saves);

  /// Makes a process that stands ready, if there is none. Absent: go on.
  std::optional<ExitOutcome> hold();
  /// Of the process that stands ready.
  const Process& process() const { return checked(command_).process(); }

  /// Starts it under a lease that was taken up for it, and waits for its end. Absent: it is to be
  /// started again, and the lease goes back into the queue.
  std::optional<ExitOutcome> run(const wire::LeaseAnswer& lease, const VariableChanges& variables,
                                 Lease whose);

  /// Ends a lease that was taken up for a command which is not started after all.
  void give_back(const wire::LeaseAnswer& lease, int code);

 private:
  struct CommandEnd {
    ExitStatus exit;
    EndKind kind = EndKind::kPlain;
  };

  std::optional<int> told_to_end() const;
  std::optional<ExitOutcome> ended(const wire::LeaseAnswer& lease, const CommandEnd& end,
                                   Lease whose);
  bool ends_with_machine(const wire::LeaseAnswer& lease) const;
  ExitOutcome not_started(const wire::LeaseAnswer& lease, int number, Lease whose);
  std::optional<LeaseView> report(const wire::LeaseAnswer& lease, const CommandEnd& end);
  std::optional<Saver> saver_for(const wire::LeaseAnswer& lease,
                                 const VariableChanges& variables) const;
  void tell_save(const wire::LeaseAnswer& lease, const Saver& saver);
  void tell_peak(LeaseView lease, const Result<enforce::Use>& use);
  std::optional<Bytes> largest_budget_for(const LeaseView& lease);
  void tell_leak(const LeaseView& lease);
  Result<client::Answer> ask_apart(const client::HttpRequest& question);

  Ports ports_;
  std::vector<std::string> words_;
  SaveOptions saves_;
  std::optional<HeldCommand> command_;
  std::optional<JobTerminal> terminal_;
  std::optional<EndResult> revoked_;
  bool detached_ = false;  // Its terminal was told that it goes on without its lease.
  Instant started_;
};

/// "cannot start train.py: it is not executable", and the exit status that says so to programs.
ExitOutcome cannot_start(const std::string& name, int number, Console& console);

}  // namespace berth::cli
