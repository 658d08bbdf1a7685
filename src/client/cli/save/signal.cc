// SPDX-License-Identifier: Apache-2.0
// By signal, confirmed by files.
#include <glob.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "cli/save/perform.h"
#include "os/clock.h"
#include "os/processes.h"

namespace berth::cli {
namespace {

constexpr int kLookEveryMs = 100;
constexpr Duration kStillFor = seconds(1);

// What a file looked like. Compared and not dated, so that no two clocks need agree.
struct Look {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const Look&, const Look&) = default;
};
using Looks = std::map<std::string, Look>;

Looks look_at(const std::string& pattern) {
  Looks looks;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat file{};
      const char* path = found.gl_pathv[i];
      if (::stat(path, &file) != 0 || !S_ISREG(file.st_mode)) continue;
      looks[path] = {.device = file.st_dev,
                     .inode = file.st_ino,
                     .size = file.st_size,
                     .changed_s = file.st_mtim.tv_sec,
                     .changed_ns = file.st_mtim.tv_nsec};
    }
  }
  ::globfree(&found);
  return looks;
}

// Those that are not as they were, and hold something.
Looks newer(const Looks& before, const Looks& now) {
  Looks changed;
  for (const auto& [path, look] : now) {
    const auto old = before.find(path);
    const bool is_new = old == before.end() || old->second != look;
    if (is_new && look.size > 0) changed.emplace(path, look);
  }
  return changed;
}

Performed wait_for_files(const std::string& pattern, const Looks& before) {
  const os::PosixClock clock;
  Looks last;
  Instant since = clock.now();
  while (true) {
    const Looks changed = newer(before, look_at(pattern));
    const Instant now = clock.now();
    if (changed != last) {
      last = changed;
      since = now;
    } else if (!changed.empty() && now - since >= kStillFor) {
      const std::size_t others = changed.size() - 1;
      const std::string more = others == 0 ? "" : " and " + std::to_string(others) + " more";
      return {.outcome = CheckpointOutcome::kSaved, .detail = changed.begin()->first + more};
    }
    ::poll(nullptr, 0, kLookEveryMs);
  }
}

std::vector<Process> to_ask(const SignalWay& way, Process command) {
  std::vector<Process> processes = {command};
  if (!way.all) return processes;
  // What double-forks stays below our parent; we ourselves are there as well.
  const auto parent = os::process_state(os::self());
  if (!parent.ok()) return processes;
  const auto supervisor = os::process_state(parent->parent_pid);
  if (!supervisor.ok()) return processes;
  for (const Process process : os::descendants(supervisor->process)) {
    if (process != command && process != os::self()) processes.push_back(process);
  }
  return processes;
}

}  // namespace

Performed perform(const SignalWay& way, Process command) {
  const std::string name = signal_name(way.signal);
  const Looks before = way.files.empty() ? Looks{} : look_at(way.files);
  std::size_t asked = 0;
  for (const Process process : to_ask(way, command)) {
    const Result<bool> catches = os::catches(process, way.signal);
    if (!catches.ok() || !*catches) continue;
    if (os::send_signal(process, way.signal).ok()) ++asked;
  }
  if (asked == 0) {
    const bool runs = os::is_alive(command);
    return {.outcome = runs ? CheckpointOutcome::kUncaught : CheckpointOutcome::kFailed,
            .detail = runs ? "process " + std::to_string(command.pid) + " does not catch " + name +
                                 ", and would have died of it"
                           : "the command has ended"};
  }
  if (way.files.empty()) {
    return {.outcome = CheckpointOutcome::kUnconfirmed,
            .detail = name + " was sent, and nothing tells whether it saved: ,file=GLOB would"};
  }
  return wait_for_files(way.files, before);
}

}  // namespace berth::cli
