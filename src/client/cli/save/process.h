// SPDX-License-Identifier: Apache-2.0
// A save under way, in a process of its own below `berth run`, so that neither signals nor the
// terminal nor the end of the command wait for it. Only for a program with one thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "cli/save/perform.h"
#include "cli/save/way.h"
#include "cli/supervise/command.h"
#include "os/unique_fd.h"

namespace berth::cli {

/// What a save is made with.
struct SaveContext {
  SaveWay way;
  Process command;
  VariableChanges variables;  // Of the command.
  sigset_t mask{};            // Likewise.
};

class SaveProcess {
 public:
  static Result<SaveProcess> start(const SaveContext& context, CheckpointReason reason);
  SaveProcess(SaveProcess&&) noexcept = default;
  SaveProcess& operator=(SaveProcess&&) noexcept = default;

  pid_t pid() const { return pid_; }
  /// It, and what it has started. To be called before it is reaped only.
  void kill() const;
  /// How it went, from how the process ended.
  Performed result(int status) const;

 private:
  SaveProcess(pid_t pid, os::UniqueFd pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  pid_t pid_;
  os::UniqueFd pipe_;  // What it has to say.
};

}  // namespace berth::cli
