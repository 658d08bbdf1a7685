// SPDX-License-Identifier: Apache-2.0
// The hand-over benchmark, the same for each way to take turns: one job holds, many wait, then each
// ends as soon as it has begun. Measured is the time from the end of one to the begin of the next.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace berth::bench {

using Command = std::vector<std::string>;

struct Handover {
  std::vector<double> ms;  // One a hand-over.
  int overlaps = 0;        // How often a job began before the one before it had ended.
};

/// A directory of its own for one measurement; gone with all in it when it dies.
class Workspace {
 public:
  Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
};

struct Turns {
  int waiters = 100;
  /// What runs `job` when its turn has come. It is still there until then, or hands the job to a
  /// queue and ends.
  std::function<Command(const Command& job)> in_turn;
  /// How many wait by now. Without it: how many of those started are asleep.
  std::function<int()> waiting;
  /// Between the moment that all wait and the end of the holder.
  int pause_ms = 0;
  /// What returns when all have had their turn, where a queue runs the jobs.
  Command finish;
};

Handover measure(const Workspace& workspace, const Turns& turns);

/// Runs a command to its end, its output dropped: its exit status, -1 if it could not be started.
int run(const Command& command);
/// How long that takes, in ms.
double time_of(const Command& command);

}  // namespace berth::bench
