// SPDX-License-Identifier: Apache-2.0
// Each function that the guard stands in front of, by each way to it; ways that lead elsewhere; and
// drivers that are not like those that are known.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "guard.h"
#include "guard/hooked_for_test.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Hook {
  std::string symbol;
  std::string name;
  int since;
};
/// The guard's own table, but for what the simulated driver lacks: it has no events, and captures
/// into new graphs alone.
std::vector<Hook> all_hooks() {
  std::vector<Hook> hooks;
  for (const guard::Hooked& hooked : guard::kHooked) {
    hooks.push_back({.symbol = hooked.symbol, .name = hooked.name, .since = hooked.since});
  }
  std::erase_if(hooks, [](const Hook& hook) {
    return hook.name == "cuEventSynchronize" || hook.name == "cuStreamBeginCaptureToGraph";
  });
  return hooks;
}
const std::vector<Hook> kHooks = all_hooks();
constexpr int kWithQuery = 11030;
constexpr int kWithQueryV2 = 12000;

std::string whose(const Hook& hook) {
  return "whose " + hook.symbol + " " + hook.name + " " + std::to_string(hook.since) + "\n";
}

class GuardTableTest : public GuardTest, public ::testing::WithParamInterface<Cuda> {
 protected:
  GuardTableTest() : GuardTest(GetParam().text) {}

  /// By this way, each function that this driver has is the guard's, and no other is there.
  void expect_all(const std::string& route) const {
    std::string text;
    for (const Hook& hook : kHooks) text += whose(hook);
    const Output said = calls("1G", route, text);
    const std::vector<std::string> lines = lines_of(said.out);
    ASSERT_GT(lines.size(), 70U);
    ASSERT_EQ(lines.size(), kHooks.size()) << route << said.err;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      // Who is linked is so with what the oldest of these drivers has.
      const bool there = kHooks[i].since <= (route == "linked" ? kLinked : GetParam().number);
      EXPECT_EQ(lines[i], there ? "guard" : "none") << kHooks[i].symbol << " by " << route;
    }
    EXPECT_THAT(said.err, IsEmpty());
  }
};

TEST_P(GuardTableTest, EachFunctionIsOursByEachWay) {
  const int cuda = GetParam().number;
  for (const char* route : {"dlsym", "dlvsym", "default"}) expect_all(route);
  if (cuda >= kLinked) expect_all("linked");
  if (cuda >= kWithQuery) expect_all("proc");
  if (cuda >= kWithQueryV2) {
    for (const char* route : {"proc_v2", "proc_self", "proc_legacy"}) expect_all(route);
  }
  if (!can_audit()) return;
  expect_all("dlmopen");
  if (cuda >= kWithQueryV2) expect_all("dlmopen_proc");
}

INSTANTIATE_TEST_SUITE_P(Cudas, GuardTableTest, ::testing::ValuesIn(kCudas),
                         [](const auto& cuda) { return name_of(cuda.param); });

constexpr const char* kTooMuch = "retain 0\nalloc a 1073741824\n";

// A copy that a program brings, with a name of its own; what it is, it says itself (DT_SONAME).
TEST_F(GuardTest, ADriverOfAnotherPathAndNameIsHeldToo) {
  const fs::path own = world_.home() / "own_driver.so";
  fs::copy_file(BERTH_BUILD_DIR "/lib/simgpu/libcuda.so.1", own);
  for (const char* route : {"dlsym", "dlvsym", "proc_self"}) {
    const Output said = world_.run(
        lease("512M", {"env", "CALLER_DRIVER=" + own.string(), kCaller, route}), kTooMuch);
    EXPECT_THAT(lines_of(said.out), ElementsAre("0", "2")) << route << said.err;
  }
}

/// cuGetProcAddress gives addresses that no export has.
class GuardApartTest : public GuardTest, public ::testing::WithParamInterface<const char*> {
 protected:
  GuardApartTest() : GuardTest("12.9,entry_points=apart") {}
};

