// SPDX-License-Identifier: Apache-2.0
#include "gpu/freezing.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>

#include "base/number.h"
#include "os/processes.h"

namespace berth::gpu {
namespace {

using os::ProcessState;
using Outcome = TransferResult::Outcome;

// As deep as processes may make others while they are stopped one after another.
constexpr int kRoundsMax = 1'000;
constexpr int kStopsWithinMs = 1'000;

bool has_number(std::string_view list, LeaseId number) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (parse_number<std::uint64_t>(one) == number.value) return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

/// Of the lease, or of one that was asked for inside of it.
bool names_lease(Process process, const Tree& tree) {
  const auto lease = os::environment_value(process, "BERTH_LEASE_ID");
  if (!tree.lease.empty() && lease.ok() && *lease == tree.lease) return true;
  const auto outer = os::environment_value(process, "BERTH_OUTER_LEASES");
  const std::string list = outer.ok() ? outer->value_or("") : "";
  return tree.number.value > 0 && has_number(list, tree.number);
}

struct Members {
  std::vector<ProcessState> states;      // Parents before their children.
  std::vector<std::int32_t> left_alone;  // Pids of others; nothing below them is looked at.
};

Members members_of(const Tree& tree) {
  const std::vector<ProcessState> all = os::all_process_states();
  std::map<std::int32_t, std::vector<const ProcessState*>> children;
  std::map<Process, const ProcessState*> living;
  for (const ProcessState& state : all) {
    children[state.parent_pid].push_back(&state);
    living.emplace(state.process, &state);
  }
  Members found;
  std::set<Process> seen;
  const auto add = [&](const ProcessState& state) {
    if (state.process == tree.supervisor || !seen.insert(state.process).second) return;
    const Status may = os::check_may_signal(tree.user, state.process);
    if (may.ok()) {
      found.states.push_back(state);
    } else if (may.error().code == Errc::kPermission) {
      found.left_alone.push_back(state.process.pid);
    }
  };
  if (tree.supervisor && living.contains(*tree.supervisor)) {
    for (const ProcessState* child : children[tree.supervisor->pid]) add(*child);
  }
  for (const Process& root : tree.roots) {
    if (const auto state = living.find(root); state != living.end()) add(*state->second);
  }
  // What was stopped with those above it, who have ended since, is below nobody any more.
  for (const ProcessState& state : all) {
    if (state.stopped && names_lease(state.process, tree)) add(state);
  }
  for (std::size_t i = 0; i < found.states.size(); ++i) {
    const std::int32_t pid = found.states[i].process.pid;
    for (const ProcessState* child : children[pid]) add(*child);
  }
  return found;
}

// One that has ended meanwhile needs no signal, and one that became another user's gets none.
void send(UserId user, Process process, int signal, std::string& trouble) {
  const Status sent = os::send_signal_for(user, process, signal);
  if (sent.ok() || sent.error().code == Errc::kNotFound) return;
  if (!os::check_may_signal(user, process).ok()) return;
  if (trouble.empty()) {
    trouble = "process " + std::to_string(process.pid) + ": " + sent.error().message;
  }
}

// The group that the shell has stopped together with `berth run`.
std::optional<std::int32_t> group_stopped_by_user(const Tree& tree) {
  if (!tree.supervisor) return std::nullopt;
  const Result<ProcessState> supervisor = os::process_state(*tree.supervisor);
  if (!supervisor.ok() || !supervisor->stopped) return std::nullopt;
  for (const ProcessState& state : members_of(tree).states) {
    if (state.parent_pid == tree.supervisor->pid) return state.group;
  }
  return std::nullopt;
}

std::string continue_all(const Tree& tree) {
  std::string trouble;
  const std::optional<std::int32_t> left = group_stopped_by_user(tree);
  // Children first: a shell among them would take them for jobs that were stopped. What could not
  // be reached is stopped as soon as it can: one that has called vfork() waits for its child so.
  for (const ProcessState& state : members_of(tree).states | std::views::reverse) {
    const bool stops = state.stopped || state.blocked;
    if (stops && state.group != left) send(tree.user, state.process, SIGCONT, trouble);
  }
  return trouble;
}

// A signal is sent before it is heard, and on a busy machine well before. What is blocked comes to
// no instruction of its own before it stops; nor does, in the end, what is not scheduled.
void wait_until_stopped(const Tree& tree) {
  for (int waited_ms = 0; waited_ms < kStopsWithinMs; ++waited_ms) {
    const bool all = std::ranges::all_of(members_of(tree).states, [](const ProcessState& state) {
      return state.stopped || state.blocked || state.ended;
    });
    if (all) return;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

TransferResult others_alone(std::int32_t pid) {
  return {
      .outcome = Outcome::kUndone,
      .trouble = "process " + std::to_string(pid) + " belongs to another user and is left alone"};
}

// A process with a signal to stop makes no other one any more. So when nobody new is found, all
// were told to stop, and nobody is missed.
TransferResult stop_all(const Tree& tree) {
  std::set<Process> answer;
  std::set<std::int32_t> left_alone;
  std::string trouble;
  for (int round = 0; round < kRoundsMax; ++round) {
    const std::size_t before = answer.size();
    const Members members = members_of(tree);
    left_alone.insert(members.left_alone.begin(), members.left_alone.end());
    for (const ProcessState& state : members.states) {
      if (answer.insert(state.process).second && !state.stopped) {
        send(tree.user, state.process, SIGSTOP, trouble);
      }
    }
    if (!trouble.empty()) break;
    if (answer.size() == before) {
      if (answer.empty() && !left_alone.empty()) return others_alone(*left_alone.begin());
      wait_until_stopped(tree);
      return {.left_alone = {left_alone.begin(), left_alone.end()}};
    }
  }
  if (trouble.empty()) trouble = "it makes processes faster than they can be stopped";
  const std::string then = continue_all(tree);
  if (then.empty()) return {.outcome = Outcome::kUndone, .trouble = trouble};
  return {.outcome = Outcome::kStuck, .trouble = trouble + "; then " + then};
}

TransferResult let_all_go_on(const Tree& tree) {
  std::string trouble = continue_all(tree);
  if (trouble.empty()) return {};
  return {.outcome = Outcome::kStuck, .trouble = std::move(trouble)};
}

RunningMeanwhile::RunningMeanwhile(const Tree& tree) : user_(tree.user) {
  std::string ignored;
  for (const ProcessState& state : members_of(tree).states) {
    if (!state.stopped) continue;
    stopped_.push_back(state.process);
  }
  for (const Process& process : stopped_ | std::views::reverse)
    send(user_, process, SIGCONT, ignored);
}

RunningMeanwhile::~RunningMeanwhile() {
  std::string ignored;
  for (const Process& process : stopped_) send(user_, process, SIGSTOP, ignored);
}

}  // namespace berth::gpu
