// SPDX-License-Identifier: Apache-2.0
#include "cli/top/kin.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/top/tree.h"
#include "os/processes.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kAncestorsMax = 32;
constexpr std::size_t kCommandMax = 300;  // Bytes.

// Each process is looked at once.
class Looks {
 public:
  const os::ProcessState* at(std::int32_t pid) {
    auto found = seen_.find(pid);
    if (found == seen_.end()) {
      Result<os::ProcessState> state = os::process_state(pid);
      found =
          seen_.emplace(pid, state.ok() ? std::optional(*std::move(state)) : std::nullopt).first;
    }
    const std::optional<os::ProcessState>& state = found->second;
    return state ? &*state : nullptr;
  }

 private:
  std::map<std::int32_t, std::optional<os::ProcessState>> seen_;
};

std::string command_of(Process process) {
  const Result<std::vector<std::string>> words = os::command_line(process);
  std::string text;
  if (!words.ok()) return text;
  for (const std::string& word : *words) {
    if (text.size() > kCommandMax) break;
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

using ByPid = std::map<std::int32_t, ProcessFacts*>;

// 0: none of them is above it.
std::int32_t parent_among(const ByPid& all, const os::ProcessState& process, Looks& looks) {
  std::int32_t pid = process.parent_pid;
  for (std::size_t i = 0; i < kAncestorsMax && pid > 1; ++i) {
    if (all.contains(pid)) return pid;
    const os::ProcessState* state = looks.at(pid);
    if (state == nullptr) return 0;
    pid = state->parent_pid;
  }
  return 0;
}

// The same PID namespace as that of the daemon: its pid and start name the same process.
bool is_here(const LeaseView& lease) {
  return lease.command && os::process_state(*lease.command).ok();
}

void complete_one(const LeaseView& lease, const ByPid& all, UserId viewer, Looks& looks) {
  const bool here = is_here(lease);
  for (const auto& [pid, process] : all) {
    const os::ProcessState* state = looks.at(pid);
    const bool is_it =
        state != nullptr && (process->name.empty() ? here : state->name == process->name);
    if (!is_it) continue;
    process->name = state->name;
    process->parent = parent_among(all, *state, looks);
    if (lease.user == viewer) process->command = command_of(state->process);
  }
}

}  // namespace

void complete(std::vector<ProcessFacts>& processes, const std::map<LeaseId, LeaseView>& leases,
              UserId viewer) {
  std::set<std::pair<LeaseId, std::int32_t>> told;
  for (const ProcessFacts& process : processes) told.insert({process.lease, process.pid});
  for (const auto& [id, lease] : leases) {
    for (const Process& process : named_by(lease)) {
      if (!told.insert({id, process.pid}).second) continue;
      processes.push_back({.pid = process.pid, .lease = id});
    }
  }
  std::map<LeaseId, ByPid> by_lease;
  for (ProcessFacts& process : processes) by_lease[process.lease][process.pid] = &process;
  Looks looks;
  for (const auto& [id, all] : by_lease) {
    const auto lease = leases.find(id);
    if (lease != leases.end()) complete_one(lease->second, all, viewer, looks);
  }
}

}  // namespace berth::cli::top