TEST_P(GuardApartTest, EachFunctionIsHeldWhereverTheDriverHasIt) {
  if (!can_audit() && caller_by(GetParam()) != kCaller) GTEST_SKIP() << "not in a sanitized build";
  const Output held = calls("512M", GetParam(),
                            "retain 0\nalloc a 469762049\nalloc a 469762048\nasync b 1\n"
                            "free a\nasync b 1000\ninfo\n");
  EXPECT_THAT(lines_of(held.out), ElementsAre("0", "2", "0", "2", "0", "0",
                                              "0 " + std::to_string(416 * kMiB) + " 536870912"));
  EXPECT_THAT(held.err, IsEmpty());
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
  std::string text;
  std::size_t there = 0;
  for (const Hook& hook : kHooks) {
    if (hook.since > 12090) continue;
    text += whose(hook);
    ++there;
  }
  const Output said = calls("512M", GetParam(), text);
  EXPECT_THAT(lines_of(said.out), SizeIs(there));
  EXPECT_THAT(lines_of(said.out), Each("guard"));
  EXPECT_THAT(said.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(By, GuardApartTest,
                         ::testing::Values("proc", "proc_v2", "proc_self", "proc_legacy",
                                           "dlmopen_proc"),
                         [](const auto& route) { return std::string(route.param); });

/// A driver that came after this release, with a new version of a function that allocates.
class GuardFutureTest : public GuardTest {
 protected:
  GuardFutureTest() : GuardTest("99.0") { world_.environment()["CALLER_CUDA"] = "99000"; }
};

TEST_F(GuardFutureTest, WhatIsKnownIsHeldUnderADriverThatIsNot) {
  const Output said = calls("512M", "dlsym", kTooMuch);
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "2"));
  EXPECT_THAT(said.err, IsEmpty());
}

