// SPDX-License-Identifier: Apache-2.0
#include "guard/linux.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include "guard/stat_line.h"

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

// On one processor with us, and only when nobody else wants it: so it is killed some time before
// it runs its last.
class KilledTest : public ::testing::Test {
 protected:
  KilledTest() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    pinned_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  void SetUp() override {
    if (!pinned_) GTEST_SKIP() << "no processor of its own here";
  }
  ~KilledTest() override { ::sched_setaffinity(0, sizeof before_, &before_); }

  /// What is seen of a child that was killed and is not gone yet. run() is what it does: it writes
  /// a byte into the pipe that it is given, and stays.
  static Life life_once_killed(void (*run)(int)) {
    Life seen = Life::kGone;  // Where another one took our turn just then.
    for (int i = 0; i < 20 && seen == Life::kGone; ++i) seen = life_right_after_kill(run);
    return seen;
  }
  static Life life_right_after_kill(void (*run)(int)) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      run(ready[1]);
      ::_exit(1);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    for (const int end : ready) ::close(end);
    const Identity identity =
        make_identity(static_cast<std::uint64_t>(child), facts_of(child).start_ticks);
    EXPECT_EQ(life_of(identity), Life::kLives);
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    const Life seen = life_of(identity);
    while (life_of(identity) != Life::kGone) std::this_thread::yield();
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return seen;
  }
  static ProcessFacts facts_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    ProcessFacts facts;
    EXPECT_TRUE(parse_stat(text.c_str(), facts));
    return facts;
  }
  static void wait_for_ever(int ready) {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE, &none);
    if (::write(ready, "", 1) != 1) return;
    while (true) ::pause();
  }
  static void wait_without_first_thread(int ready) {
    const std::jthread other([ready] {
      while (facts_of(::getpid()).state != 'Z') std::this_thread::yield();
      wait_for_ever(ready);
    });
    ::syscall(SYS_exit, 0);  // Of this thread alone: it never comes to join the other.
  }

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

TEST_F(KilledTest, IsEndingUntilItIsGone) {
  EXPECT_EQ(life_once_killed(&wait_for_ever), Life::kEnding);
}

TEST_F(KilledTest, IsEndingAlsoWhereItsFirstThreadEndedBefore) {
  EXPECT_EQ(life_once_killed(&wait_without_first_thread), Life::kEnding);
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
