// SPDX-License-Identifier: Apache-2.0
// Speed of the daemon as its clients see it, on the simulated driver: request and grant, hand-over
// to the next of many waiters, what ten thousand of them cost, and what the daemon costs at rest.
// One process plays all clients over the library that `berth` uses. Prints one JSON line a figure.
// usage: bench_leases [rest|grant|programs|handover|memory|crowd]...: these parts; all without
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "client/client.h"
#include "handover.h"
#include "os/processes.h"
#include "os/unique_fd.h"
#include "row.h"
#include "wire/lease.h"
#include "wire/request.h"
#include "world.h"

namespace berth {
namespace {

using bench::cpu_seconds;
using bench::end;
using bench::start;
using bench::World;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

RequestBody request_of(Bytes vram) {
  return {.request = {.vram = vram}, .anchor = std::nullopt};
}

wire::LeaseAnswer lease_in(const std::string& body) {
  auto lease = wire::decode_lease(body);
  if (!lease.ok()) std::fprintf(stderr, "bench: %s\n", body.c_str());
  CHECK(lease.ok());
  return *std::move(lease);
}

wire::LeaseAnswer ask(client::Client& client, const client::HttpRequest& question) {
  auto answer = client.connection().ask(question);
  CHECK(answer.ok());
  return lease_in(answer->body);
}

/// One that asks for the whole budget, and what the daemon told it last.
struct Waiter {
  client::Client client;
  Handle handle = {};
  bool granted = false;
};

/// Reads what has arrived. True if the grant was among it.
bool hears_of_grant(Waiter& waiter) {
  while (true) {
    auto received = waiter.client.connection().receive();
    CHECK(received.ok());
    const auto& arrival = *received;
    if (!arrival.has_value()) return waiter.granted;
    if (const auto* answer = std::get_if<client::Answer>(&*arrival)) {
      std::fprintf(stderr, "bench: refused: %s\n", answer->body.c_str());
      std::abort();
    }
    const auto* event = std::get_if<wire::SseEvent>(&*arrival);
    if (event == nullptr) return waiter.granted;  // The stream has ended: nothing follows.
    if (event->event == "lease") waiter.handle = lease_in(event->data).view.handle;
    waiter.granted |= event->event == "granted";
  }
}

/// Many who wait for one device, each with a connection of its own.
class Crowd {
 public:
  Crowd(const World& world, Bytes vram) : world_(world), vram_(vram) {}

  /// One more, known to the daemon when this returns. The first of all is granted: it has to claim
  /// before its offer lapses, so before many others come.
  Waiter& add() {
    waiters_.push_back({.client = world_.connect()});
    Waiter& waiter = waiters_.back();
    CHECK(waiter.client.connection()
              .send({.route = wire::Route::kSubmit, .body = request_of(vram_)})
              .ok());
    const Clock::time_point began = Clock::now();
    while (true) {
      (void)hears_of_grant(waiter);
      if (waiter.handle != Handle{}) break;
      CHECK(milliseconds_since(began) < 10'000);
      pollfd one{waiter.client.connection().descriptor(), POLLIN, 0};
      poll(&one, 1, 100);
    }
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &waiter}};
    CHECK(epoll_ctl(poller_.get(), EPOLL_CTL_ADD, waiter.client.connection().descriptor(),
                    &wanted) == 0);
    return waiter;
  }

