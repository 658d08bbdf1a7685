// SPDX-License-Identifier: Apache-2.0
// Saves of the command when they are asked for, one at a time. It reports how each went: once, and
// until that was heard. Nothing of it waits but command_ended(). Only for a program with one
// thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "cli/save/process.h"
#include "model/lease.h"
#include "wire/request.h"

namespace berth::cli {

class Saver {
 public:
  Saver(SaveContext context, Duration grace) : context_(std::move(context)), grace_(grace) {}

  /// A number that is not higher than those before it was asked for already.
  void ask(const CheckpointAsk& ask, Instant now);
  /// A child was reaped; it may be ours.
  void reaped(pid_t pid, int status);
  /// When woke() is due: the time of a save is up.
  Instant wake_at() const { return process_ ? until_ : Instant::never(); }
  void woke(Instant now);
  /// A save under way may take a moment longer, where the command can have told of it; then it has
  /// failed.
  void command_ended(const ExitStatus& exit);

  /// To be told to the daemon, until heard() names it.
  const std::optional<CheckpointedBody>& report() const { return report_; }
  void heard(std::uint64_t number);

 private:
  void over(Performed performed);
  void give_up(CheckpointOutcome outcome, std::string detail);
  std::optional<int> wait_for_process(Duration within) const;

  SaveContext context_;
  Duration grace_;
  std::uint64_t number_ = 0;  // Of the newest.
  std::optional<SaveProcess> process_;
  Instant until_;
  std::optional<CheckpointedBody> report_;
};

}  // namespace berth::cli
