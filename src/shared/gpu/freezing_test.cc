// SPDX-License-Identifier: Apache-2.0
// On real processes: a shell with children, of which some have left its group.
#include "gpu/freezing.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/processes.h"
#include "os/users.h"

namespace berth::gpu {
namespace {

using Outcome = TransferResult::Outcome;

const UserId kMe = os::own_user();

bool until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A process that waits in `does` until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& does) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      does();
      while (true) ::pause();
    }
    process_ = os::process_state(pid)->process;
  }
  ~Child() {
    for (const Process& below : os::descendants(process_)) ::kill(below.pid, SIGKILL);
    ::kill(process_.pid, SIGKILL);
    ::waitpid(process_.pid, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Process process() const { return process_; }
  /// Itself and what is below it.
  std::vector<Process> all() const {
    std::vector<Process> found = os::descendants(process_);
    found.push_back(process_);
    return found;
  }

 private:
  Process process_;
};

bool is_stopped(Process process) {
  const auto state = os::process_state(process);
  return state.ok() && state->stopped;
}
bool all_stopped(const std::vector<Process>& processes) {
  return until([&] {
    for (const Process& process : processes) {
      if (!is_stopped(process)) return false;
    }
    return true;
  });
}
bool none_stopped(const std::vector<Process>& processes) {
  return until([&] {
    for (const Process& process : processes) {
      if (is_stopped(process)) return false;
    }
    return true;
  });
}

void fork_twice_and_leave_the_group() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() == 0) ::setsid();
  }
}

TEST(Halting, StopsAndContinuesATreeWhateverGroupsItHas) {
  const Child child(fork_twice_and_leave_the_group);
  ASSERT_TRUE(until([&] { return child.all().size() == 3; }));
  const Tree tree{.supervisor = {}, .roots = {child.process()}, .user = kMe};
  EXPECT_EQ(stop_all(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(all_stopped(child.all()));
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped(child.all()));
}

TEST(Halting, TheSupervisorRunsOn) {
  const Child supervisor([] {
    if (::fork() == 0) fork_twice_and_leave_the_group();
  });
  ASSERT_TRUE(until([&] { return supervisor.all().size() == 4; }));
  const Tree tree{.supervisor = supervisor.process(), .roots = {}, .user = kMe};
  EXPECT_EQ(stop_all(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(all_stopped(os::descendants(supervisor.process())));
  EXPECT_FALSE(is_stopped(supervisor.process()));
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped(supervisor.all()));
}

// Not one that makes others all the time escapes.
TEST(Halting, AProgramThatMakesProcessesAllTheTimeIsStoppedWithThemAll) {
  const Child child([] {
    ::signal(SIGCHLD, SIG_IGN);
    while (true) {
      const pid_t made = ::fork();
      if (made == 0) ::_exit(0);
    }
  });
  const Tree tree{.supervisor = {}, .roots = {child.process()}, .user = kMe};
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(stop_all(tree).outcome, Outcome::kDone);
    ASSERT_TRUE(until([&] { return is_stopped(child.process()); }));
    const std::size_t count = child.all().size();
    for (int look = 0; look < 20; ++look) ASSERT_LE(child.all().size(), count);
    ASSERT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  }
}

// More than there are cores, so that each has to wait for its turn to hear of it.
TEST(Halting, WhenItReturnsAllAreStopped) {
  const Child parent([] {
    for (int i = 0; i < 12; ++i) {
      if (::fork() != 0) continue;
      for (volatile bool spins = true; spins;) {
      }
    }
  });
  ASSERT_TRUE(until([&] { return parent.all().size() == 13; }));
  const Tree tree{.supervisor = {}, .roots = {parent.process()}, .user = kMe};
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(stop_all(tree).outcome, Outcome::kDone);
    for (const Process& process : parent.all()) ASSERT_TRUE(is_stopped(process)) << i;
    ASSERT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  }
}

