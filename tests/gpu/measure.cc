// SPDX-License-Identifier: Apache-2.0
// Measures on a real GPU what Berth costs and how fast memory moves, and writes it as JSON to the
// file that BERTH_GPU_FIGURES names, with what BERTH_GPU_FACTS has of this run ("NAME=VALUE" each a
// line). Run by `./dev gpu` after the tests. A figure that cannot be had is null, and says why.
// Each is the best of three, and what is compared is measured in turns.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/checkpoint_calls.h"
#include "gpu/mover.h"
#include "os/clock.h"
#include "os/processes.h"
#include "real_gpu.h"

namespace berth::gpu_tests {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kRounds = 3;

struct Figures {
  Json values = Json::object();
  Json missing = Json::object();
  Json machine = Json::object();
};
Figures& figures() {
  static Figures all;
  return all;
}

void tell(const std::string& name, double value) {
  figures().values[name] = value;
}

class Measure : public RealGpu {
 protected:
  void TearDown() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    const auto& result = *test->result();
    for (int i = 0; i < result.total_part_count(); ++i) {
      const auto& part = result.GetTestPartResult(i);
      if (part.skipped() || part.failed()) figures().missing[test->name()] = part.message();
    }
  }

  /// The least of some rounds of what gpu_worker says, without the guard and with it in turn.
  void compare(const std::string& fact, const std::vector<std::string>& words) {
    const std::uint64_t budget = most() / 2;
    double plain = std::numeric_limits<double>::max();
    double guarded = plain;
    for (int round = 0; round < kRounds; ++round) {
      for (auto [enforce, best] : {std::pair{"none", &plain}, {"guard", &guarded}}) {
        const auto facts = work_in_lease(budget, words, enforce);
        if (IsSkipped() || HasFailure()) return;
        *best = std::min(*best, number_of(facts, fact));
      }
    }
    tell("plain_" + fact, plain);
    tell("guarded_" + fact, guarded);
  }
};

TEST_F(Measure, Device) {
  auto facts = work({"facts"});
  const os::PosixClock clock;
  Json& machine = figures().machine;
  machine["gpu"] = facts["name"];
  machine["gpu_bytes"] = bytes_of(facts, "total");
  machine["cuda_of_driver"] = bytes_of(facts, "cuda");
  machine["driver"] = gpu::Sampler(sampling(), clock).sample().driver_version;
}

TEST_F(Measure, Launches) {
  compare("launch_ns", {"launches", "200000"});
}

TEST_F(Measure, Allocations) {
  compare("allocate_and_free_ns", {"allocations", "2000", std::to_string(32 * kMiB)});
}

TEST_F(Measure, Copies) {
  const auto facts = work({"copies", std::to_string(std::min(most() / 4, kGiB))});
  if (IsSkipped() || HasFailure()) return;
  for (const auto& [name, value] : facts)
    tell("pinned_" + name, std::strtod(value.c_str(), nullptr));
}

double least(double known, double seconds) {
  return known == 0 ? seconds : std::min(known, seconds);
}

// The calls of the driver alone, and as the daemon has it done, by a process that starts first.
TEST_F(Measure, SuspendAndResume) {
  const std::uint64_t bytes = most();
  e2e::Program program = hold(bytes);
  const auto calls = gpu::load_checkpoint_calls(driver());
  if (!calls.ok()) GTEST_SKIP() << calls.error().message;
  const auto state = os::process_state(program.pid());
  ASSERT_TRUE(state.ok());
  const std::vector<Process> processes = {state->process};
  double out = 0;
  double back = 0;
  double out_by_mover = 0;
  double back_by_mover = 0;
  const os::PosixClock clock;
  for (int round = 0; round < kRounds; ++round) {
    const Instant start = clock.now();
    const TransferResult moved = gpu::move_out(**calls, processes, {bytes});
    const Instant middle = clock.now();
    if (refused_by_driver(moved.trouble)) GTEST_SKIP() << moved.trouble;
    ASSERT_EQ(moved.outcome, TransferResult::Outcome::kDone) << moved.trouble;
    const TransferResult restored = gpu::move_back(**calls, processes);
    ASSERT_EQ(restored.outcome, TransferResult::Outcome::kDone) << restored.trouble;
    out = least(out, static_cast<double>(middle.ns - start.ns) / 1e9);
    back = least(back, static_cast<double>(clock.now().ns - middle.ns) / 1e9);

    const Move away = move(program.pid(), Direction::kSwapOut, bytes);
    ASSERT_EQ(away.result.outcome, TransferResult::Outcome::kDone) << away.result.trouble;
    const Move here = move(program.pid(), Direction::kSwapIn, bytes);
    ASSERT_EQ(here.result.outcome, TransferResult::Outcome::kDone) << here.result.trouble;
    out_by_mover = least(out_by_mover, away.seconds);
    back_by_mover = least(back_by_mover, here.seconds);
  }
  program.type("moved\n");
  ASSERT_TRUE(program.says("intact moved")) << program.err();
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  tell("moved_gb", gigabytes);
  tell("suspend_gb_per_s", gigabytes / out);
  tell("resume_gb_per_s", gigabytes / back);
  tell("suspend_by_mover_s", out_by_mover);
  tell("resume_by_mover_s", back_by_mover);
}

TEST_F(Measure, Sampling) {
  constexpr int kSamples = 50;
  const os::PosixClock clock;
  gpu::Sampler sampler(sampling(), clock);
  std::vector<double> milliseconds;
  for (int i = 0; i <= kSamples; ++i) {
    const Instant start = clock.now();
    ASSERT_FALSE(sampler.sample().devices.empty());
    milliseconds.push_back(static_cast<double>(clock.now().ns - start.ns) / 1e6);
  }
  tell("first_sample_ms", milliseconds.front());  // It loads NVML.
  std::sort(milliseconds.begin() + 1, milliseconds.end());
  tell("sample_median_ms", milliseconds[kSamples / 2]);
  tell("sample_slowest_ms", milliseconds.back());
}

bool write_figures(const std::string& path, const std::string& told, double seconds) {
  Json all;
  if (rehearsing()) all["simulated"] = "a rehearsal on the simulated driver: no figures of a GPU";
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string value = line.substr(equals + 1);
    const bool number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    all[line.substr(0, equals)] = number ? Json(std::stoull(value)) : Json(value);
  }
  all["seconds_measuring"] = seconds;
  all.update(figures().machine);
  all["figures"] = figures().values;
  all["missing"] = figures().missing;
  std::ofstream file(path);
  file << all.dump(2) << '\n';
  return file.flush().good();
}

}  // namespace
}  // namespace berth::gpu_tests

// NOLINTNEXTLINE(bugprone-exception-escape): it fails where nothing can be written.
int main(int count, char** arguments) {
  ::testing::InitGoogleMock(&count, arguments);
  const char* const path = std::getenv("BERTH_GPU_FIGURES");
  const char* const told = std::getenv("BERTH_GPU_FACTS");
  if (path == nullptr || told == nullptr || !berth::gpu_tests::why_not().empty()) {
    (void)std::fputs("measure: BERTH_GPU_FIGURES and BERTH_GPU_FACTS, and a GPU, are needed\n",
                     stderr);
    return 69;
  }
  const auto start = std::chrono::steady_clock::now();
  const int result = RUN_ALL_TESTS();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return berth::gpu_tests::write_figures(path, told, took.count()) ? result : 74;
}
