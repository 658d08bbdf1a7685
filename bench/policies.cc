// SPDX-License-Identifier: Apache-2.0
// The coordinator alone: a trace of 7 064 tasks replayed under each policy (src/daemon/replay), how
// long they waited, and what one step costs where ten thousand leases are. The trace is not part of
// this repository: cluster-trace-gpu-v2023 of the Alibaba Cluster Trace Program (Weng et al.,
// USENIX ATC 2023), in $BERTH_TRACES or ../shared/traces. Without it tasks of the same shape are
// drawn.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "core/coordinator.h"
#include "replay/figures.h"
#include "replay/replay.h"
#include "replay/trace.h"
#include "row.h"

namespace berth {
namespace {

using bench::print;
using core::Coordinator;
using replay::Task;
using Clock = std::chrono::steady_clock;

constexpr replay::Machine kMachine;
// The trace is of 6 212 GPUs, about 70 of them busy. With shorter tasks eight have as much to do.
constexpr std::uint32_t kShorter = 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The same mixture of sizes and a like spread of durations, with the same load, as a trace.
std::string drawn_trace() {
  std::mt19937_64 random(20'230'713);
  std::exponential_distribution<double> gap(1.0 / 320);
  std::lognormal_distribution<double> runs(6.5, 2.0);
  std::ostringstream text;
  text << "num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\n" << std::fixed;
  double now = 0;
  for (std::uint32_t i = 0; i < 7'064; ++i) {
    const std::uint64_t kind = random() % 1'000;
    const int gpus = kind < 8 ? 8 : 1;
    const int milli = kind < 480 ? 1'000 : static_cast<int>(random() % 19 + 1) * 50;
    now += gap(random);
    const double ran = std::clamp(runs(random), 4.0, 1e6);
    text << gpus << ',' << milli << ',' << (kind % 5 < 2 ? "BE" : "LS") << ',' << now << ','
         << now + ran << ',' << now << '\n';
  }
  return text.str();
}

void measure(std::string_view name, Order order, const std::vector<Task>& tasks) {
  double best = 1e9;
  replay::Played played;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    played = replay::play(tasks, kMachine, replay::settings_for(order));
    best = std::min(best, seconds_since(start));
  }
  const std::string prefix = "policy replay, " + std::string(name);
  print({.name = prefix,
         .value = static_cast<double>(played.events) / best,
         .unit = "events/s",
         .against = "",
         .least = 1e6});
  print({.name = prefix + ", all " + std::to_string(tasks.size()) + " tasks",
         .value = best,
         .unit = "s",
         .against = "",
         .limit = 2});
  const replay::Figures figures = replay::figures_of(order, tasks, kMachine, played);
  const auto row = [&](const char* what, Duration value) {
    print({.name = "waiting, " + std::string(name) + ", " + what,
           .value = static_cast<double>(value.ns) * 1e-9,
           .unit = "s",
           .against = "waiting, fifo, " + std::string(what)});
  };
  row("mean", figures.all.mean);
  row("median", figures.all.median);
  row("95 of 100", figures.all.p95);
}

// Ten thousand leases are held, or wait for a device that one of them has; one more comes and goes.
void among_ten_thousand(std::string_view name, bool held, Order order = Order::kFair) {
  constexpr std::uint64_t kLeases = 10'000;
  constexpr std::uint64_t kRounds = 5'000;
  Coordinator coordinator(replay::settings_for(order));
  core::Now now{{1'000'000'000}, {1}};
  (void)coordinator.step(now, core::Recovered{});
  (void)coordinator.step(now, core::Sampled{replay::sample_of(kMachine)});
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
  whole.device_count = kMachine.devices;
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
  std::ostringstream text;
  if (std::ifstream file(path); file) text << file.rdbuf();
  Result<std::vector<Task>> found = replay::parse_trace(text.str(), kMachine.capacity);
  if (!found.ok()) {
    (void)std::fprintf(stderr, "policies: no trace at %s (%s): tasks are drawn\n", path.c_str(),
                       found.error().message.c_str());
    found = replay::parse_trace(drawn_trace(), kMachine.capacity);
  }
  replay::shorten(*found, kShorter);
  return *std::move(found);
}

}  // namespace
}  // namespace berth

int main() {
  const std::vector<berth::Task> tasks = berth::tasks();
  for (const std::string_view name : berth::texts_of<berth::Order>()) {
    const std::optional<berth::Order> order = berth::parse_word<berth::Order>(name);
    berth::measure(name, berth::checked(order), tasks);
  }
  berth::among_ten_thousand("held", true);
  berth::among_ten_thousand("waiting", false);
  berth::among_ten_thousand("waiting by value", false, berth::Order::kValue);
}
