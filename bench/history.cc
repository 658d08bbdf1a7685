// SPDX-License-Identifier: Apache-2.0
// Cost of the history of 90 days: how large it becomes, how long questions about it take, and what
// recording it costs the daemon: processor time of its own part, the thread that writes included.
// Figures are made up: most stay as they are for a while, as memory of programs does, and some
// change all the time.
#include "wire/history.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "history/rollup.h"
#include "row.h"
#include "server/history_readings.h"
#include "server/history_recorder.h"
#include "store/history_file.h"

namespace berth {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr history::Retention kKept = {.second = hours(2),
                                      .minute = hours(std::int64_t{24} * 7),
                                      .hour = hours(std::int64_t{24} * 90),
                                      .size_max = gib(1)};

class Directory {
 public:
  Directory() {
    std::string name = std::filesystem::temp_directory_path() / "berth-bench-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string file() const { return path_ + "/history.db"; }
  double mib_on_disk() const {
    std::uintmax_t size = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) size += entry.file_size();
    return static_cast<double>(size) / static_cast<double>(mib(1).value);
  }

 private:
  std::string path_;
};

DeviceId device(std::uint64_t n) {
  return {.high = 0x5a1c'0d2e'0000'0000, .low = n};
}

/// Of four: one changes with each step, the others now and then.
Bytes made_up(const history::Subject& subject, std::int64_t at) {
  const std::uint64_t seed = subject.device.low * 31 + subject.lease.value * 7 +
                             static_cast<std::uint64_t>(subject.process.pid);
  const std::int64_t calm = seed % 4 == 0 ? 1 : 600;
  const auto phase = static_cast<std::uint64_t>(at / calm) * 2'654'435'761U + seed;
  return {gib(1).value + phase % gib(8).value / 4'096 * 4'096};
}

/// Everything that is to be told of at that time: a lease of two hours on each of two halves of
/// each device, with two processes.
std::vector<history::Subject> subjects_at(std::int64_t at) {
  std::vector<history::Subject> subjects;
  for (std::uint64_t card = 0; card < 4; ++card) {
    for (const auto figure :
         {history::Figure::kUsed, history::Figure::kGranted, history::Figure::kUnmanaged}) {
      subjects.push_back({.device = device(card), .figure = figure});
    }
    for (std::uint64_t half = 0; half < 2; ++half) {
      const auto turn = static_cast<std::uint64_t>(at / 7'200);
      const LeaseId lease{turn * 8 + card * 2 + half + 1};
      const auto pid = static_cast<std::int32_t>(lease.value * 2);
      subjects.push_back({.device = device(card), .lease = lease});
      subjects.push_back(
          {.device = device(card), .lease = lease, .figure = history::Figure::kGranted});
      subjects.push_back({.device = device(card), .lease = lease, .process = {pid, 9}});
      subjects.push_back({.device = device(card), .lease = lease, .process = {pid + 1, 9}});
    }
  }
  return subjects;
}

/// What became of the leases of that day.
std::vector<history::Session> leases_of(std::int64_t day_begins) {
  std::vector<history::Session> leases;
  for (std::int64_t turn = day_begins / 7'200; turn < (day_begins + kDay) / 7'200; ++turn) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      leases.push_back({.id = {static_cast<std::uint64_t>(turn) * 8 + i + 1},
                        .user = {1000},
                        .name = "train",
                        .session = "research/nightly",
                        .devices = 1,
                        .granted = gib(9),
                        .queued = {turn * 7'200'000},
                        .started = {turn * 7'200'000 + 90'000},
                        .ended = UnixMs{(turn + 1) * 7'200'000},
                        .result = EndResult::kOk,
                        .peak = gib(8),
                        .known_ms = 7'110'000,
                        .used_mib_ms = 7'000 * 7'110'000ULL,
                        .unused_mib_ms = 2'000 * 7'110'000ULL});
    }
  }
  return leases;
}

/// One point for each step: only of the last hours are there points for each second.
void fill(store::HistoryFile& file, std::int64_t from, std::int64_t to, std::uint32_t step) {
  constexpr std::int64_t kPointsTogether = 10;
  for (std::int64_t at = from; at < to; at += kPointsTogether * step) {
    std::vector<history::Series> all;
    for (const history::Subject& subject : subjects_at(at)) {
      history::Series series{.subject = subject, .name = "python train.py"};
      for (std::int64_t i = 0; i < kPointsTogether; ++i) {
        const std::int64_t second = at + i * step;
        const Bytes value = made_up(subject, second);
        history::Bucket bucket{.start = second, .known = step, .least = value, .most = value};
        if (step > 1) bucket.most += mib(700);
        bucket.total = value.value * step + (step > 1 ? mib(5'000).value : 0);
        series.buckets.push_back(bucket);
      }
      all.push_back(std::move(series));
    }
    CHECK(file.write(all, {}, {at * 1'000}).ok());
  }
  CHECK(file.prune(kKept, {to * 1'000}).ok());
}

/// Each as a daemon answers it, the text of the answer included.
void measure_questions(store::HistoryFile& file, std::int64_t now) {
  struct Asked {
    const char* what;
    Duration back;
    Duration step;
    std::optional<history::Kind> kind;
  };
  const auto past = [&](const Asked& asked) {
    const UnixMs since{now * 1'000 - asked.back.ns / milliseconds(1).ns};
    const auto found =
        file.read({.since = since, .until = {now * 1'000}, .step = asked.step, .kind = asked.kind},
                  kKept, {now * 1'000});
    CHECK(found.ok() && !found->series.empty());
    return wire::encode_past({*found, {}}).size();
  };
  const auto sessions = [&] {
    const auto found =
        file.sessions({.since = {(now - 30 * kDay) * 1'000}, .until = {now * 1'000}});
    CHECK(found.ok() && found->size() > 30 * 96 - 96);
    return wire::encode_sessions({*found, {}}).size();
  };
  const auto time = [](const std::string& what, const std::function<std::size_t()>& ask) {
    std::vector<double> ms;
    std::size_t bytes = 0;
    for (int i = 0; i < 7; ++i) {
      const auto start = std::chrono::steady_clock::now();
      bytes += ask();
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count());
    }
    CHECK(bytes > 0);
    bench::print({.name = what + ", of 90 days",
                  .value = bench::quantile(ms, 0.5),
                  .unit = "ms",
                  .limit = 500});
  };
  for (const Asked& asked :
       {Asked{"berth history", hours(1), {}, history::Kind::kDevice},
        Asked{"berth history --of all --since 24h", hours(24), {}, std::nullopt},
        Asked{"berth history --since 90d", hours(90L * 24), {}, history::Kind::kDevice},
        Asked{"berth export --since 24h", hours(24), seconds(1), history::Kind::kDevice}}) {
    time(asked.what, [&] { return past(asked); });
  }
  time("berth history --sessions --since 30d", sessions);
}

void measure_size() {
  const Directory directory;
  std::vector<std::string> findings;
  const std::int64_t now = 20'000 * kDay;
  {
    auto file =
        store::HistoryFile::open({.path = directory.file(), .wall = {now * 1'000}}, findings);
    CHECK(file.ok());
    // Each grain is filled as far as it is kept; what lies before is not there any more.
    for (std::int64_t day = 90; day > 7; --day) {
      fill(*file, now - day * kDay, now - (day - 1) * kDay, 3'600);
    }
    for (std::int64_t day = 7; day > 0; --day) {
      const bool last = day == 1;
      fill(*file, now - day * kDay, now - (day - 1) * kDay - (last ? 7'200 : 0), 60);
    }
    fill(*file, now - 7'200, now, 1);
    for (std::int64_t day = 90; day > 0; --day) {
      CHECK(file->write({}, leases_of(now - day * kDay), {now * 1'000}).ok());
    }
    const auto past = file->read({.since = {(now - 90 * kDay) * 1'000},
                                  .until = {now * 1'000},
                                  .step = hours(6),
                                  .kind = history::Kind::kDevice},
                                 kKept, {now * 1'000});
    CHECK(past.ok() && past->series.size() == 12);
    CHECK(past->series.front().buckets.size() >= 359);
    measure_questions(*file, now);
  }
  bench::print({.name = "history, 90 days of 4 devices with 96 leases and 192 processes a day",
                .value = directory.mib_on_disk(),
                .unit = "MiB",
                .limit = 200});
}

double cpu_seconds() {
  timespec at{};
  CHECK(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at) == 0);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
}

Sample sample_at(std::int64_t second) {
  Sample sample;
  for (std::uint64_t card = 0; card < 8; ++card) {
    DeviceSample device_sample{.id = device(card), .capacity = gib(80), .used = gib(40)};
    std::vector<ProcessSample> processes;
    for (std::int32_t i = 0; i < 25; ++i) {
      const Process process{static_cast<std::int32_t>(card) * 100 + i + 1, 7};
      const history::Subject subject{.device = device_sample.id, .process = process};
      processes.push_back({.process = process, .used = made_up(subject, second), .name = "python"});
    }
    device_sample.processes = std::move(processes);
    sample.devices.push_back(std::move(device_sample));
  }
  return sample;
}

void measure_cost() {
  constexpr int kSeconds = 1'200;
  const Directory directory;
  core::Coordinator coordinator(core::Settings{.reserve = {}});
  core::Now now{.instant = {seconds(100).ns}, .wall = {20'000 * kDay * 1'000}};
  (void)coordinator.step(now, core::Recovered{});
  server::HistoryRecorder recorder(
      {.path = directory.file(), .wall = now.wall},
      {.record = true, .retention = kKept, .sample_interval = seconds(1)},
      [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  double coordinators = 0;
  const double begin = cpu_seconds();
  for (int i = 0; i < kSeconds; ++i) {
    Sample sample = sample_at(now.wall.value / 1'000);
    const double before = cpu_seconds();
    (void)coordinator.step(now, core::Sampled{sample});
    coordinators += cpu_seconds() - before;
    recorder.sampled(sample, coordinator, now);
    const bool writes = now.instant >= recorder.next();
    recorder.on_timer(coordinator, now);
    // Ten seconds of it go by here in no time: the thread is waited for, as it need not be else.
    pollfd report{.fd = recorder.descriptor().value_or(-1), .events = POLLIN, .revents = 0};
    if (writes) CHECK(::poll(&report, 1, 10'000) == 1);
    recorder.hear_reports();
    now.instant = now.instant + seconds(1);
    now.wall.value += 1'000;
  }
  recorder.finish(coordinator, now);
  const double all = cpu_seconds() - begin;
  bench::print({.name = "history of 8 devices and 200 processes at 1 Hz, its thread included",
                .value = (all - coordinators) / kSeconds * 100,
                .unit = "% of a core",
                .limit = 0.2});
}

}  // namespace
}  // namespace berth

int main() {
  berth::measure_cost();
  berth::measure_size();
}
