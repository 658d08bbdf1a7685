// SPDX-License-Identifier: Apache-2.0
// Programs of unusual kinds are held to their budget like any other. Those that cannot be are in
// tests/cli/guard_programs.bats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A sanitizer's run-time looks functions up before all others, and wants to be the first library.
class GuardSanitizerTest : public GuardTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(GuardSanitizerTest, IsHeldToItsBudgetByItselfAndAsAChild) {
  const std::string program = kCaller + "_" + GetParam();
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "made by GCC, and in no sanitized build";
  world_.environment().erase("ASAN_OPTIONS");
  const std::string text = "retain 0\nalloc a 469762048\nalloc b 1\n";
  const Output direct = world_.run(lease("512M", {program, "dlsym"}), text);
  if (direct.err.contains("unexpected memory mapping")) {
    GTEST_SKIP() << "this sanitizer cannot live with as random addresses as this kernel's";
  }
  const Output child = world_.run(lease("512M", {"sh", "-c", program + " dlsym; exit $?"}), text);
  // An audit library leaves no room for what ThreadSanitizer keeps of each thread.
  if (std::string(GetParam()) == "address") mode_ = "audit";
  const Output audited = world_.run(lease("512M", {program, "dlsym"}), text);
  for (const Output& said : {direct, child, audited}) {
    EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "2"));
    EXPECT_THAT(said.err, IsEmpty());
    EXPECT_EQ(said.status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GuardSanitizerTest, ::testing::Values("address", "thread"),
                         [](const auto& name) { return std::string(name.param); });

/// Programs that find the driver past preloaded libraries; GuardRouteTest holds them to everything.
class GuardEscapeTest : public GuardTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  }
  static constexpr const char* kTooMuch = "retain 0\nalloc a 1073741824\n";
};

TEST_P(GuardEscapeTest, IsHeldByTheAuditAndNotByPreloadingAlone) {
  mode_ = "preload";
  EXPECT_THAT(lines_of(calls("512M", GetParam(), kTooMuch).out), ElementsAre("0", "0"));
  mode_ = "audit";
  EXPECT_THAT(lines_of(calls("512M", GetParam(), kTooMuch).out), ElementsAre("0", "2"));
}

TEST_P(GuardEscapeTest, BerthDisableRemovesTheAuditToo) {
  const std::string program = caller_by(GetParam());
  mode_ = "audit";
  const Output said =
      world_.run(lease("512M", {"env", "BERTH_DISABLE=1", program, GetParam()}), kTooMuch);
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0"));
  EXPECT_THAT(said.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(By, GuardEscapeTest,
                         ::testing::Values("deepbind", "deepbind_now", "dlmopen", "namespace"),
                         [](const auto& route) { return std::string(route.param); });

// Each looks its functions up when it first calls them, and they do so at once.
TEST_P(GuardEscapeTest, ThreadsThatComeToTheDriverAtOnceAreHeldTogether) {
  mode_ = "audit";
  for (int round = 0; round < 3; ++round) {
    const Output said = calls("512M", GetParam(), "retain 0\nrace 4 4 5242880\nrelease 0\n");
    EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0"));
    EXPECT_THAT(said.err, IsEmpty());
  }
  EXPECT_LE(driver()["used_max_bytes"], 512 * kMiB);
  EXPECT_GT(driver()["used_max_bytes"], 490 * kMiB);
}

// Before its first call of CUDA, and before it looks a function up: nobody reads it any more.
TEST_F(GuardTest, AProgramThatLosesItsEnvironmentIsHeld) {
  for (const char* mode : {"preload", "audit"}) {
    if (std::string(mode) == "audit" && !can_audit()) continue;
    mode_ = mode;
    const Output said = calls("512M", "dlsym",
                              "lose_environment\nretain 0\nalloc a 1073741824\n"
                              "alloc b 104857600\ntotal 0\n");
    EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "2", "0", "0 536870912")) << mode;
    EXPECT_THAT(said.err, IsEmpty()) << mode;
  }
}

// What a process holds is kept for one driver: that which came first.
TEST_F(GuardTest, OfTwoDriversTheSecondIsNotHeldAndRunsOn) {
  if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  for (const char* route : {"second", "own_later"}) {
    const Output said = calls("512M", route,
                              "retain 0\nalloc a 1073741824\nasync b 1000\nfree a\n"
                              "free_async b\nrelease 0\n");
    EXPECT_THAT(lines_of(said.out), ::testing::Each(::testing::Eq("0"))) << route;
    EXPECT_THAT(said.err, ::testing::HasSubstr("the second is not held to the budget")) << route;
    EXPECT_THAT(lines_of(said.err), ::testing::SizeIs(1)) << route;
  }
}

}  // namespace
}  // namespace berth::e2e
