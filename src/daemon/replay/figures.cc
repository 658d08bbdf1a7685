// SPDX-License-Identifier: Apache-2.0
#include "replay/figures.h"

#include <algorithm>
#include <map>

namespace berth::replay {
namespace {

struct Went {
  std::vector<Duration> waited;
  std::vector<double> slowed;

  void add(const Task& task, Duration wait) {
    waited.push_back(wait);
    const double base = seconds_of(std::max(task.runs, kSlowdownLeast));
    slowed.push_back(std::max(seconds_of(wait + task.runs) / base, 1.0));
  }
};

/// Sorted values: the one below which `percent` of them lie.
template <class T>
T quantile(const std::vector<T>& sorted, std::size_t percent) {
  if (sorted.empty()) return T{};
  return sorted[std::min(sorted.size() * percent / 100, sorted.size() - 1)];
}

Waits waits_of(Went went) {
  std::ranges::sort(went.waited);
  std::ranges::sort(went.slowed);
  Waits waits{.tasks = went.waited.size(),
              .median = quantile(went.waited, 50),
              .p95 = quantile(went.waited, 95),
              .p99 = quantile(went.waited, 99),
              .slowdown_p95 = quantile(went.slowed, 95)};
  if (waits.tasks == 0) return waits;
  double waited = 0;
  for (const Duration one : went.waited) waited += static_cast<double>(one.ns);
  for (const double one : went.slowed) waits.slowdown_mean += one;
  const auto count = static_cast<double>(waits.tasks);
  waits.mean = {static_cast<std::int64_t>(waited / count)};
  waits.slowdown_mean /= count;
  return waits;
}

}  // namespace

Figures figures_of(Order order, const std::vector<Task>& tasks, const Machine& machine,
                   const Played& played) {
  Figures figures{.order = order, .span = played.span};
  Went all;
  std::map<Priority, Went, std::greater<>> classes;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Went& of_class = classes[tasks[i].request.priority];
    const std::optional<Duration> waited = played.waited[i];
    if (!waited) {
      ++figures.refused;
      continue;
    }
    all.add(tasks[i], *waited);
    of_class.add(tasks[i], *waited);
  }
  figures.all = waits_of(std::move(all));
  for (auto& [priority, went] : classes) {
    figures.classes.push_back({priority, waits_of(std::move(went))});
  }
  const double span = seconds_of(played.span);
  if (span <= 0) return figures;
  const double room = static_cast<double>(machine.capacity.value) * machine.devices;
  figures.memory_part = room > 0 ? played.byte_seconds / (room * span) : 0;
  figures.tasks_per_hour = static_cast<double>(figures.all.tasks) / span * 3'600;
  return figures;
}

}  // namespace berth::replay
