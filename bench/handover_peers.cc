// SPDX-License-Identifier: Apache-2.0
// Ways in which people take turns on a GPU today: a lock file that is polled, flock(1),
// task-spooler. The rows of Berth itself are set against these of the same run.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/check.h"
#include "handover.h"
#include "row.h"

namespace berth::bench {
namespace {

std::string words(const Command& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

void print_medians(const std::string& peer, const Handover& result) {
  print(
      {.name = "hand-over, " + peer + ", median", .value = quantile(result.ms, 0.5), .unit = "ms"});
  print({.name = "hand-over, " + peer + ", p99", .value = quantile(result.ms, 0.99), .unit = "ms"});
}

// The habit: `while [ -e LOCK ]; do sleep 0.2; done; touch LOCK; JOB; rm LOCK`. One waiter, and the
// holder ends at all phases of its sleep alike.
void print_lock_file() {
  constexpr int kRounds = 20;
  constexpr int kIntervalMs = 200;
  Handover all;
  for (int round = 0; round < kRounds; ++round) {
    const Workspace workspace;
    const std::string lock = workspace.path("lock");
    const auto in_turn = [&](const Command& job) -> Command {
      return {"bash", "-c",
              "while [ -e " + lock + " ]; do sleep 0.2; done; touch " + lock + "; " + words(job) +
                  "; rm -f " + lock};
    };
    const Handover one = measure(workspace, {.waiters = 1,
                                             .in_turn = in_turn,
                                             .waiting = {},
                                             .pause_ms = round * kIntervalMs / kRounds});
    all.ms.insert(all.ms.end(), one.ms.begin(), one.ms.end());
  }
  print_medians("lock file polled each 200 ms, 1 waiter", all);
}

int blocked_on_locks() {
  std::ifstream file("/proc/locks");
  int blocked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("-> FLOCK") != std::string::npos) ++blocked;
  }
  return blocked;
}

void print_flock(int waiters) {
  const Workspace workspace;
  const int before = blocked_on_locks();
  const auto in_turn = [&](const Command& job) {
    Command command = {"flock", workspace.path("lock")};
    command.insert(command.end(), job.begin(), job.end());
    return command;
  };
  print_medians("flock, " + std::to_string(waiters) + " waiters",
                measure(workspace, {.waiters = waiters, .in_turn = in_turn, .waiting = [&] {
                                      return blocked_on_locks() - before;
                                    }}));
}

void print_task_spooler(int waiters) {
  const Workspace workspace;
  setenv("TS_SOCKET", workspace.path("socket").c_str(), 1);
  setenv("TS_MAXCONN", "2000", 1);
  int queued = 0;
  const auto in_turn = [&](const Command& job) {
    Command command = {"tsp", "-n"};
    command.insert(command.end(), job.begin(), job.end());
    ++queued;
    return command;
  };
  print_medians("task-spooler, " + std::to_string(waiters) + " waiters",
                measure(workspace, {.waiters = waiters,
                                    .in_turn = in_turn,
                                    .waiting = [&] { return queued - 1; },
                                    .finish = {"tsp", "-w"}}));
  run({"tsp", "-K"});
}

bool has_task_spooler() {
  return run({"sh", "-c", "command -v tsp"}) == 0;
}

void print_starts() {
  const Workspace workspace;
  const auto median_of = [](const Command& command) {
    std::vector<double> ms;
    for (int i = 0; i < 200; ++i) ms.push_back(time_of(command));
    return quantile(ms, 0.5);
  };
  const std::string base = "run true";
  print({.name = base, .value = median_of({"true"}), .unit = "ms"});
  print({.name = base + " under flock",
         .value = median_of({"flock", workspace.path("lock"), "true"}),
         .unit = "ms",
         .against = base});
  if (!has_task_spooler()) return;
  setenv("TS_SOCKET", workspace.path("socket").c_str(), 1);
  run({"tsp", "true"});
  print({.name = base + " under task-spooler",
         .value = median_of({"tsp", "-n", "-f", "true"}),
         .unit = "ms",
         .against = base});
  run({"tsp", "-K"});
}

}  // namespace
}  // namespace berth::bench

int main() {
  berth::bench::print_starts();
  berth::bench::print_lock_file();
  berth::bench::print_flock(100);
  berth::bench::print_flock(1000);
  if (berth::bench::has_task_spooler()) {
    berth::bench::print_task_spooler(100);
  } else {
    std::fputs("bench: task-spooler (tsp) is not installed, and not measured\n", stderr);
  }
  return 0;
}