// As in vfork(): no signal reaches it before its child has let it go. Then it is to run.
TEST(Halting, AParentThatWaitsForItsChildInTheKernelGoesOnWithTheOthers) {
  const Child parent([] {
    if (::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) ::pause();
  });
  const auto state = [&] { return os::process_state(parent.process()); };
  ASSERT_TRUE(until([&] { return parent.all().size() == 2 && state()->blocked; }));
  const Tree tree{.supervisor = {}, .roots = {parent.process()}, .user = kMe};
  ASSERT_EQ(stop_all(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(state()->blocked);
  ASSERT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  ::kill(os::descendants(parent.process()).at(0).pid, SIGKILL);
  ASSERT_TRUE(until([&] { return !state()->blocked; }));
  for (int look = 0; look < 200; ++look) ASSERT_FALSE(is_stopped(parent.process()));
}

// Its supervisor continues it with itself, when the shell says so.
TEST(Halting, AJobThatItsShellHasStoppedStaysStopped) {
  const Child supervisor([] {
    if (::fork() != 0) return;
    ::setpgid(0, 0);
    fork_twice_and_leave_the_group();
  });
  ASSERT_TRUE(until([&] { return supervisor.all().size() == 4; }));
  const Tree tree{.supervisor = supervisor.process(), .roots = {}, .user = kMe};
  std::vector<Process> job;
  std::vector<Process> others;
  for (const Process& process : os::descendants(supervisor.process())) {
    const auto state = os::process_state(process);
    ASSERT_TRUE(state.ok());
    (state->parent_pid == supervisor.process().pid ? job : others).push_back(process);
  }
  ASSERT_EQ(stop_all(tree).outcome, Outcome::kDone);
  ASSERT_TRUE(all_stopped(os::descendants(supervisor.process())));
  ::kill(supervisor.process().pid, SIGSTOP);
  ASSERT_TRUE(all_stopped(supervisor.all()));
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped(others));
  EXPECT_TRUE(all_stopped(job));
}

TEST(Halting, WhatIsStoppedRunsMeanwhileAndIsStoppedAgain) {
  const Child stopped([] {});
  const Child running([] {});
  ::kill(stopped.process().pid, SIGSTOP);
  ASSERT_TRUE(all_stopped(stopped.all()));
  {
    const RunningMeanwhile meanwhile(
        {.supervisor = {}, .roots = {stopped.process(), running.process()}, .user = kMe});
    EXPECT_TRUE(none_stopped(stopped.all()));
  }
  EXPECT_TRUE(all_stopped(stopped.all()));
  EXPECT_FALSE(is_stopped(running.process()));
}

// Its parents, the lease's command and `berth run`, have ended while it was stopped.
TEST(Halting, AProcessThatLostTheWayToItsLeaseGoesOnAllTheSame) {
  const auto sleeps_in = [](const char* lease) {
    std::array<const char*, 2> environment = {lease, nullptr};
    ::execle("/bin/sleep", "sleep", "1000", nullptr, environment.data());
  };
  const Child orphan([&] { sleeps_in("BERTH_LEASE_ID=l_its_own"); });
  const Child other([&] { sleeps_in("BERTH_LEASE_ID=l_another"); });
  const auto has_lease = [](const Child& child) {
    const auto lease = os::environment_value(child.process(), "BERTH_LEASE_ID");
    return lease.ok() && lease->has_value();
  };
  ASSERT_TRUE(until([&] { return has_lease(orphan) && has_lease(other); }));
  for (const Child* child : {&orphan, &other}) {
    ::kill(child->process().pid, SIGSTOP);
    ASSERT_TRUE(all_stopped(child->all()));
  }
  const Tree tree{.supervisor = {}, .roots = {}, .user = kMe, .lease = "l_its_own"};
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped(orphan.all()));
  EXPECT_TRUE(all_stopped(other.all()));
}

