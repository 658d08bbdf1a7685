// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Handle kLease = {1, 2};

// An installation, and the files of a lease.
class GuardPlanTest : public ::testing::Test {
 protected:
  GuardPlanTest() {
    std::string pattern = "/tmp/berth-guard-plan-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    lease_ = directory_ + "/berthd.leases/" + berth::to_text(kLease);
    for (const std::string& path : {directory_ + "/bin", directory_ + "/lib", lease_})
      fs::create_directories(path);
    for (const std::string& path : {guard(), audit(), lease_ + "/limit", lease_ + "/use"})
      std::ofstream(path) << "x";
  }
  ~GuardPlanTest() override { fs::remove_all(directory_); }

  std::string guard() const { return directory_ + "/lib/libberth-guard.so"; }
  std::string audit() const { return directory_ + "/lib/libberth-audit.so"; }
  GuardPlan plan() const {
    return plan_guard({.socket = directory_ + "/berthd.sock", .lease = kLease},
                      look_for_guard("/bin/sh", directory_ + "/bin/berth"));
  }

  std::string directory_;
  std::string lease_;
};

TEST_F(GuardPlanTest, TellsTheCommandItsLibraryAndItsLease) {
  const GuardPlan made = plan();
  EXPECT_THAT(made.not_held, IsEmpty());
  EXPECT_EQ(made.set.at("BERTH_LEASE_DIR"), lease_);
  EXPECT_THAT(made.set.at("LD_PRELOAD"), ::testing::EndsWith(guard()));
}

TEST_F(GuardPlanTest, WhatIsMissingIsNamedAndNothingIsSet) {
  fs::remove(lease_ + "/use");
  EXPECT_THAT(plan().not_held, HasSubstr(lease_));
  EXPECT_THAT(plan().set, IsEmpty());
  fs::remove(guard());
  EXPECT_THAT(plan().not_held, HasSubstr("libberth-guard.so"));
}

TEST_F(GuardPlanTest, AProgramThatMakesNamespacesIsAuditedUnlessToldOtherwise) {
  GuardLook look = look_for_guard("/bin/sh", directory_ + "/bin/berth");
  ASSERT_TRUE(look.program.ok());
  const auto audited = [&](GuardMode mode) {
    const GuardPlan made = plan_guard({.mode = mode,
                                       .socket = directory_ + "/berthd.sock",
                                       .lease = kLease,
                                       .audited = "/a b.so:" + audit()},
                                      look);
    EXPECT_THAT(made.not_held, IsEmpty());
    EXPECT_TRUE(made.set.contains("LD_PRELOAD"));
    const auto found = made.set.find("LD_AUDIT");
    return found == made.set.end() ? "" : found->second;
  };
  const std::string list = "/a b.so:" + audit();
  EXPECT_EQ(audited(GuardMode::kAuto), "");
  EXPECT_EQ(audited(GuardMode::kAudit), list);
  look.program->makes_namespaces = true;
  EXPECT_EQ(audited(GuardMode::kAuto), list);
  EXPECT_EQ(audited(GuardMode::kPreload), "");
  look.audit.clear();
  EXPECT_EQ(audited(GuardMode::kAuto), "");
  look.audit = audit();
  look.program->checks_threads = true;
  EXPECT_EQ(audited(GuardMode::kAuto), "");
}

TEST_F(GuardPlanTest, WhyThereIsNoAuditIsSaid) {
  fs::remove(audit());
  const GuardInput input{
      .mode = GuardMode::kAudit, .socket = directory_ + "/berthd.sock", .lease = kLease};
  GuardLook look = look_for_guard("/bin/sh", directory_ + "/bin/berth");
  EXPECT_THAT(plan_guard(input, look).not_held, HasSubstr("libberth-audit.so"));
  EXPECT_THAT(plan_guard(input, look).set, IsEmpty());
  look.audit = audit();
  EXPECT_THAT(plan_guard(input, look).not_held, IsEmpty());
  look.program->checks_threads = true;
  EXPECT_THAT(plan_guard(input, look).not_held, HasSubstr("ThreadSanitizer"));
}

TEST_F(GuardPlanTest, WhatTheCommandStartsMayBeOfAddressSanitizer) {
  const auto options = [this](const std::string& given) {
    const GuardInput input{
        .socket = directory_ + "/berthd.sock", .lease = kLease, .asan_options = given};
    return plan_guard(input, look_for_guard("/bin/sh", directory_ + "/bin/berth"))
        .set.at("ASAN_OPTIONS");
  };
  EXPECT_EQ(options(""), "verify_asan_link_order=0");
  EXPECT_EQ(options("exitcode=9"), "exitcode=9:verify_asan_link_order=0");
  EXPECT_EQ(options("verify_asan_link_order=1"), "verify_asan_link_order=1");
}

TEST_F(GuardPlanTest, ItIsToldHowLongToWaitOnlyWhereItMay) {
  const auto told = [this](Duration wait_max) {
    return plan_guard({.socket = directory_ + "/berthd.sock",
                       .lease = kLease,
                       .on_full = on_full_text(wait_max)},
                      look_for_guard("/bin/sh", directory_ + "/bin/berth"))
        .set;
  };
  EXPECT_EQ(told(seconds(30)).at("BERTH_ON_FULL"), "wait=30000ms");
  EXPECT_FALSE(told(Duration{}).contains("BERTH_ON_FULL"));
}

std::string preloaded(const std::string& list) {
  return preload_list(list, "/g.so", [](const std::string& entry) { return entry == "/dlsym.so"; });
}

TEST(PreloadList, OursComesLastAndOnce) {
  EXPECT_EQ(preloaded(""), "/g.so");
  EXPECT_EQ(preloaded("/a.so /b.so"), "/a.so:/b.so:/g.so");
  EXPECT_EQ(preloaded("/g.so:/a.so"), "/a.so:/g.so");
  EXPECT_EQ(preloaded(":/a.so::/a.so:"), "/a.so:/g.so");
}

TEST(PreloadList, OursComesBeforeTheOneThatAnswersForTheDynamicLinker) {
  EXPECT_EQ(preloaded("/a.so:/dlsym.so:/b.so"), "/a.so:/g.so:/dlsym.so:/b.so");
  EXPECT_EQ(preloaded("/dlsym.so:/g.so"), "/g.so:/dlsym.so");
}

TEST_F(GuardPlanTest, AnotherFileOfTheCommandsNameIsLookedAtAgain) {
  const std::string command = directory_ + "/command";
  std::ofstream(command) << "#!/bin/sh\n";
  const GuardLook look = look_for_guard(command, directory_ + "/bin/berth");
  EXPECT_FALSE(is_outdated(look, command));
  std::ofstream(command + ".new") << "#!/bin/sh\n";
  fs::rename(command + ".new", command);
  EXPECT_TRUE(is_outdated(look, command));
  fs::remove(command);
  EXPECT_TRUE(is_outdated(look, command));
}

}  // namespace
}  // namespace berth::cli
