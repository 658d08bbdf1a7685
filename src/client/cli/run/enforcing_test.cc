// SPDX-License-Identifier: Apache-2.0
#include "cli/run/enforcing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/unique_fd.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr Handle kHeld = {3, 4};

DeviceId gpu(std::uint64_t n) {
  return {0xd0, n, false};
}

// An installation with the guard, the files of a lease on two devices, and no MPS.
class EnforcingTest : public ::testing::Test {
 protected:
  EnforcingTest() {
    std::string pattern = "/tmp/berth-enforcing-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    const std::string lease = directory_ + "/berthd.leases/" + berth::to_text(kHeld);
    for (const std::string& path : {directory_ + "/bin", directory_ + "/lib", lease})
      fs::create_directories(path);
    for (const std::string& path : {guard(), lease + "/limit", lease + "/use"})
      std::ofstream(path) << "x";
    visible_ = {{.device = gpu(1), .index = 0, .granted = gib(8)},
                {.device = gpu(2), .index = 3, .granted = mib(1536)}};
    devices_.resize(2);
    devices_[0].id = gpu(1);
    devices_[1].id = gpu(2);
  }
  ~EnforcingTest() override { fs::remove_all(directory_); }

  std::string guard() const { return directory_ + "/lib/libberth-guard.so"; }
  EnforcementPlan plan(Enforce mode, bool simulated = false) const {
    const GuardLook look = look_for_guard("/bin/sh", directory_ + "/bin/berth");
    return plan_enforcement({.mode = mode,
                             .guard = {.socket = directory_ + "/berthd.sock", .lease = kHeld},
                             .look = look,
                             .visible = visible_,
                             .devices = devices_,
                             .mps_pipes = directory_,
                             .simulated = simulated});
  }
  os::UniqueFd control_daemon() const {
    const std::string path = directory_ + "/control";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, std::begin(address.sun_path));
    os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), where, sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }

  std::string directory_;
  std::vector<LeasePart> visible_;
  std::vector<DeviceView> devices_;
};

TEST_F(EnforcingTest, TheGuardIsUsedIfNothingElseIsSaid) {
  for (const Enforce mode : {Enforce::kAuto, Enforce::kGuard}) {
    const EnforcementPlan made = plan(mode);
    EXPECT_THAT(made.set.at("LD_PRELOAD"), EndsWith(guard()));
    EXPECT_THAT(made.remark, IsEmpty());
    EXPECT_THAT(made.refusal, IsEmpty());
  }
}

TEST_F(EnforcingTest, WhereTheGuardCannotBeUsedAutoMeasuresAndGuardRefuses) {
  fs::remove(guard());
  const EnforcementPlan automatic = plan(Enforce::kAuto);
  EXPECT_THAT(automatic.remark, HasSubstr("not held to its budget: libberth-guard.so"));
  EXPECT_THAT(automatic.remark, EndsWith("; what it uses is measured"));
  EXPECT_THAT(automatic.refusal, IsEmpty());
  EXPECT_THAT(automatic.set, IsEmpty());
  devices_[1].lists_processes = false;
  EXPECT_THAT(plan(Enforce::kAuto).remark, Not(HasSubstr("measured")));
  EXPECT_THAT(plan(Enforce::kGuard).refusal, HasSubstr("libberth-guard.so"));
}

TEST_F(EnforcingTest, ATrustedCommandIsSetNothing) {
  const EnforcementPlan made = plan(Enforce::kNone);
  EXPECT_THAT(made.set, IsEmpty());
  EXPECT_THAT(made.remark + made.refusal, IsEmpty());
}

TEST_F(EnforcingTest, MpsIsToldEachBudgetByTheOrderInWhichTheDevicesAreSeen) {
  EXPECT_THAT(plan(Enforce::kMps).refusal, HasSubstr("nvidia-cuda-mps-control -d"));
  EXPECT_THAT(plan(Enforce::kMps).set, IsEmpty());
  const os::UniqueFd daemon = control_daemon();
  EXPECT_THAT(plan(Enforce::kMps).refusal, IsEmpty());
  EXPECT_THAT(plan(Enforce::kMps).remark, IsEmpty());
  EXPECT_THAT(plan(Enforce::kMps).set,
              UnorderedElementsAre(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=8G,1=1536M")));
  std::ranges::reverse(visible_);
  EXPECT_EQ(plan(Enforce::kMps).set.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=1536M,1=8G");
  EXPECT_THAT(plan(Enforce::kMps, true).remark, HasSubstr("simulated driver has no MPS"));
}

TEST_F(EnforcingTest, TheWatchdogNeedsADriverThatTellsOfEachDevice) {
  EXPECT_THAT(plan(Enforce::kWatchdog).refusal, IsEmpty());  // It may have been asleep.
  devices_[0].lists_processes = true;
  EXPECT_THAT(plan(Enforce::kWatchdog).refusal, IsEmpty());
  EXPECT_THAT(plan(Enforce::kWatchdog).set, IsEmpty());
  devices_[1].lists_processes = false;
  EXPECT_THAT(plan(Enforce::kWatchdog).refusal, HasSubstr("does not tell"));
  visible_.pop_back();
  EXPECT_THAT(plan(Enforce::kWatchdog).refusal, IsEmpty());
}

TEST(OverBudgetPlan, WhatIsSaidComesBeforeWhatIsConfigured) {
  config::Config config = config::built_in(config::Mode::kUser);
  const auto planned = [&](std::optional<OverBudget> said, Enforce mode = Enforce::kAuto) {
    const Result<OverBudget> measure = plan_over_budget(said, config, mode);
    return measure.ok() ? std::string(to_text(*measure)) : measure.error().message;
  };
  EXPECT_EQ(planned(std::nullopt), "notify");
  EXPECT_EQ(planned(OverBudget::kKill), "kill");
  EXPECT_EQ(planned(OverBudget::kFail), "fail");
  EXPECT_EQ(planned(OverBudget::kSuspend), "suspend");
  EXPECT_THAT(planned(OverBudget::kFail, Enforce::kWatchdog), HasSubstr("notify, suspend or kill"));
  EXPECT_THAT(planned(OverBudget::kKill, Enforce::kNone), HasSubstr("trusts the command"));
  EXPECT_THAT(planned(OverBudget::kSuspend, Enforce::kNone),
              HasSubstr("--over-budget suspend does not"));
  config.enforce.over_budget = OverBudget::kKill;
  EXPECT_EQ(planned(std::nullopt), "kill");
  EXPECT_EQ(planned(std::nullopt, Enforce::kNone), "notify");
  EXPECT_EQ(planned(OverBudget::kFail), "fail");
  config.enforce.over_budget = OverBudget::kSuspend;
  EXPECT_EQ(planned(std::nullopt), "suspend");
  EXPECT_EQ(planned(std::nullopt, Enforce::kNone), "notify");
  config.enforce.over_budget = OverBudget::kFail;
  EXPECT_EQ(planned(std::nullopt, Enforce::kWatchdog), "notify");
  EXPECT_EQ(planned(std::nullopt, Enforce::kMps), "fail");
}

}  // namespace
}  // namespace berth::cli