// Of a lease that was asked for inside of the one that was stopped, and that may be over by now.
TEST(Halting, AProcessThatLostTheWayToALeaseInsideGoesOnWithTheOuterOne) {
  const auto sleeps_in = [](const char* outer) {
    std::array<const char*, 3> environment = {"BERTH_LEASE_ID=l_inner", outer, nullptr};
    ::execle("/bin/sleep", "sleep", "1000", nullptr, environment.data());
  };
  const Child orphan([&] { sleeps_in("BERTH_OUTER_LEASES=4,31,7"); });
  const Child other([&] { sleeps_in("BERTH_OUTER_LEASES=4,310,7"); });
  const auto has_outer = [](const Child& child) {
    const auto outer = os::environment_value(child.process(), "BERTH_OUTER_LEASES");
    return outer.ok() && outer->has_value();
  };
  ASSERT_TRUE(until([&] { return has_outer(orphan) && has_outer(other); }));
  for (const Child* child : {&orphan, &other}) {
    ::kill(child->process().pid, SIGSTOP);
    ASSERT_TRUE(all_stopped(child->all()));
  }
  const Tree tree{.supervisor = {}, .roots = {}, .user = kMe, .lease = "l_outer", .number = {31}};
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped(orphan.all()));
  EXPECT_TRUE(all_stopped(other.all()));
}

constexpr uid_t kOther = 60'002;

/// A child of this user, with one below it that became another, and one below that which is the
/// user's again.
void have_a_child_of_another_user() {
  const bool is_between = ::fork() == 0 && ::fork() != 0;
  const uid_t real_and_saved = is_between ? 0 : kOther - 1;
  (void)::setresuid(real_and_saved, kOther - 1, real_and_saved);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// A daemon of all users may signal them all; the lease's user may not.
TEST(Halting, WhatIsAnotherUsersIsLeftAloneWithAllBelowIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has processes of several users";
  const Child child(have_a_child_of_another_user);
  const auto ids_are = [](Process process, uid_t real, uid_t effective) {
    const auto ids = os::user_ids(process);
    return ids.ok() && ids->real.value == real && ids->effective.value == effective;
  };
  ASSERT_TRUE(until([&] {
    const std::vector<Process> below = os::descendants(child.process());
    return below.size() == 2 && ids_are(child.process(), kOther - 1, kOther - 1) &&
           ids_are(below[0], 0, kOther - 1) && ids_are(below[1], kOther - 1, kOther - 1);
  }));
  const std::vector<Process> below = os::descendants(child.process());
  const Tree tree{.supervisor = {}, .roots = {child.process()}, .user = {kOther - 1}};
  const TransferResult stopped = stop_all(tree);
  EXPECT_EQ(stopped.outcome, Outcome::kDone);
  EXPECT_EQ(stopped.left_alone, std::vector{below[0].pid});
  EXPECT_TRUE(is_stopped(child.process()));
  for (const Process& process : below) EXPECT_FALSE(is_stopped(process));

  ::kill(below[0].pid, SIGSTOP);  // By its own user.
  ASSERT_TRUE(all_stopped({below[0]}));
  EXPECT_EQ(let_all_go_on(tree).outcome, Outcome::kDone);
  EXPECT_TRUE(none_stopped({child.process()}));
  EXPECT_TRUE(is_stopped(below[0]));
  {
    const RunningMeanwhile meanwhile(tree);
    EXPECT_TRUE(is_stopped(below[0]));
  }

  const TransferResult none =
      stop_all({.supervisor = {}, .roots = {below[0]}, .user = {kOther - 1}});
  EXPECT_EQ(none.outcome, Outcome::kUndone);
  EXPECT_NE(none.trouble.find("belongs to another user"), std::string::npos);
}

TEST(Halting, OneThatHasEndedIsNoTrouble) {
  Process gone;
  {
    const Child child([] {});
    gone = child.process();
  }
  EXPECT_EQ(stop_all({.supervisor = gone, .roots = {gone}, .user = kMe}).outcome, Outcome::kDone);
  EXPECT_EQ(let_all_go_on({.supervisor = gone, .roots = {gone}, .user = kMe}).outcome,
            Outcome::kDone);
}

}  // namespace
}  // namespace berth::gpu
