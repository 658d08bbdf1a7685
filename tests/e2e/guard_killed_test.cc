// SPDX-License-Identifier: Apache-2.0
// Programs of one lease that are killed at random, in namespaces of all kinds, while the driver
// takes its time to free what they had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "guard.h"
#include "random_calls.h"

namespace berth::e2e {
namespace {

constexpr std::uint64_t kBudget = 1024 * kMiB;
constexpr std::uint64_t kContext = 64 * kMiB;

/// How a program comes into a namespace, as a sandbox that needs no rights does it.
const std::vector<std::string> kPlaces = {
    "",
    "unshare --user --map-root-user --pid --fork --kill-child --",
    "unshare --user --map-root-user --pid --fork --mount-proc --kill-child --",
    "unshare --user --map-root-user -T --boottime 100000 --",
};

class GuardKilledTest : public GuardTest {
 protected:
  bool may_make_namespaces() const {
    return world_.run({"sh", "-c", kPlaces[2] + " true && " + kPlaces[3] + " true"}).status == 0;
  }
  /// Programs, two in each kind of namespace, that make random calls until there is a file `stop`.
  std::string script() const {
    std::string text = "cd " + world_.home().string() + "; ";
    for (std::size_t i = 0; i < 2 * kPlaces.size(); ++i) {
      std::mt19937_64 random(i);
      std::ofstream calls(world_.home() / ("calls" + std::to_string(i)));
      calls << "retain 0\nm_reserve space 1073741824\n";
      for (int line = 0; line < 3000; ++line) calls << random_call(random) << "\n";
      text += "while ! test -e stop; do " + kPlaces[i % kPlaces.size()] + " " + kCaller +
              " dlsym <calls" + std::to_string(i) + "; done >/dev/null 2>>said & ";
    }
    // A process that needs the room is given it within 5 seconds or so.
    return text + "wait; touch ended; printf 'retain 0\\nalloc all " +
           std::to_string(kBudget - kContext) + "\\n' | " + kCaller + " dlsym; echo over";
  }
};

TEST_F(GuardKilledTest, InWhateverNamespaceTheyTakeNoMoreThanTheBudgetAndLeaveNothing) {
  if (!may_make_namespaces()) GTEST_SKIP() << "no namespaces for this user";
  world_.run({"berth-simctl", "teardown", "150ms"});
  Program running = world_.start(lease("1G", {"sh", "-c", script()}));
  std::mt19937 random(26);
  std::uint64_t most = 0;
  for (int killed = 0; killed < 80;) {
    // As long as it takes to say that each lives: some find room, and some wait for it.
    for (int look = 0; look < 2; ++look) {
      most = std::max(most, driver()["used_bytes"].get<std::uint64_t>());
    }
    const std::vector<pid_t> found = callers();
    if (!found.empty()) killed += ::kill(found[random() % found.size()], SIGKILL) == 0 ? 1 : 0;
  }
  std::ofstream(world_.home() / "stop") << "";
  kill_what_is_left(running);
  ASSERT_TRUE(running.says("over")) << running.err();
  EXPECT_EQ(running.out(), "0\n0\nover\n");
  EXPECT_LE(driver()["used_max_bytes"], kBudget);
  EXPECT_GT(most, kBudget / 2);  // They had come to something when they were killed.
  std::ifstream said(world_.home() / "said");
  const std::string text{std::istreambuf_iterator<char>(said), {}};
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("berth"))) << "the guard stood aside";
}

}  // namespace
}  // namespace berth::e2e
