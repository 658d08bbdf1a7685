// SPDX-License-Identifier: Apache-2.0
// --status-fd: one line of JSON for each phase of a run, for programs. A command may end with any
// code; this says which code is whose. Not shared between threads.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "model/lease.h"

namespace berth::cli {

class StatusDescriptor {
 public:
  /// Writes nothing.
  StatusDescriptor() = default;
  /// kInvalid where no such descriptor is open for writing. The command does not inherit it: who
  /// reads it sees its end when `run` ends.
  static Result<StatusDescriptor> open(int descriptor);

  void queued(LeaseId lease);
  void running(LeaseId lease, const Process& command);
  // The last line is one of these two; only the first that is called writes.
  void command_ended(const ExitStatus& exit);
  void ended(int code);  // By us: the command did not run, or not to its end.

 private:
  explicit StatusDescriptor(int descriptor) : descriptor_(descriptor) {}
  void write_line(const std::string& line) const;

  int descriptor_ = -1;
  std::optional<LeaseId> lease_;
  bool over_ = false;
};

}  // namespace berth::cli
