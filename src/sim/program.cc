// SPDX-License-Identifier: Apache-2.0
#include "sim/program.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/checked.h"

namespace berth::sim {
namespace {

constexpr std::size_t kChildrenMax = 4;

}  // namespace

Process Program::start(Process supervisor, Handle lease, const std::vector<LeaseId>& outer,
                       std::function<void(ExitStatus)> ended) {
  lease_ = lease;
  outer_ = outer;
  supervisor_ = supervisor;
  children_.clear();
  runs_ = false;
  command_ = env_.processes.spawn({.parent = supervisor,
                                   .user = user_,
                                   .name = "command",
                                   .lease = lease,
                                   .outer = outer,
                                   .ignores_term = plan_.ignores_term,
                                   .on_end = [this, ended = std::move(ended)](ExitStatus exit) {
                                     command_ended();
                                     ended(exit);
                                   }});
  return command_;
}

void Program::run() {
  if (runs_ || !env_.processes.alive(command_)) return;
  runs_ = true;
  const Process command = command_;
  env_.context.clock.after(plan_.runs_for,
                           [this, command] { env_.processes.end(command, plan_.exit); });
  if (plan_.killed_after) {
    env_.context.clock.after(*plan_.killed_after, [this, command] {
      if (!env_.processes.alive(command)) return;
      env_.context.record_fault(Fault::kCommandKilled);
      env_.processes.end(command, {.code = 0, .signal = SIGKILL});
    });
  }
  plan_next();
}

void Program::signal(std::int32_t signal) {
  for (const Process& child : children_) env_.processes.signal(child, signal);
  env_.processes.signal(command_, signal);
}

void Program::plan_next() {
  env_.context.clock.after(env_.context.random.spread(milliseconds(1), seconds(1)),
                           [this, command = command_] {
                             // That of an earlier run, before it was requeued, does no more.
                             if (command == command_) act();
                           });
}

bool Program::over() const {
  const auto alive = [&](const Process& process) { return env_.processes.alive(process); };
  return !alive(command_) && std::ranges::none_of(children_, alive);
}

void Program::act() {
  if (over()) return;
  plan_next();
  if (env_.finishing) {
    for (const Process& child : children_) env_.processes.end(child, {});
    env_.processes.end(command_, plan_.exit);
    return;
  }
  // What has lost its lease takes nothing more.
  const ReferenceLease* lease = env_.checker.journal().find(lease_);
  if (lease == nullptr || !lease->holds()) return;
  // Its processes wait in the driver.
  if (lease->is_away(ReferenceLease::Away::kSuspended) ||
      lease->is_away(ReferenceLease::Away::kSwappingIn)) {
    return;
  }
  if (env_.checker.journal_is_behind()) return;
  switch (env_.context.random.below(5)) {
    case 0:
      give_back();
      break;
    case 1:
      have_child();
      break;
    default:
      take(*lease);
      break;
  }
}

bool Program::draw_living(Process& chosen) const {
  std::vector<Process> living = children_;
  living.push_back(command_);
  std::erase_if(living, [&](const Process& process) {
    return !env_.processes.alive(process) || env_.processes.is_stopped(process) ||
           env_.devices.is_swapped_out(process);
  });
  if (living.empty()) return false;
  chosen = env_.context.random.pick(living);
  return true;
}

void Program::take(const ReferenceLease& lease) {
  Process process;
  if (!draw_living(process)) return;
  // A process that comes to a device only after the command has ended may find the lease over: by
  // docs/scheduling.md it is an unmanaged process from the first byte on.
  if (!env_.processes.alive(command_) && !env_.devices.lists(process)) return;
  Random& random = env_.context.random;
  const Part& part = random.pick(lease.parts);
  const auto index_known = env_.devices.index_of(part.device);
  const std::size_t index = checked(index_known);
  const Device& device = env_.devices.at(index);
  // By the account of the guard, which counts on what is away.
  const auto left_from = env_.devices.index_of(lease.left_from(part.device));
  const Bytes charged = device.used_by(lease_) + env_.devices.away_of(lease_, checked(left_from));
  const Bytes beyond = may_leak(part.device) ? mib(512) : Bytes{};
  const Bytes room = saturating_sub(part.budget + beyond, charged);
  if (room == Bytes{}) return;
  const Bytes wanted = random.chance(300) ? room : random.between({1}, room);
  const bool is_inside = charged + wanted <= part.budget;
  if (!env_.devices.allocate(process, index, wanted) && is_inside) {
    env_.checker.out_of_memory(index);
  }
}

// Like an unmanaged process, it can take what a lease that comes back was to have: that no lease is
// in the way then is true of those that are held to their budgets.
bool Program::may_leak(DeviceId device) const {
  if (!plan_.leaks) return false;
  const auto& leases = env_.checker.journal().leases();
  return std::ranges::none_of(leases, [&](const auto& entry) {
    const ReferenceLease& lease = entry.second;
    return lease.is_moving() && lease.budget_on(device) > Bytes{};
  });
}

void Program::give_back() {
  Process process;
  if (!draw_living(process)) return;
  const std::size_t index = env_.context.random.below(env_.devices.count());
  const Bytes used = env_.devices.at(index).used_by(process);
  if (used == Bytes{}) return;
  env_.devices.free(process, index, env_.context.random.between({1}, used));
}

void Program::have_child() {
  if (children_.size() >= kChildrenMax || !env_.processes.alive(command_)) return;
  if (env_.processes.is_stopped(command_)) return;
  Process parent = command_;
  const auto spawn = [&](Process below) {
    return env_.processes.spawn({.parent = below,
                                 .user = user_,
                                 .name = "child",
                                 .lease = lease_,
                                 .outer = outer_,
                                 .ignores_term = plan_.ignores_term,
                                 .on_end = {}});
  };
  if (plan_.double_forks) {
    env_.context.record_fault(Fault::kDoubleFork);
    parent = spawn(command_);
  }
  const Process child = spawn(parent);
  if (plan_.double_forks) env_.processes.end(parent, {});
  children_.push_back(child);
  env_.context.clock.after(env_.context.random.spread(milliseconds(1), seconds(20)),
                           [this, child] { env_.processes.end(child, {}); });
}

void Program::command_ended() {
  for (const Process& child : children_) {
    if (!env_.processes.alive(child)) continue;
    if (!plan_.outlives) {
      env_.processes.end(child, {.code = 0, .signal = SIGHUP});
    } else {
      env_.context.record_fault(Fault::kOutlives);
    }
  }
}

}  // namespace berth::sim
