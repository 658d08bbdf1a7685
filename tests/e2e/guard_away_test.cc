// SPDX-License-Identifier: Apache-2.0
// Processes of a lease that come to CUDA while the lease is suspended: they wait, by every way they
// come, and nobody else does.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "guard.h"

namespace berth::e2e {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

class GuardAwayTest : public GuardTest {
 protected:
  // One that has memory, and a second one in the same lease that has none yet.
  GuardAwayTest() : program_(world_.start(lease("2G", {caller_by("dlsym"), "dlsym"}))) {
    make("retain 0\nalloc a 419430400\nchild\n");
    EXPECT_EQ(world_.run({"berth", "pause", "1"}).status, 0);
  }
  void make(const std::string& text) {
    program_.type(text);
    for (const std::string& line : lines_of(text)) ASSERT_TRUE(program_.says_next("\n")) << line;
  }
  json shown() const { return json::parse(world_.run({"berth", "show", "1", "--json"}).out); }
  // Until the driver was asked twice more: what a process could do by then is done.
  void look_twice() const {
    for (int i = 0; i < 2; ++i) {
      (void)world_.run({"berth", "status", "--json"});
      const auto patience = steady_clock::now() + kPatience;
      const auto age = [&] {
        return json::parse(
                   world_.run({"berth", "status", "--json"}).out)["devices"][0]["sample_age_ms"]
            .get<std::int64_t>();
      };
      std::int64_t last = age();
      while (age() >= last) {
        ASSERT_LT(steady_clock::now(), patience);
        last = age();
      }
    }
  }

  Program program_;
};

TEST_F(GuardAwayTest, TheFirstUseOfCudaWhileTheLeaseIsSuspendedWaitsUntilItIsBack) {
  program_.type("tell retain 0\n");
  look_twice();
  EXPECT_EQ(driver()["used_bytes"], 0) << "it has made a context";
  EXPECT_EQ(world_.run({"berth", "resume", "1"}).status, 0);
  EXPECT_TRUE(program_.says_next("0\n")) << program_.out();
  EXPECT_EQ(driver()["used_bytes"], (64 + 400 + 64) * kMiB);
}

TEST_F(GuardAwayTest, ItDoesNotWaitForALeaseThatHasEnded) {
  program_.type("tell retain 0\n");
  look_twice();
  EXPECT_EQ(world_.run({"berth", "release", "--detach", "1"}).status, 0);
  EXPECT_TRUE(program_.says_next("0\n")) << program_.out();
}

}  // namespace
}  // namespace berth::e2e
