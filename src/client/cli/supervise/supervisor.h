// SPDX-License-Identifier: Apache-2.0
// Stays with a running command until it ends: passes signals on, stops and continues with it, reaps
// what it leaves behind, and in the meantime lets its owner read one descriptor. Only for a program
// with one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "cli/supervise/job_terminal.h"
#include "model/lease.h"
#include "os/signals.h"

namespace berth::cli {

/// Something else that is listened to while the command runs. Nothing of it may wait.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual int descriptor() const = 0;   // -1: nothing to listen to now.
  virtual Instant wake_at() const = 0;  // When woke() is due.
  virtual void readable() = 0;
  virtual void woke(Instant now) = 0;
  /// Berth has stopped the command, or is to.
  virtual bool is_frozen() const { return false; }
  /// A child that is not the command has ended, and is no more. `status` as waitpid() has it.
  virtual void reaped(std::int32_t /*pid*/, int /*status*/) {}
  /// The command is being stopped: it is over when nothing of what it has started is left, either.
  virtual bool stops_all() const { return false; }
};

/// The signals that are taken from a descriptor from the beginning to the end of `berth run`. One
/// that is ignored (nohup, or a script's background) stays ignored, by us and by the command.
std::vector<int> supervised_signals();

/// From before the command is made: what loses its parent below us becomes our child, so that it
/// can be found when the command has ended.
void adopt_orphans();

class Supervisor {
 public:
  /// The command has its own group if there is a terminal.
  Supervisor(Process command, os::SignalDescriptor& signals, JobTerminal* terminal,
             Observer& observer);

  /// Waits for the end of the command, and takes the terminal back.
  ExitStatus run();
  /// While all was stopped we were told to end, by this signal.
  std::optional<int> told_to_end() const { return told_to_end_; }
  /// We were, at any time.
  bool was_told_to_end() const { return was_told_to_end_; }

  /// What lives below us after the end of the command.
  static std::vector<Process> leftovers();

 private:
  void wait_for_something();
  void handle(const os::SignalSeen& seen);
  bool is_over() const;
  void reap();
  void command_stopped();
  void command_continued();
  void look_whether_frozen();
  void resume();
  void pass_on(int signal) const;

  Process command_;
  os::SignalDescriptor& signals_;
  JobTerminal* terminal_;
  Observer& observer_;
  std::optional<ExitStatus> ended_;
  std::optional<int> told_to_end_;
  bool was_told_to_end_ = false;
  bool frozen_ = false;  // It was stopped so, and we have its terminal meanwhile.
};

}  // namespace berth::cli
