// SPDX-License-Identifier: Apache-2.0
// A command that is started in two steps: the process is made and waits, for hours if need be, so
// that the daemon can be given its pid; then it is given its variables and becomes the command.
// Killed in between, it is nothing. Only for a program with one thread.
#pragma once

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::cli {

/// Variables of the command that differ from ours.
struct VariableChanges {
  std::map<std::string, std::string> set;
  std::vector<std::string> unset;
};

/// 0, or the errno with which starting it would fail: ENOENT, EACCES. Looks where exec would look,
/// so that a mistyped name is known before anything is asked for.
int trouble_starting(const std::string& name);

class HeldCommand {
 public:
  struct Setting {
    sigset_t mask;           // What its signal mask shall be.
    int not_inherited = -1;  // Open here, and not to be kept open by a process that waits.
  };
  /// Makes the process.
  static Result<HeldCommand> make(const std::vector<std::string>& words, const Setting& setting);
  HeldCommand(HeldCommand&& other) noexcept = default;
  HeldCommand& operator=(HeldCommand&&) = delete;
  /// One that was not let go ends without having been anything.
  ~HeldCommand();

  const Process& process() const { return process_; }
  /// Nobody has killed it yet.
  bool is_waiting();
  /// Makes it the leader of a process group of its own, instead of a member of ours.
  void lead_own_group() const;

  /// Lets it become the command. 0, or the errno with which exec failed: then it has ended, and was
  /// reaped. The caller waits for the command from here on.
  /// Signals that reached it while it waited were meant for us, and are forgotten.
  int let_go(const VariableChanges& changes);

 private:
  HeldCommand(Process process, os::UniqueFd pipe) : process_(process), pipe_(std::move(pipe)) {}
  void reap();

  Process process_;
  os::UniqueFd pipe_;  // Both ways; gone once it was let go.
  bool reaped_ = false;
};

}  // namespace berth::cli
