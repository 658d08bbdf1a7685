// SPDX-License-Identifier: Apache-2.0
// Device memory as programs of a lease see it, by CUDA and by NVML, as it is configured. The device
// has 16 GiB, of which the driver keeps 256 MiB; a context takes 64 MiB.
#include <gmock/gmock.h>

#include <csignal>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kNvmlCaller = BERTH_BUILD_DIR "/bin/tests/nvml_caller";

class GuardNvmlTest : public ::testing::Test {
 protected:
  static World::Options options(const std::string& config) {
    return {.sim = "1x16GiB,context=64MiB,reserved=256MiB", .config = config};
  }
  /// What NVML tells in a lease of 1 GiB, beside a program that has allocated 200 MiB there.
  static std::vector<std::string> told(const World& world, const std::string& route,
                                       const std::string& variable = "",
                                       const std::string& mode = "auto") {
    const std::string script =
        "cd; rm -f said; touch said; vram_user --bytes 200MiB --hold 60s >said & "
        "until grep -q holding said; do sleep 0.02; done; " +
        variable + " " + kNvmlCaller + " " + route + "; kill $!; wait";
    const Output out = world.run(
        {"berth", "run", "-q", "-m", "1G", "--guard-mode", mode, "--", "bash", "-c", script});
    EXPECT_THAT(out.err, Not(HasSubstr("berth-guard:")));
    return lines_of(out.out);
  }
  static std::string told_by_cuda(const World& world) {
    const Output out = world.run({"berth", "run", "-q", "-m", "1G", "--", kCaller, "dlsym"},
                                 "retain 0\ninfo\ntotal 0\n");
    return out.out;
  }
};

TEST_F(GuardNvmlTest, TellsWhatThereIsUnlessConfiguredOtherwise) {
  const World world(options(""));
  // Who is used to read NVML's first function is told of the driver's part as used.
  for (const char* route : {"linked", "dlsym", "default"}) {
    EXPECT_THAT(told(world, route), ElementsAre("0 16384 15864 520", "25 0 16384 256 15864 264"))
        << route;
  }
}

TEST_F(GuardNvmlTest, ShowsTheBudgetsCardWhereThatIsConfigured) {
  const World world(options("policy.report_nvml = \"budget\""));
  for (const char* route : {"linked", "dlsym", "default"}) {
    EXPECT_THAT(told(world, route), ElementsAre("0 1024 760 264", "25 0 1024 0 760 264")) << route;
  }
  EXPECT_THAT(told(world, "linked", "BERTH_DISABLE=1"),
              ElementsAre("0 16384 15864 520", "25 0 16384 256 15864 264"));
  // Outside of a lease.
  const Output outside =
      world.run({"env", "LD_LIBRARY_PATH=" BERTH_BUILD_DIR "/lib/simgpu", kNvmlCaller, "linked"});
  EXPECT_THAT(lines_of(outside.out), ElementsAre("0 16384 16128 256", "25 0 16384 256 16128 0"));
}

constexpr const char* kShown[] = {"0 1024 760 264", "25 0 1024 0 760 264"};
constexpr const char* kThere[] = {"0 16384 15864 520", "25 0 16384 256 15864 264"};

TEST_F(GuardNvmlTest, PastPreloadedLibrariesTheAuditShowsTheBudgetsCardToo) {
  if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  const World world(options("policy.report_nvml = \"budget\""));
  for (const char* route : {"deepbind", "deepbind_now", "dlmopen", "namespace"}) {
    EXPECT_THAT(told(world, route, "", "preload"), ElementsAreArray(kThere)) << route;
    EXPECT_THAT(told(world, route, "", "audit"), ElementsAreArray(kShown)) << route;
    EXPECT_THAT(told(world, route, "BERTH_DISABLE=1", "audit"), ElementsAreArray(kThere)) << route;
  }
  // What leads to the preloaded library leads there under the audit as well.
  for (const char* route : {"linked", "dlsym", "default"}) {
    EXPECT_THAT(told(world, route, "", "audit"), ElementsAreArray(kShown)) << route;
  }
}

