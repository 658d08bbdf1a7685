// SPDX-License-Identifier: Apache-2.0
#include "real_gpu.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "gpu/mover.h"
#include "gpu/mover_task.h"
#include "os/clock.h"
#include "os/processes.h"
#include "os/users.h"

namespace berth::gpu_tests {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSkip = 77;  // Of gpu_worker and torch_user.py.
const std::string kSimulatedDriver = BERTH_BUILD_DIR "/lib/simgpu";

void skip(const std::string& reason) {
  GTEST_SKIP() << reason;
}

}  // namespace

bool rehearsing() {
  return environment_of("BERTH_GPU_TESTS_ON") == "simulated";
}

std::string why_not() {
  if (rehearsing() || fs::exists("/dev/dxg")) return "";
  for (const auto& entry : fs::directory_iterator("/dev")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("nvidia") && name.find_first_of("0123456789") == 6) return "";
  }
  return "no GPU here: neither /dev/nvidia0 or another nor /dev/dxg";
}

std::string environment_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Facts facts_in(const std::string& text) {
  Facts facts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) facts[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return facts;
}

double number_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  EXPECT_NE(found, facts.end()) << "'" << name << "' was not told";
  return found == facts.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

std::uint64_t bytes_of(const Facts& facts, const std::string& name) {
  return static_cast<std::uint64_t>(number_of(facts, name));  // All are below 2^53.
}

std::vector<std::string> in_lease(std::uint64_t budget, const std::string& enforce,
                                  const std::vector<std::string>& command,
                                  const std::string& name) {
  std::vector<std::string> words = {
      "berth",     "run",   "-q", "-n", name, "-g", "0,", "-m", std::to_string(budget / kMiB) + "M",
      "--enforce", enforce, "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

void RealGpu::SetUp() {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << reason;
  world_.emplace(e2e::World::Options{.sim = "1x16GiB,cuda=13.0,context=64MiB",
                                     .config = rehearsing() ? "[gpu]\ncontext = \"64MiB\"\n" : ""});
  auto& environment = world_->environment();
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  std::string path = environment_of("LD_LIBRARY_PATH");
  if (rehearsing()) {
    path = kSimulatedDriver + "/cuda-13.0:" + kSimulatedDriver + (path.empty() ? "" : ":" + path);
    for (const char* name : {"BERTH_SIM", "BERTH_SIM_NAME", "BERTH_RUNTIME_DIR"})
      ::setenv(name, environment[name].c_str(), 1);
  } else {
    environment.erase("BERTH_SIM");
    environment.erase("BERTH_SIM_NAME");
  }
  if (!path.empty()) environment["LD_LIBRARY_PATH"] = path;
}

Facts RealGpu::run(const std::vector<std::string>& command, std::chrono::seconds patience) {
  const e2e::Output output = world_->run(command, {}, patience);
  if (output.status == kSkip) {
    skip(output.err);
    return {};
  }
  EXPECT_EQ(output.status, 0) << output.out << output.err;
  return facts_in(output.out);
}

Facts RealGpu::work(std::vector<std::string> words) {
  words.insert(words.begin(), "gpu_worker");
  return run(words);
}

Facts RealGpu::work_in_lease(std::uint64_t budget, std::vector<std::string> words,
                             const std::string& enforce) {
  words.insert(words.begin(), "gpu_worker");
  return run(in_lease(budget, enforce, words));
}

e2e::Program RealGpu::hold(std::uint64_t bytes) {
  e2e::Program program = world_->start({"gpu_worker", "hold", std::to_string(bytes)});
  EXPECT_TRUE(program.says("holding")) << program.err();
  return program;
}

std::uint64_t RealGpu::most() {
  if (rehearsing()) return 512 * kMiB;  // What is written is memory of this machine.
  const std::uint64_t half = bytes_of(work({"facts"}), "free") / 2;
  return std::min(half, 8 * kGiB) / (64 * kMiB) * (64 * kMiB);
}

gpu::Sampler::Options RealGpu::sampling() {
  gpu::Sampler::Options options{.simulated = rehearsing()};
  if (rehearsing()) options.library = kSimulatedDriver + "/libnvidia-ml.so.1";
  return options;
}

std::string RealGpu::driver() {
  return rehearsing() ? kSimulatedDriver + "/cuda-13.0/libcuda.so.1" : "libcuda.so.1";
}

DeviceSample RealGpu::look() {
  const os::PosixClock clock;
  const Sample sample = gpu::Sampler(sampling(), clock).sample();
  EXPECT_FALSE(sample.devices.empty()) << sample.trouble;
  return sample.devices.empty() ? DeviceSample{} : sample.devices.front();
}

bool RealGpu::uses(std::uint64_t least, std::uint64_t most) {
  const auto end = SteadyClock::now() + e2e::kPatience;
  for (;;) {
    const std::uint64_t now = used();
    if (now >= least && now <= most) return true;
    if (SteadyClock::now() > end) {
      ADD_FAILURE() << now << " bytes are used, not between " << least << " and " << most;
      return false;
    }
    (void)::poll(nullptr, 0, 50);
  }
}

RealGpu::Move RealGpu::move(pid_t pid, Direction direction, std::uint64_t bytes) {
  const auto state = os::process_state(pid);
  EXPECT_TRUE(state.ok());
  if (!state.ok()) return {};
  const std::string task = gpu::encode_mover_task({.directory = world_->directory(),
                                                   .lease = {1},
                                                   .user = os::own_user(),
                                                   .direction = direction,
                                                   .bytes = {bytes},
                                                   .processes = {state->process}});
  const auto start = SteadyClock::now();
  e2e::Program mover = world_->start({"berth-mover"});
  mover.type(task);
  EXPECT_EQ(mover.wait(), 0) << mover.err();
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  const std::string line = mover.out().substr(0, mover.out().find('\n'));
  const auto result = gpu::decode_move_result(line);
  EXPECT_TRUE(result.ok()) << "berth-mover said: " << mover.out();
  return {
      .result = result.ok() ? *result : TransferResult{.outcome = TransferResult::Outcome::kStuck},
      .seconds = seconds};
}

bool RealGpu::refused_by_driver(const std::string& text) {
  return text.find("NOT_SUPPORTED") != std::string::npos ||
         text.find("cannot move memory to the host; one of CUDA") != std::string::npos;
}

}  // namespace berth::gpu_tests
