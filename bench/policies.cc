// SPDX-License-Identifier: Apache-2.0
// The coordinator alone: a trace of 8 152 tasks replayed under each policy, how long they waited,
// and what one step costs where ten thousand leases are. The trace is not part of this repository:
// cluster-trace-gpu-v2023 of the Alibaba Cluster Trace Program (Weng et al., USENIX ATC 2023), in
// $BERTH_TRACES or ../shared/traces. Without it tasks of the same shape are drawn.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <queue>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/coordinator.h"
#include "row.h"

namespace berth {
namespace {

using bench::print;
using core::Coordinator;
using core::Effect;
using core::Event;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kDevices = 8;
constexpr Bytes kCapacity = gib(16);
// The trace is of 6 212 GPUs, about 70 of them busy. With shorter tasks eight have as much to do.
constexpr std::int64_t kShorter = 10;
constexpr std::uint32_t kUsers = 16;  // The trace names none: tasks take turns.

struct Task {
  Instant arrives;
  Duration runs;
  Request request;
  std::uint32_t user = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Request request_of(int gpus, int milli, std::string_view qos) {
  Request request;
  request.device_count = static_cast<std::uint32_t>(std::max(1, gpus));
  if (gpus > 1 || milli >= 1000) {
    request.share = Share::kExclusive;
  } else {
    request.vram = {kCapacity.value / 1000 * static_cast<std::uint64_t>(std::max(milli, 20))};
  }
  if (qos == "BE") request.priority = Priority::kLow;
  if (qos == "Guaranteed") request.priority = Priority::kHigh;
  return request;
}

// Columns: name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase,
// creation_time, deletion_time, scheduled_time. Tasks without a GPU are taken as tiny ones.
std::vector<Task> read_trace(const std::string& path) {
  std::vector<Task> tasks;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    cells.resize(11);
    const auto number = [&](std::size_t at) { return std::strtod(cells[at].c_str(), nullptr); };
    const double ran = cells[10].empty() ? 600 : number(9) - number(10);
    tasks.push_back(
        {.arrives = {static_cast<std::int64_t>(number(8)) * seconds(1).ns},
         .runs = Duration{static_cast<std::int64_t>(std::max(ran, 1.0)) * seconds(1).ns / kShorter},
         .request = request_of(static_cast<int>(number(3)), static_cast<int>(number(4)), cells[6]),
         .user = static_cast<std::uint32_t>(tasks.size()) % kUsers});
  }
  std::ranges::stable_sort(tasks, {}, &Task::arrives);
  return tasks;
}

// The same mixture of sizes and a like spread of durations, with the same load.
std::vector<Task> draw_tasks() {
  std::mt19937_64 random(20'230'713);
  std::exponential_distribution<double> gap(1.0 / 320);
  std::lognormal_distribution<double> runs(6.5, 2.0);
  std::vector<Task> tasks;
  double now = 0;
  for (std::uint32_t i = 0; i < 8'152; ++i) {
    const std::uint64_t kind = random() % 1'000;
    const int gpus = kind < 8 ? 8 : 1;
    const int milli = kind < 480 ? 1'000 : static_cast<int>(random() % 19 + 1) * 50;
    now += gap(random);
    const double ran = std::clamp(runs(random), 4.0, 1e6);
    tasks.push_back({.arrives = {static_cast<std::int64_t>(now) * seconds(1).ns},
                     .runs = Duration{static_cast<std::int64_t>(ran) * seconds(1).ns / kShorter},
                     .request = request_of(gpus, milli, kind % 5 < 2 ? "BE" : "LS"),
                     .user = i % kUsers});
  }
  return tasks;
}

Sample sample_of(std::size_t devices) {
  Sample sample;
  for (std::size_t i = 0; i < devices; ++i) {
    sample.devices.push_back({.id = {0xbe, i, false},
                              .index = static_cast<std::uint32_t>(i),
                              .model = "Simulated",
                              .capacity = kCapacity,
                              .used = Bytes{},
                              .figures = {.driver_reserved = Bytes{}},
                              .processes = std::vector<ProcessSample>{}});
  }
  return sample;
}

/// One policy with one list of tasks, from the first to arrive to the last to end.
class Replay {
 public:
  Replay(Order order, const std::vector<Task>& tasks)
      : tasks_(tasks), coordinator_(settings_for(order)) {
    waited_.resize(tasks.size(), -1);
  }

  void run() {
    step(core::Recovered{});
    step(sampled_);
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
  }
  std::uint64_t events() const { return events_; }
  static core::Settings settings_for(Order order) {
    core::Settings settings{.order = order, .reserve = {}};
    settings.limits_default = {.waiting_max = 20'000, .leases_max = 20'000};
    return settings;
  }
  /// Of those that could be granted at all, in seconds.
  std::vector<double> waited() const {
    std::vector<double> known;
    for (const double one : waited_) {
      if (one >= 0) known.push_back(one);
    }
    return known;
  }

