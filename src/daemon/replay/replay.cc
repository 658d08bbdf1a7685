// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <variant>

#include "core/coordinator.h"
#include "core/limits.h"

namespace berth::replay {
namespace {

using core::Effect;
using core::Event;

/// One list of tasks, from the first to arrive to the last to end.
class Player {
 public:
  Player(const std::vector<Task>& tasks, const Machine& machine, const core::Settings& settings)
      : tasks_(tasks),
        machine_(machine),
        coordinator_(settings),
        sampled_(core::Sampled{sample_of(machine)}) {
    played_.waited.resize(tasks.size());
  }

  Played play() {
    if (tasks_.empty()) return played_;
    now_.instant = tasks_.front().arrives;
    step(core::Recovered{});
    sample();
    std::size_t next = 0;
    while (next < tasks_.size() || !ends_.empty()) {
      const bool arrival =
          ends_.empty() || (next < tasks_.size() && tasks_[next].arrives <= ends_.top().first);
      now_.instant = arrival ? tasks_[next].arrives : ends_.top().first;
      if (arrival) {
        submit(next++);
      } else {
        end_all_due();
      }
    }
    played_.span = now_.instant - tasks_.front().arrives;
    return std::move(played_);
  }

 private:
  void step(const Event& event) {
    ++played_.events;
    for (const Effect& effect : coordinator_.step(now_, event)) {
      if (const auto* news = std::get_if<core::Notify>(&effect)) {
        if (news->news == core::LeaseEvent::kGranted) granted_.push_back(news->lease);
      } else if (const auto* reply = std::get_if<core::Reply>(&effect)) {
        const auto* view = std::get_if<Boxed<LeaseView>>(&reply->answer);
        const bool offered = view != nullptr && (*view)->state == LeaseState::kHeld;
        if (offered && (*view)->flags.unclaimed) granted_.push_back((*view)->id);
      }
    }
  }
  void sample() {
    Sample& sample = std::get<core::Sampled>(sampled_).sample;
    sample.asked_at = sample.answered_at = now_.instant;
    step(sampled_);
  }
  static Handle handle_of(std::size_t task) { return {1, task}; }
  static Process process_of(std::size_t task) { return {static_cast<std::int32_t>(task) + 2, 1}; }
  core::Actor owner_of(std::size_t task) const { return {.user = tasks_[task].user}; }

  void submit(std::size_t task) {
    step(core::Submit{.token = {task},
                      .actor = owner_of(task),
                      .handle = handle_of(task),
                      .supervisor = std::nullopt,
                      .request = tasks_[task].request});
    // Ids go up by one with each that is not refused.
    const std::optional<LeaseId> id = coordinator_.find(handle_of(task));
    if (id) task_of_.resize(id->value + 1, task);
    claim_all();
  }
  void claim_all() {
    while (!granted_.empty()) {
      const std::size_t task = task_of_.at(granted_.back().value);
      granted_.pop_back();
      played_.waited[task] = now_.instant - tasks_[task].arrives;
      played_.byte_seconds += bytes_of(tasks_[task].request) * seconds_of(tasks_[task].runs);
      step(core::Claim{.token = {task},
                       .actor = owner_of(task),
                       .handle = handle_of(task),
                       .body = {process_of(task)}});
      ends_.emplace(now_.instant + tasks_[task].runs, task);
    }
  }
  double bytes_of(const Request& request) const {
    const bool whole = request.share == Share::kExclusive;
    return static_cast<double>((whole ? machine_.capacity : request.vram).value) *
           request.device_count;
  }
  // The driver is asked once for all that end at the same time.
  void end_all_due() {
    while (!ends_.empty() && ends_.top().first == now_.instant) {
      const std::size_t task = ends_.top().second;
      ends_.pop();
      step(core::ReportExit{.token = {task}, .actor = owner_of(task), .handle = handle_of(task)});
    }
    sample();
    claim_all();
  }

  const std::vector<Task>& tasks_;
  Machine machine_;
  core::Coordinator coordinator_;
  core::Now now_;
  Event sampled_;
  Played played_;
  std::vector<LeaseId> granted_;
  std::vector<std::size_t> task_of_;  // By lease.
  using End = std::pair<Instant, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

void shorten(std::vector<Task>& tasks, std::uint32_t divisor) {
  for (Task& task : tasks) {
    task.runs.ns = std::max<std::int64_t>(task.runs.ns / std::max(divisor, 1U), 1);
  }
}

void tell_times(std::vector<Task>& tasks) {
  for (Task& task : tasks) task.request.eta = task.runs;
}

Sample sample_of(const Machine& machine) {
  Sample sample;
  for (std::uint32_t i = 0; i < machine.devices; ++i) {
    sample.devices.push_back({.id = {0xbe, i, false},
                              .index = i,
                              .model = "Simulated",
                              .capacity = machine.capacity,
                              .used = Bytes{},
                              .figures = {.driver_reserved = Bytes{}},
                              .processes = std::vector<ProcessSample>{}});
  }
  return sample;
}

core::Settings settings_for(Order order) {
  core::Settings settings{.order = order, .reserve = {}};
  settings.limits_default = {.waiting_max = limits::kWaitingMax, .leases_max = limits::kLeasesMax};
  return settings;
}

Played play(const std::vector<Task>& tasks, const Machine& machine,
            const core::Settings& settings) {
  return Player(tasks, machine, settings).play();
}

}  // namespace berth::replay
