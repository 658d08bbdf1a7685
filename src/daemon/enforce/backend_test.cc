// SPDX-License-Identifier: Apache-2.0
#include "enforce/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/unique_fd.h"

namespace berth::enforce {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BackendTest : public ::testing::Test {
 protected:
  BackendTest() {
    std::string pattern = "/tmp/berth-backend-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~BackendTest() override { fs::remove_all(directory_); }

  // Empty: it could not be made.
  os::UniqueFd listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, std::begin(address.sun_path));
    os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), where, sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }
  MpsFacts::Control control() const { return look_at_mps(directory_).control; }

  std::string directory_;
};

// A machine that has everything.
Facts all() {
  Facts facts{.machine = "x86_64", .libc = "2.36"};
  facts.guard.path = "/lib/libberth-guard.so";
  facts.audit.path = "/lib/libberth-audit.so";
  facts.mps = {.socket = "/tmp/nvidia-mps/control", .control = MpsFacts::Control::kListens};
  facts.driver_lists_processes = true;
  facts.dmem = {.controller = true, .regions = {"drm/0000:03:00.0/vram0"}};
  return facts;
}

Availability look(std::string_view name, const Facts& facts) {
  const auto found = std::ranges::find(backends(), name, &Backend::name);
  EXPECT_NE(found, backends().end()) << name;
  return found->look(facts);
}

TEST(Backends, WhereAllIsThereAllAreAvailable) {
  EXPECT_EQ(backends().size(), 5U);
  for (const Backend& backend : backends()) {
    const Availability found = backend.look(all());
    EXPECT_TRUE(found.available) << backend.name;
    EXPECT_FALSE(found.fact.empty());
    EXPECT_THAT(found.consequence, IsEmpty());
    EXPECT_THAT(found.cure, IsEmpty());
  }
}

TEST(Backends, WhereNothingIsThereEachSaysWhyAndWhatFollows) {
  for (const Backend& backend : backends()) {
    const Availability found = backend.look({});
    EXPECT_FALSE(found.available) << backend.name;
    EXPECT_FALSE(found.fact.empty());
    EXPECT_FALSE(found.consequence.empty());
  }
}

TEST(Backends, WhatIsMissingIsNamed) {
  Facts facts = all();
  facts.guard.path.clear();
  EXPECT_THAT(look("guard", facts).fact, HasSubstr("libberth-guard.so is not installed"));
  facts.guard = {.path = "/lib/x.so", .trouble = "is no library"};
  EXPECT_THAT(look("guard", facts).fact, HasSubstr("/lib/x.so is no library"));
  facts.audit.path.clear();
  EXPECT_THAT(look("audit", facts).fact, HasSubstr("libberth-audit.so is not installed"));
  facts.machine = "aarch64";
  EXPECT_THAT(look("guard", facts).fact, HasSubstr("aarch64"));
  facts.driver_lists_processes = false;
  EXPECT_THAT(look("watchdog", facts).fact, HasSubstr("does not tell"));
  facts.dmem.regions.clear();
  EXPECT_THAT(look("dmem", facts).fact, HasSubstr("no driver"));
}

TEST(Backends, DmemIsNeverClaimedToHoldAnything) {
  EXPECT_THAT(look("dmem", all()).fact, HasSubstr("Berth does not use it yet"));
}

TEST(Backends, MpsIsNamedByWhatIsWrongWithIt) {
  Facts facts = all();
  facts.mps.control = MpsFacts::Control::kMissing;
  EXPECT_THAT(look("mps", facts).fact, HasSubstr("there is no /tmp/nvidia-mps/control"));
  EXPECT_THAT(look("mps", facts).cure, HasSubstr("nvidia-cuda-mps-control -d"));
  facts.mps.control = MpsFacts::Control::kGone;
  EXPECT_THAT(look("mps", facts).fact, HasSubstr("nobody listens"));
  facts.mps.control = MpsFacts::Control::kForbidden;
  EXPECT_THAT(look("mps", facts).fact, HasSubstr("not for this user"));
}

TEST_F(BackendTest, ALibraryIsFoundBesideTheProgramAndLookedInto) {
  const std::string own = directory_ + "/bin/berth";
  fs::create_directories(directory_ + "/lib");
  EXPECT_THAT(look_at_library(own, kGuardLibrary).path, IsEmpty());
  const std::string path = directory_ + "/lib/libberth-guard.so";
  std::ofstream(path) << "no library";
  EXPECT_EQ(look_at_library(own, kGuardLibrary).path, path);
  EXPECT_EQ(look_at_library(own, kGuardLibrary).trouble, "is no library");
  fs::copy_file("/proc/self/exe", path, fs::copy_options::overwrite_existing);
  EXPECT_THAT(look_at_library(own, kGuardLibrary).trouble, IsEmpty());
}

TEST_F(BackendTest, MpsIsThereWhileItsDaemonListens) {
  using Control = MpsFacts::Control;
  EXPECT_EQ(control(), Control::kMissing);
  {
    const os::UniqueFd daemon = listen_at(directory_ + "/control");
    EXPECT_EQ(control(), Control::kListens);
    // It was not disturbed: nobody stands in its queue.
    EXPECT_LT(::accept4(daemon.get(), nullptr, nullptr, SOCK_CLOEXEC), 0)
        << "the daemon was connected to";
  }
  EXPECT_EQ(control(), Control::kGone);
  fs::remove(directory_ + "/control");
  std::ofstream(directory_ + "/control") << "x";
  EXPECT_EQ(control(), Control::kGone);
}

TEST(Mps, WithoutAVariableItIsLookedForWhereItIsByDefault) {
  EXPECT_EQ(look_at_mps("").socket, "/tmp/nvidia-mps/control");
  EXPECT_EQ(look_at_mps("/run/mps").socket, "/run/mps/control");
}

TEST(Mps, LimitsAreInWholeUnitsAndNeverAboveTheBudget) {
  constexpr std::array kTwo = {gib(8), mib(1536)};
  EXPECT_EQ(mps_limits(kTwo), "0=8G,1=1536M");
  constexpr std::array kOdd = {Bytes{gib(2).value - 1}};
  EXPECT_EQ(mps_limits(kOdd), "0=2047M");
  EXPECT_EQ(mps_limits({}), "");
}

TEST_F(BackendTest, DmemIsAWordAmongTheControllersAndItsRegionsALineEach) {
  EXPECT_FALSE(look_at_dmem(directory_).controller);
  std::ofstream(directory_ + "/cgroup.controllers") << "cpuset cpu io notdmem pids\n";
  EXPECT_FALSE(look_at_dmem(directory_).controller);
  std::ofstream(directory_ + "/cgroup.controllers") << "cpuset cpu io pids dmem\n";
  EXPECT_TRUE(look_at_dmem(directory_).controller);
  EXPECT_THAT(look_at_dmem(directory_).regions, IsEmpty());
  std::ofstream(directory_ + "/dmem.capacity")
      << "drm/0000:03:00.0/vram0 8514437120\ndrm/0000:03:00.0/stolen 67108864\n";
  EXPECT_THAT(look_at_dmem(directory_).regions,
              ElementsAre("drm/0000:03:00.0/vram0", "drm/0000:03:00.0/stolen"));
}

}  // namespace
}  // namespace berth::enforce