 private:
  void step(const Event& event) {
    ++events_;
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
  static Handle handle_of(std::size_t task) { return {1, task}; }
  static Process process_of(std::size_t task) { return {static_cast<std::int32_t>(task) + 2, 1}; }

  void submit(std::size_t task) {
    step(core::Submit{.token = {task},
                      .actor = {.user = {tasks_[task].user}},
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
      waited_[task] = static_cast<double>((now_.instant - tasks_[task].arrives).ns) * 1e-9;
      step(core::Claim{.token = {task},
                       .actor = {.user = {tasks_[task].user}},
                       .handle = handle_of(task),
                       .body = {process_of(task)}});
      ends_.emplace(now_.instant + tasks_[task].runs, task);
    }
  }
  // The driver is asked once for all that end at the same time.
  void end_all_due() {
    while (!ends_.empty() && ends_.top().first == now_.instant) {
      const std::size_t task = ends_.top().second;
      ends_.pop();
      step(core::ReportExit{
          .token = {task}, .actor = {.user = {tasks_[task].user}}, .handle = handle_of(task)});
    }
    Sample& sample = std::get<core::Sampled>(sampled_).sample;
    sample.asked_at = sample.answered_at = now_.instant;
    step(sampled_);
    claim_all();
  }

  const std::vector<Task>& tasks_;
  Coordinator coordinator_;
  core::Now now_;
  Event sampled_ = core::Sampled{sample_of(kDevices)};
  std::uint64_t events_ = 0;
  std::vector<double> waited_;
  std::vector<LeaseId> granted_;
  std::vector<std::size_t> task_of_;  // By lease.
  std::priority_queue<std::pair<Instant, std::size_t>, std::vector<std::pair<Instant, std::size_t>>,
                      std::greater<>>
      ends_;
};

void replay(std::string_view name, Order order, const std::vector<Task>& tasks) {
  double best = 1e9;
  std::uint64_t events = 0;
  std::vector<double> waited;
  for (int round = 0; round < 5; ++round) {
    Replay run(order, tasks);
    const auto start = Clock::now();
    run.run();
    best = std::min(best, seconds_since(start));
    events = run.events();
    waited = run.waited();
  }
  const std::string prefix = "policy replay, " + std::string(name);
  print({.name = prefix,
         .value = static_cast<double>(events) / best,
         .unit = "events/s",
         .against = "",
         .least = 1e6});
  print({.name = prefix + ", all " + std::to_string(tasks.size()) + " tasks",
         .value = best,
         .unit = "s",
         .against = "",
         .limit = 2});
  double sum = 0;
  for (const double one : waited) sum += one;
  const auto row = [&](const char* what, double value) {
    print({.name = "waiting, " + std::string(name) + ", " + what,
           .value = value,
           .unit = "s",
           .against = "waiting, fifo, " + std::string(what)});
  };
  row("mean", sum / static_cast<double>(waited.size()));
  row("median", bench::quantile(waited, 0.5));
  row("95 of 100", bench::quantile(waited, 0.95));
}

// Ten thousand leases are held, or wait for a device that one of them has; one more comes and goes.
void among_ten_thousand(std::string_view name, bool held) {
  constexpr std::uint64_t kLeases = 10'000;
  constexpr std::uint64_t kRounds = 5'000;
  Coordinator coordinator(Replay::settings_for(Order::kFair));
  core::Now now{{1'000'000'000}, {1}};
  (void)coordinator.step(now, core::Recovered{});
  (void)coordinator.step(now, core::Sampled{sample_of(kDevices)});
  std::uint64_t asked = 0;
  const auto ask = [&](const Request& request) {
    ++asked;
    now.instant = now.instant + milliseconds(1);
    (void)coordinator.step(
        now, core::Submit{.token = {asked},
                          .actor = {.user = {static_cast<std::uint32_t>(asked % 100)}},
                          .handle = {2, asked},
                          .supervisor = std::nullopt,
                          .request = request});
  };
  Request small{.vram = mib(300)};
  small.ttl = hours(24);
  Request whole{.share = Share::kExclusive};
  whole.device_count = kDevices;
  if (!held) {
    whole.ttl = hours(24);
    ask(whole);
  }
  while (asked < kLeases) ask(small);
  const auto start = Clock::now();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    ask(small);
    (void)coordinator.step(
        now, core::Cancel{.token = {0}, .actor = {.user = {0}, .admin = true}, .lease = {asked}});
  }
  print({.name = "core::step with 10 000 leases " + std::string(name),
         .value = seconds_since(start) * 1e6 / (2.0 * kRounds),
         .unit = "us",
         .against = "",
         .limit = 20});
}

std::vector<Task> tasks() {
  const char* folder = std::getenv("BERTH_TRACES");
  const std::string path = (folder == nullptr ? std::string("../shared/traces") : folder) +
                           "/openb_pod_list_default.csv";
  std::vector<Task> found = read_trace(path);
  if (found.empty()) {
    (void)std::fprintf(stderr, "policies: no trace at %s: tasks are drawn\n", path.c_str());
    return draw_tasks();
  }
  (void)std::fprintf(stderr, "policies: %zu tasks of %s\n", found.size(), path.c_str());
  return found;
}

}  // namespace
}  // namespace berth

int main() {
  const std::vector<berth::Task> tasks = berth::tasks();
  berth::replay("fifo", berth::Order::kFifo, tasks);
  berth::replay("priority", berth::Order::kPriority, tasks);
  berth::replay("fair", berth::Order::kFair, tasks);
  berth::among_ten_thousand("held", true);
  berth::among_ten_thousand("waiting", false);
}
