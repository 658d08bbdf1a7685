// SPDX-License-Identifier: Apache-2.0
#include "guard/linux.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace berth::guard {
namespace {

pid_t child_that_ended() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

// From here on kill(2) ends this process.
bool forbid_kill() {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Life, IsToldByProc) {
  const Identity ours = own_identity();
  EXPECT_EQ(life_of(ours), Life::kLives);
  EXPECT_EQ(life_of(make_identity(pid_of(ours), start_of(ours) + 1)), Life::kGone);
  const Identity gone = make_identity(static_cast<std::uint64_t>(child_that_ended()), 1);
  EXPECT_NE(life_of(gone), Life::kLives);
  EXPECT_TRUE(has_pid(ours));
}

TEST(Life, IsAskedWithoutASignal) {
  const Identity ours = own_identity();
  const Identity gone = make_identity(static_cast<std::uint64_t>(child_that_ended()), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_kill()) ::_exit(2);
    const bool right = life_of(ours) == Life::kLives && life_of(gone) != Life::kLives;
    ::_exit(right && has_pid(ours) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no filters of calls here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace berth::guard