  /// Waits until another one is granted, and says which.
  Waiter& next_granted() {
    const Clock::time_point began = Clock::now();
    while (true) {
      CHECK(milliseconds_since(began) < 60'000);
      std::array<epoll_event, 64> heard;
      const int count = epoll_wait(poller_.get(), heard.data(), heard.size(), 1'000);
      for (int i = 0; i < count; ++i) {
        Waiter& waiter = *static_cast<Waiter*>(heard[static_cast<std::size_t>(i)].data.ptr);
        const bool before = waiter.granted;
        if (hears_of_grant(waiter) && !before) return waiter;
      }
    }
  }

 private:
  const World& world_;
  Bytes vram_;
  std::deque<Waiter> waiters_;
  // Not poll(), which looks at each descriptor and takes longer than what is measured here.
  os::UniqueFd poller_{epoll_create1(EPOLL_CLOEXEC)};
};

void claim(Waiter& waiter, pid_t command) {
  const auto process = os::process_state(command);
  CHECK(process.ok());
  const auto lease = ask(waiter.client, {.route = wire::Route::kClaim,
                                         .lease = to_text(waiter.handle),
                                         .body = ClaimBody{process->process}});
  CHECK(lease.view.state == LeaseState::kHeld);
}

/// The holder is killed; how long until the next of the waiters has heard of its grant, in ms.
std::vector<double> hand_over(
    const World& world, std::size_t waiters, std::size_t times,
    const std::function<void()>& while_all_wait = [] {}) {
  Crowd crowd(world, gib(16));
  std::vector<double> delays;
  pid_t command = start({"sleep", "1000"});
  claim(crowd.add(), command);
  for (std::size_t i = 1; i < waiters; ++i) crowd.add();
  while_all_wait();
  for (std::size_t i = 0; i < times; ++i) {
    const Clock::time_point released = Clock::now();
    CHECK(kill(command, SIGKILL) == 0);
    Waiter& next = crowd.next_granted();
    delays.push_back(milliseconds_since(released));
    CHECK(waitpid(command, nullptr, 0) == command);
    command = start({"sleep", "1000"});
    claim(next, command);
  }
  end(command, SIGKILL);
  return delays;
}

/// As above, where the holder uses 8 GiB that the driver frees `teardown` after its end: how long
/// after that the next is granted, in ms. Negative: before, which must never be.
std::vector<double> hand_over_of_memory(const World& world, int teardown_ms, std::size_t times) {
  const pid_t setting =
      start({world.bin() + "/berth-simctl", "teardown", std::to_string(teardown_ms) + "ms"});
  int status = 0;
  CHECK(waitpid(setting, &status, 0) == setting && status == 0);
  Crowd crowd(world, gib(12));
  std::vector<double> delays;
  Waiter* holder = &crowd.add();
  for (std::size_t i = 0; i < times; ++i) {
    const pid_t command =
        start({world.bin() + "/vram_user", "--bytes", "8GiB", "--step", "1GiB", "--hold", "1000s"});
    claim(*holder, command);
    crowd.add();
    poll(nullptr, 0, 1'500);  // It allocates, and the daemon sees it.
    const Clock::time_point killed = Clock::now();
    end(command, SIGKILL);
    holder = &crowd.next_granted();
    delays.push_back(milliseconds_since(killed) - teardown_ms);
  }
  return delays;
}

std::vector<double> request_and_grant(const World& world, std::size_t times) {
  client::Client client = world.connect();
  const client::HttpRequest request{.route = wire::Route::kSubmit, .body = request_of(gib(1))};
  std::vector<double> delays;
  for (std::size_t i = 0; i < times; ++i) {
    const Clock::time_point asked = Clock::now();
    const auto lease = ask(client, request);
    delays.push_back(milliseconds_since(asked) * 1'000);
    CHECK(lease.view.state == LeaseState::kHeld);
    (void)ask(client, {.route = wire::Route::kCancel, .lease = to_text(lease.view.handle)});
  }
  return delays;
}

double resident_mib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  CHECK(false);
}

void measure_rest(const std::string& bin) {
  const World world(bin);
  const double before = cpu_seconds(world.daemon());
  constexpr double kSeconds = 20;
  poll(nullptr, 0, static_cast<int>(kSeconds * 1'000));
  bench::print({.name = "berthd at rest",
                .value = (cpu_seconds(world.daemon()) - before) / kSeconds * 100,
                .unit = "% of a core",
                .limit = 0.1});
  bench::print({.name = "berthd at rest, resident",
                .value = resident_mib(world.daemon()),
                .unit = "MiB",
                .limit = 25});
}

void measure_grant(const std::string& bin) {
  const World world(bin);
  bench::print({.name = "request and grant, p50",
                .value = bench::quantile(request_and_grant(world, 2'000), 0.5),
                .unit = "us",
                .limit = 200});
}

void measure_hand_over(const std::string& bin) {
  const World world(bin);
  const auto delays = hand_over(world, 1'000, 500);
  for (const auto& [name, part] : {std::pair{"p50", 0.5}, std::pair{"p99", 0.99}}) {
    bench::print({.name = std::string("hand-over, 1000 waiters, ") + name,
                  .value = bench::quantile(delays, part),
                  .unit = "ms",
                  .limit = 2});
  }
}

void measure_hand_over_of_memory(const std::string& bin, int teardown_ms) {
  const World world(bin);
  const auto delays = hand_over_of_memory(world, teardown_ms, 10);
  bench::print(
      {.name = "hand-over of 8 GiB, teardown " + std::to_string(teardown_ms) + " ms, longest",
       .value = bench::quantile(delays, 1),
       .unit = "ms after it is free",
       .limit = 20});
  CHECK(bench::quantile(delays, 0) >= 0);
}

void measure_crowd(const std::string& bin) {
  const World world(bin);
  double resident = 0;
  const auto delays =
      hand_over(world, 10'000, 200, [&] { resident = resident_mib(world.daemon()); });
  bench::print({.name = "hand-over, 10000 waiters, p99",
                .value = bench::quantile(delays, 0.99),
                .unit = "ms",
                .limit = 10});
  bench::print({.name = "berthd with 10000 waiters, resident",
                .value = resident,
                .unit = "MiB",
                .limit = 100});
}

/// That all of this runs; nothing is measured.
void try_all(const std::string& bin) {
  const World world(bin);
  CHECK(request_and_grant(world, 10).size() == 10);
  CHECK(hand_over(world, 20, 5).size() == 5);
  CHECK(resident_mib(world.daemon()) > 0 && cpu_seconds(world.daemon()) > 0);
}

/// Whole programs, as a person starts them, beside those of handover_peers.cc.
void measure_programs(const std::string& bin) {
  const World world(bin);
  const bench::Workspace workspace;
  const auto in_turn = [](const bench::Command& job) {
    bench::Command command = {"berth", "run", "-q", "-x", "--"};
    command.insert(command.end(), job.begin(), job.end());
    return command;
  };
  const bench::Handover turns =
      measure(workspace, {.waiters = 100, .in_turn = in_turn, .waiting = {}, .pause_ms = 1'000});
  CHECK(turns.overlaps == 0);
  bench::print({.name = "hand-over, berth run, 100 waiters, median",
                .value = bench::quantile(turns.ms, 0.5),
                .unit = "ms",
                .against = "hand-over, flock, 100 waiters, median",
                .ratio_limit = 2});
  std::vector<double> added;
  for (int i = 0; i < 200; ++i) {
    const double alone = bench::time_of({"true"});
    added.push_back(bench::time_of({"berth", "run", "-q", "-m", "1G", "true"}) - alone);
  }
  bench::print({.name = "run true under berth run, added",
                .value = bench::quantile(added, 0.5),
                .unit = "ms",
                .limit = 10});
}

}  // namespace
}  // namespace berth

int main(int count, char** words) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const std::string bin = std::filesystem::canonical("/proc/self/exe").parent_path();
  const std::vector<std::string_view> parts(words + 1, words + count);
  for (const std::string_view part : parts) {
    constexpr std::array<std::string_view, 7> kParts = {"try",      "rest",   "grant", "programs",
                                                        "handover", "memory", "crowd"};
    CHECK(std::ranges::count(kParts, part) > 0);
  }
  const auto wanted = [&](std::string_view part) {
    return parts.empty() || std::ranges::count(parts, part) > 0;
  };
  if (std::ranges::count(parts, "try") > 0) return berth::try_all(bin), 0;
  if (wanted("rest")) berth::measure_rest(bin);
  if (wanted("grant")) berth::measure_grant(bin);
  if (wanted("programs")) berth::measure_programs(bin);
  if (wanted("handover")) berth::measure_hand_over(bin);
  if (wanted("memory")) {
    for (const int teardown_ms : {0, 50, 500}) berth::measure_hand_over_of_memory(bin, teardown_ms);
  }
  if (wanted("crowd")) berth::measure_crowd(bin);
}
