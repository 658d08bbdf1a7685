// SPDX-License-Identifier: Apache-2.0
#include "sim/processes.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/limits.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kTickNs = 10'000'000;  // 100 a second, as Linux has it.

}  // namespace

std::int32_t Processes::draw_pid(std::uint64_t start_ticks) {
  if (!reusable_.empty() && context_.random.chance(reuse_per_mille_)) {
    const std::int32_t pid = reusable_.back();
    reusable_.pop_back();
    // Within one tick pid and start time would name both.
    if (!bodies_.contains(pid) && last_start_[pid] < start_ticks) {
      context_.record_fault(Fault::kPidReused);
      return pid;
    }
  }
  return ++last_pid_;
}

Process Processes::spawn(Birth birth) {
  const auto start_ticks = static_cast<std::uint64_t>(context_.clock.instant().ns / kTickNs);
  const Process process{.pid = draw_pid(start_ticks), .start_ticks = start_ticks};
  context_.note("process {} {} starts below {}", process.pid, birth.name, birth.parent.pid);
  bodies_.emplace(process.pid, Body{.start_ticks = start_ticks, .birth = std::move(birth)});
  return process;
}

void Processes::end(Process process, ExitStatus exit) {
  if (!alive(process)) return;
  if (is_stopped(process) && exit.signal != SIGKILL) {
    bodies_.at(process.pid).pending = exit;
    return;
  }
  context_.note("process {} ends, code {} signal {}", process.pid, exit.code, exit.signal);
  const auto body = bodies_.extract(process.pid);
  const Birth& birth = body.mapped().birth;
  last_start_[process.pid] = process.start_ticks;
  orphan_children_of(process, birth.parent);
  for (const Hook& hook : hooks_) hook(process);
  if (birth.on_end) birth.on_end(exit);
}

void Processes::orphan_children_of(Process process, Process parent) {
  while (true) {
    const Birth* above = find(parent);
    if (above == nullptr) parent = {};
    if (above == nullptr || above->subreaper) break;
    parent = above->parent;
  }
  for (auto& [pid, body] : bodies_) {
    if (body.birth.parent == process) body.birth.parent = parent;
  }
}

void Processes::signal(Process process, std::int32_t signal) {
  const Birth* birth = find(process);
  if (birth == nullptr) return;
  if (signal != SIGKILL && birth->ignores_term) {
    context_.record_fault(Fault::kIgnoresTerm);
    return;
  }
  context_.clock.after(context_.random.spread({10'000}, milliseconds(50)),
                       [this, process, signal] { end(process, {.code = 0, .signal = signal}); });
}

void Processes::stop(Process process) {
  if (alive(process)) bodies_.at(process.pid).stopped = true;
}

void Processes::go_on(Process process) {
  if (!is_stopped(process)) return;
  Body& body = bodies_.at(process.pid);
  body.stopped = false;
  if (const auto pending = std::exchange(body.pending, {})) end(process, *pending);
}

bool Processes::is_stopped(Process process) const {
  return alive(process) && bodies_.at(process.pid).stopped;
}

void Processes::power_cut() {
  bodies_.clear();
  reusable_.clear();
  last_start_.clear();
  // Pids go on: what was planned for a process of this boot must not find one of the next, whose
  // ticks begin anew.
}

const Processes::Birth* Processes::find(Process process) const {
  const auto body = bodies_.find(process.pid);
  const bool same = body != bodies_.end() && body->second.start_ticks == process.start_ticks;
  return same ? &body->second.birth : nullptr;
}

std::optional<Process> Processes::with_pid(std::int32_t pid) const {
  const auto body = bodies_.find(pid);
  if (body == bodies_.end()) return std::nullopt;
  return Process{.pid = pid, .start_ticks = body->second.start_ticks};
}

std::vector<Process> Processes::ancestors(Process process) const {
  std::vector<Process> above;
  for (const Birth* birth = find(process);
       birth != nullptr && alive(birth->parent) && above.size() < limits::kAncestorsMax;
       birth = find(birth->parent)) {
    above.push_back(birth->parent);
  }
  return above;
}

std::vector<Process> Processes::descendants(Process process) const {
  std::vector<Process> below;
  for (const auto& [pid, body] : bodies_) {
    const Process candidate{.pid = pid, .start_ticks = body.start_ticks};
    const std::vector<Process> above = ancestors(candidate);
    if (std::ranges::find(above, process) != above.end()) below.push_back(candidate);
  }
  return below;
}

std::vector<Process> Processes::of_lease(Handle lease, LeaseId id) const {
  std::vector<Process> found;
  for (const auto& [pid, body] : bodies_) {
    const std::vector<LeaseId>& outer = body.birth.outer;
    const bool is_inside = std::ranges::find(outer, id) != outer.end();
    if (body.birth.lease == lease || is_inside)
      found.push_back({.pid = pid, .start_ticks = body.start_ticks});
  }
  return found;
}

}  // namespace berth::sim
