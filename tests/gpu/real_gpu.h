// SPDX-License-Identifier: Apache-2.0
// Foundation of tests of a real GPU: a fresh world of directories over the driver of this machine,
// and how much of its memory they may take. Where there is no GPU they are skipped, and say so.
// BERTH_GPU_TESTS_ON=simulated is for rehearsals alone (tests/gpu/rehearsal.py, bare_machine): the
// same tests over the simulated driver, which shows that they run and nothing about a GPU.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "e2e/world.h"
#include "gpu/sampler.h"
#include "model/transfer.h"

namespace berth::gpu_tests {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

/// The rehearsal, on no GPU.
bool rehearsing();
/// Empty: there is a GPU here, or this is the rehearsal.
std::string why_not();

/// Empty where it is not set.
std::string environment_of(const char* name);

/// "NAME VALUE" of each line.
using Facts = std::map<std::string, std::string>;
Facts facts_in(const std::string& text);
/// The test fails where it is not among them; 0.
double number_of(const Facts& facts, const std::string& name);
std::uint64_t bytes_of(const Facts& facts, const std::string& name);

/// `berth run` of the command on the first GPU.
std::vector<std::string> in_lease(std::uint64_t budget, const std::string& enforce,
                                  const std::vector<std::string>& command,
                                  const std::string& name = "job");

class RealGpu : public testing::Test {
 protected:
  void SetUp() override;

  e2e::World& world() { return *world_; }
  /// gpu_worker, to its end. The test fails if it fails; it is skipped where the driver has no
  /// such function.
  Facts work(std::vector<std::string> words);
  /// Any command, likewise; it is skipped where that ends with 77, for what it wrote to stderr.
  Facts run(const std::vector<std::string>& command,
            std::chrono::seconds patience = e2e::kPatience);
  /// gpu_worker in a lease of so much.
  Facts work_in_lease(std::uint64_t budget, std::vector<std::string> words,
                      const std::string& enforce = "auto");
  /// gpu_worker that holds so much until its input ends.
  e2e::Program hold(std::uint64_t bytes);

  /// What a test may take at most: half of what is free now, and no more than 8 GiB.
  std::uint64_t most();
  /// For this process: where its NVML and its driver are.
  static gpu::Sampler::Options sampling();
  static std::string driver();
  /// The first device, as NVML has it now.
  DeviceSample look();
  std::uint64_t used() { return look().used.value_or(Bytes{}).value; }
  /// Until the driver has counted so much: it is behind by some milliseconds.
  bool uses(std::uint64_t least, std::uint64_t most);

  /// By berth-mover; the seconds that it took.
  struct Move {
    TransferResult result;
    double seconds = 0;
  };
  Move move(pid_t pid, Direction direction, std::uint64_t bytes);
  /// Whether the driver says there that it moves no memory here, which is no fault of ours.
  static bool refused_by_driver(const std::string& text);

 private:
  std::optional<e2e::World> world_;
};

}  // namespace berth::gpu_tests