TEST_F(GuardFutureTest, WhatIsNotKnownIsPassedThroughAndOneLineSaysSo) {
  const Output said = calls("512M", "proc_v2",
                            "retain 0\nalloc a 1073741824\nalloc b 1073741824\n"
                            "m_create c 1073741824\nfree a\nfree b\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "2", "0", "0"));
  EXPECT_THAT(lines_of(said.err), ElementsAre(HasSubstr("cuMemAlloc that is not known here")));
  EXPECT_EQ(driver()["used_bytes"], 0);
}

/// Two devices, of which a lease may have one or both.
class GuardDevicesTest : public GuardTest {
 protected:
  GuardDevicesTest() : GuardTest("12.9", "2x16GiB") {}

  std::vector<std::string> lease_of(const std::string& devices,
                                    const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"berth", "run", "-q", "-m", "512M", "-g", devices, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  std::uint64_t used_max(std::size_t device) const {
    return json::parse(
        world_.run({"berth-simctl", "show"}).out)["devices"][device]["used_max_bytes"];
  }
};

// The context is of the first, or there is none at all.
TEST_F(GuardDevicesTest, PhysicalMemoryIsChargedWhereItLies) {
  for (const char* context : {"", "retain 0\n"}) {
    const Output said =
        world_.run(lease_of("2", {kCaller, "dlsym"}),
                   std::string(context) + "m_create a 536870912 1\nm_create b 2097152 1\n" +
                       "m_create b 402653184 0\nm_release a\nm_create a 536870912 1\n");
    const std::vector<std::string> lines = lines_of(said.out);
    ASSERT_GE(lines.size(), 5U) << said.err;
    EXPECT_THAT(std::vector<std::string>(lines.end() - 5, lines.end()),
                ElementsAre("0", "2", "0", "0", "0"));
  }
  EXPECT_EQ(used_max(1), 512 * kMiB);
}

// A driver that can make some there would do so: the budget is not asked.
TEST_F(GuardDevicesTest, MemoryOfTheHostIsNotCharged) {
  constexpr const char* kOnTheHost = "m_create a 1073741824 0 2\n";
  const Output said = world_.run(lease_of("2", {kCaller, "dlsym"}),
                                 std::string("retain 0\n") + kOnTheHost + "info\n");
  EXPECT_THAT(lines_of(said.out),
              ElementsAre("0", "801", "0 " + std::to_string(448 * kMiB) + " 536870912"));
}

// What CUDA calls the first device is whichever the environment says.
TEST_F(GuardDevicesTest, ADeviceIsKnownByItsUuidWhateverItsNumberIs) {
  const std::string alone = "retain 0\nalloc a 469762048\nalloc b 1\n";
  EXPECT_THAT(lines_of(world_.run(lease_of("1", {kCaller, "dlsym"}), alone).out),
              ElementsAre("0", "0", "2"));
  Program holder =
      world_.start(lease_of("2", {"env", "CUDA_VISIBLE_DEVICES=1,0", kCaller, "dlsym"}));
  holder.type("retain 0\nalloc a 314572800\ninfo\n");
  ASSERT_TRUE(holder.says(std::to_string(148 * kMiB))) << holder.err();
  // What the daemon reads in the files of the lease, as it does each second.
  const auto charged = [&](std::size_t device) -> std::uint64_t {
    const json lease = json::parse(world_.run({"berth", "show", "2", "--json"}).out);
    const json& bytes = lease["devices"][device]["vram_ledger_bytes"];
    return bytes.is_number() ? bytes.get<std::uint64_t>() : 0;
  };
  const auto patience = std::chrono::steady_clock::now() + 3 * kPatience;
  while (charged(1) == 0) ASSERT_LT(std::chrono::steady_clock::now(), patience);
  EXPECT_EQ(charged(1), 364 * kMiB);
  EXPECT_EQ(charged(0), 0U);
  holder.close_input();
  EXPECT_EQ(holder.wait(), 0);
}

TEST_F(GuardTest, ARefusedCallerHasItsErrnoAndContextAsTheyWere) {
  const Output said = calls("512M", "dlsym",
                            "retain 0\ncuCtxGetCurrent &before\nalloc errno 1073741824\n"
                            "cuCtxGetCurrent &after\nvalue before\nvalue after\n");
  const std::vector<std::string> lines = lines_of(said.out);
  ASSERT_EQ(lines.size(), 6U) << said.err;
  EXPECT_EQ(lines[2], "2 77");
  EXPECT_NE(lines[4], "0");
  EXPECT_EQ(lines[4], lines[5]);
}

TEST_F(GuardTest, MemoryIsFreedFromAnotherContextAndThread) {
  const Output said = calls("512M", "dlsym",
                            "create one\ncreate two\nalloc a 209715200\ncurrent one\n"
                            "free a\nlater b 469762048\njoined\nfree b\ninfo\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "0", "0", "0", "0", "0",
                                              "0 " + std::to_string(448 * kMiB) + " 536870912"));
}

// What it held is held on, and what it finds anew is the same guard.
TEST_F(GuardTest, ADriverThatIsClosedAndOpenedAgainIsHeldAsBefore) {
  for (const char* mode : {"preload", "audit"}) {
    if (std::string(mode) == "audit" && !can_audit()) continue;
    mode_ = mode;
    for (const char* route : {"dlsym", "proc_v2"}) {
      const Output said = calls("512M", route,
                                "reopen\nretain 0\nalloc a 314572800\nreopen\nalloc b 209715200\n"
                                "free a\nalloc b 469762048\nalloc c 1\nreopen\nfree b\ninfo\n");
      EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "0", "2", "0", "0", "2", "0", "0",
                                                  "0 " + std::to_string(448 * kMiB) + " 536870912"))
          << mode << " " << route;
      EXPECT_EQ(said.err, "") << mode << " " << route;
    }
  }
}

}  // namespace
}  // namespace berth::e2e
