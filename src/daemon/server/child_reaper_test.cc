// SPDX-License-Identifier: Apache-2.0
#include "server/child_reaper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>

namespace berth::server {
namespace {

bool is_reaped(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 &&
         errno == ECHILD;
}

class ChildReaperTest : public testing::Test {
 protected:
  static pid_t child_that_waits() {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (;;) ::pause();
  }

  boost::asio::io_context io;
  ChildReaper reaper{io};
};

TEST_F(ChildReaperTest, OneThatHasEndedIsReapedAtOnce) {
  const pid_t child = child_that_waits();
  (void)::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  reaper.add(child);
  EXPECT_TRUE(is_reaped(child));
  EXPECT_EQ(io.run(), 0U) << "nothing is waited for";
}

TEST_F(ChildReaperTest, OneThatEndsLaterIsReapedWithoutAnotherChance) {
  const pid_t first = child_that_waits();
  const pid_t second = child_that_waits();
  reaper.add(first);
  reaper.add(second);
  EXPECT_FALSE(is_reaped(first));
  (void)io.run_for(std::chrono::milliseconds(30));
  (void)::kill(first, SIGKILL);
  (void)::kill(second, SIGKILL);
  (void)io.run_for(std::chrono::seconds(20));
  EXPECT_TRUE(is_reaped(first));
  EXPECT_TRUE(is_reaped(second));
}

}  // namespace
}  // namespace berth::server