TEST_F(GuardNvmlTest, TheAuditChangesNothingUnlessConfiguredOtherwise) {
  if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  const World world(options(""));
  for (const char* route : {"deepbind", "dlmopen", "namespace", "linked"}) {
    EXPECT_THAT(told(world, route, "", "audit"), ElementsAreArray(kThere)) << route;
  }
}

// A handle of one would mean nothing to the other.
TEST_F(GuardNvmlTest, OfTwoInOtherNamespacesTheSecondTellsWhatThereIs) {
  if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  const World world(options("policy.report_nvml = \"budget\""));
  EXPECT_THAT(told(world, "twice", "", "audit"),
              ElementsAre(kShown[0], kShown[1], kThere[0], kThere[1], kShown[0], kShown[1]));
}

// What the program itself holds by a driver elsewhere is counted, whichever NVML is asked.
TEST_F(GuardNvmlTest, AWatcherBesideADriverOfAnotherNamespaceIsShownWhatThatHolds) {
  if (!can_audit()) GTEST_SKIP() << "not in a sanitized build";
  const World world(options("policy.report_nvml = \"budget\""));
  const Output out = world.run(
      {"berth", "run", "-q", "-m", "1G", "--guard-mode", "audit", "--", kNvmlCaller, "beside"});
  EXPECT_THAT(lines_of(out.out), ElementsAreArray(kShown));
  EXPECT_EQ(out.err, "");
}

TEST_F(GuardNvmlTest, AWatcherTakesNoSlotUnlessItIsShownTheBudget) {
  const World world(options(""));
  const Output out =
      world.run({"berth", "run", "-q", "-m", "1G", "--", "bash", "-c",
                 kNvmlCaller + " linked; od -An -t u4 -j 24 -N 4 $BERTH_LEASE_DIR/use"});
  EXPECT_THAT(lines_of(out.out).back(), HasSubstr(" 0"));
}

// One of those may have more than the budget's card holds: nvtop ends itself at that.
TEST_F(GuardNvmlTest, OnTheBudgetsCardAreTheProcessesOfTheLeaseAlone) {
  for (const bool budget : {false, true}) {
    const World world(options(budget ? "policy.report_nvml = \"budget\"" : ""));
    Program neighbour = world.start(
        {"berth", "run", "-q", "-m", "4G", "--", "vram_user", "--bytes", "2GiB", "--hold", "60s"});
    ASSERT_TRUE(neighbour.says("holding"));
    const std::vector<std::string> said = told(world, "processes");
    // NVML's word for a list that is too short, as it is of all processes.
    EXPECT_THAT(said, SizeIs(3));
    for (const std::string& line : said) {
      EXPECT_EQ(line, budget ? "7 0 264" : "7 0 2112 264");
    }
    neighbour.send(SIGTERM);
  }
}

TEST_F(GuardNvmlTest, ThePhysicalSizeIsToldWhereThatIsConfiguredAndNoMoreIsFree) {
  const World world(options("policy.report_total = \"physical\"\npolicy.report_nvml = \"budget\""));
  const std::string total = std::to_string(16384 * kMiB);
  EXPECT_EQ(told_by_cuda(world),
            "0\n0 " + std::to_string(960 * kMiB) + " " + total + "\n0 " + total + "\n");
  EXPECT_THAT(told(world, "dlsym"), ElementsAre("0 16384 760 15624", "25 0 16384 256 760 15368"));
}

TEST_F(GuardNvmlTest, TheBudgetIsTheSizeElse) {
  const World world(options(""));
  const std::string total = std::to_string(1024 * kMiB);
  EXPECT_EQ(told_by_cuda(world),
            "0\n0 " + std::to_string(960 * kMiB) + " " + total + "\n0 " + total + "\n");
}

}  // namespace
}  // namespace berth::e2e
