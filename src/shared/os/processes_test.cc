// SPDX-License-Identifier: Apache-2.0
#include "os/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "os/machine.h"

namespace berth::os {
namespace {

// A child that does what it is told, says so, and then lives until it is dropped.
class Child {
 public:
  explicit Child(const std::function<void()>& prepare = [] {}) {
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    EXPECT_EQ(::pipe2(up.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(down.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(down[1]);
      prepare();
      char byte = 1;
      if (::write(up[1], &byte, 1) != 1) ::_exit(1);
      (void)!::read(down[0], &byte, 1);
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    hold_ = UniqueFd(down[1]);
    char byte = 0;
    EXPECT_EQ(::read(up[0], &byte, 1), 1);
    ::close(up[0]);
    process = process_state(pid_)->process;
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void become_zombie() {
    hold_ = UniqueFd();
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT), 0);
  }
  void end() {
    hold_ = UniqueFd();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  Process process;

 private:
  pid_t pid_ = 0;
  UniqueFd hold_;
};

bool is_readable(const UniqueFd& fd) {
  pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

TEST(Processes, NameThatLooksLikeTheRestOfTheLineMisleadsNobody) {
  const Child child([] { ::prctl(PR_SET_NAME, "a) Z 1 (b) R"); });
  const Result<ProcessState> state = process_state(child.process.pid);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->name, "a) Z 1 (b) R");
  EXPECT_EQ(state->parent_pid, ::getpid());
  EXPECT_FALSE(state->ended);
  EXPECT_EQ(state->session, ::getsid(0));
}

TEST(Processes, LinesThatTheKernelDoesNotWriteAreRefused) {
  const std::string good =
      "7 (x) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0 18446744073709551615\n";
  ASSERT_TRUE(parse_process_state(good).ok());
  EXPECT_EQ(parse_process_state(good)->process, (Process{.pid = 7, .start_ticks = 12345}));
  for (std::size_t length = 0; length < good.find("12345"); ++length) {
    EXPECT_FALSE(parse_process_state(good.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(parse_process_state(") (").ok());
  EXPECT_FALSE(parse_process_state("-7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12 0").ok());
  EXPECT_FALSE(parse_process_state("x (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12 0").ok());
  EXPECT_FALSE(parse_process_state("7 (x) S 1 7 y 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12 0").ok());
  EXPECT_FALSE(parse_process_state("7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 -12 0").ok());
}

TEST(Processes, StatusTellsWhoseAProcessIsAndWhatItCatches) {
  const std::string status = "Name:\tUid:\\n0\nUid:\t1000\t0\t1001\t0\nSigCgt:\t0000000000000200\n";
  const Result<UserIds> ids = parse_user_ids(status);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->real, UserId{1000});
  EXPECT_EQ(ids->effective, UserId{0});
  EXPECT_EQ(ids->saved, UserId{1001});
  EXPECT_TRUE(parse_catches(status, SIGUSR1).ok() && *parse_catches(status, SIGUSR1));
  EXPECT_TRUE(parse_catches(status, SIGTERM).ok() && !*parse_catches(status, SIGTERM));
}

TEST(Processes, AStatusThatIsCutOffOrOddTellsNothing) {
  for (const char* status :
       {"", "Name:\tx\n", "Uid:\t", "Uid:\t1000\t1000", "Uid:\t1000\t1000\tx\t0\n",
        "Uid:\t-1\t0\t0\t0\n", "Uid:\t4294967296\t0\t0\t0\n", " Uid:\t0\t0\t0\t0\n"}) {
    EXPECT_FALSE(parse_user_ids(status).ok()) << status;
  }
  for (const char* status :
       {"", "SigCgt:\t", "SigCgt:\tx\n", "SigCgt:\t2x0\n", "SigCgt:\t10000000000000000\n"}) {
    EXPECT_FALSE(parse_catches(status, SIGUSR1).ok()) << status;
  }
}

TEST(Processes, OfAnEnvironmentTheFirstOfANameCounts) {
  const auto value_of_b = [](std::string environment) {
    std::ranges::replace(environment, ';', '\0');
    return parse_environment(environment, "B");
  };
  EXPECT_EQ(value_of_b("A=1;B=2;B=3;"), "2");
  EXPECT_EQ(value_of_b("AB=1;B=;"), "");
  EXPECT_EQ(value_of_b("A=B=1"), std::nullopt);
}

TEST(Processes, PidOfAnotherTimeIsAnotherProcess) {
  const Child child;
  EXPECT_TRUE(is_alive(child.process));
  const Process earlier{.pid = child.process.pid, .start_ticks = child.process.start_ticks - 1};
  EXPECT_FALSE(is_alive(earlier));
  EXPECT_EQ(open_pidfd(earlier).error().code, Errc::kNotFound);
  EXPECT_EQ(send_signal(earlier, SIGKILL).error().code, Errc::kNotFound);
  EXPECT_EQ(user_of(earlier).error().code, Errc::kNotFound);
  EXPECT_TRUE(is_alive(child.process));
  EXPECT_EQ(open_pidfd({.pid = 0, .start_ticks = 0}).error().code, Errc::kInvalid);
}

TEST(Processes, ZombieIsDead) {
  Child child;
  child.become_zombie();
  EXPECT_TRUE(process_state(child.process)->ended);
  EXPECT_FALSE(is_alive(child.process));
  EXPECT_EQ(open_pidfd(child.process).error().code, Errc::kNotFound);
  child.end();
  EXPECT_FALSE(is_alive(child.process));
  EXPECT_EQ(process_state(child.process).error().code, Errc::kNotFound);
}

TEST(Processes, PidfdTellsOfTheEndAndPassesSignals) {
  Child child;
  const Result<UniqueFd> pidfd = open_pidfd(child.process);
  ASSERT_TRUE(pidfd.ok());
  EXPECT_FALSE(is_readable(*pidfd));
  ASSERT_TRUE(send_signal(*pidfd, SIGKILL).ok());
  child.become_zombie();
  EXPECT_TRUE(is_readable(*pidfd));
  child.end();
  EXPECT_EQ(send_signal(*pidfd, SIGKILL).error().code, Errc::kNotFound);
}

TEST(Signalling, IsForWhomTheKernelWouldLetSignal) {
  const UserId bob{1002};
  EXPECT_TRUE(may_signal(bob, {.real = bob, .effective = bob, .saved = bob}));
  EXPECT_TRUE(may_signal(bob, {.real = bob, .effective = {0}, .saved = {0}})) << "just begun";
  EXPECT_TRUE(may_signal(bob, {.real = {0}, .effective = {0}, .saved = bob}));
  EXPECT_FALSE(may_signal(bob, {.real = {0}, .effective = bob, .saved = {0}}));
  EXPECT_FALSE(may_signal(bob, {.real = {0}, .effective = {0}, .saved = {0}}));
  EXPECT_FALSE(may_signal(bob, {.real = {1001}, .effective = {1001}, .saved = {1001}}));
  EXPECT_TRUE(may_signal({0}, {.real = bob, .effective = bob, .saved = bob}));
}

constexpr uid_t kBob = 60'002;

TEST(Signalling, AServerThatIsAUserForAMomentIsNotTheirs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has processes of several users";
  Child server([] { (void)::setresuid(0, kBob, 0); });
  EXPECT_EQ(*user_of(server.process), UserId{kBob});
  EXPECT_EQ(sole_user_of(server.process).error().code, Errc::kPermission);
  EXPECT_EQ(check_may_signal({kBob}, server.process).error().code, Errc::kPermission);
  EXPECT_EQ(send_signal_for({kBob}, server.process, SIGKILL).error().code, Errc::kPermission);
  EXPECT_TRUE(is_alive(server.process));
  EXPECT_TRUE(send_signal_for({0}, server.process, SIGKILL).ok());
  server.become_zombie();
}

TEST(Signalling, WhatAUserRunsAloneIsTheirs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has processes of several users";
  Child child([] { (void)::setresuid(kBob, kBob, kBob); });
  EXPECT_EQ(*sole_user_of(child.process), UserId{kBob});
  EXPECT_EQ(send_signal_for({kBob + 1}, child.process, SIGKILL).error().code, Errc::kPermission);
  EXPECT_TRUE(is_alive(child.process));
  EXPECT_TRUE(send_signal_for({kBob}, child.process, SIGKILL).ok());
  child.become_zombie();
}

/// As a container without root: in a user namespace that kBob has made, and with another uid.
void enter_container() {
  std::array<int, 2> made{};
  std::array<int, 2> mapped{};
  if (::pipe2(made.data(), O_CLOEXEC) != 0 || ::pipe2(mapped.data(), O_CLOEXEC) != 0) return;
  const std::string map = "/proc/" + std::to_string(::getpid()) + "/uid_map";
  char byte = 0;
  if (::fork() == 0) {  // Root, who may give it more uids than one.
    (void)!::read(made[0], &byte, 1);
    constexpr std::string_view kMap = "0 60002 1\n5 100005 1\n";
    (void)!::write(UniqueFd(::open(map.c_str(), O_WRONLY)).get(), kMap.data(), kMap.size());
    (void)!::write(mapped[1], "x", 1);
    ::_exit(0);
  }
  (void)::setresuid(kBob, kBob, kBob);
  (void)::unshare(CLONE_NEWUSER);
  (void)!::write(made[1], "x", 1);
  (void)!::read(mapped[0], &byte, 1);
  (void)::setresuid(5, 5, 5);
}

TEST(Signalling, WhatRunsInAUsersContainerIsTheirsUnderAnyUid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has processes of several users";
  const Child child(enter_container);
  if (user_of(child.process)->value != 100'005) GTEST_SKIP() << "no user namespaces here";
  EXPECT_TRUE(check_may_signal({kBob}, child.process).ok());
  EXPECT_EQ(check_may_signal({kBob + 1}, child.process).error().code, Errc::kPermission);
}

TEST(Processes, OnlyAnInstalledHandlerCountsAsCaught) {
  const Child child([] {
    ::signal(SIGUSR1, [](int) {});
    ::signal(SIGUSR2, SIG_IGN);
  });
  EXPECT_TRUE(*catches(child.process, SIGUSR1));
  EXPECT_FALSE(*catches(child.process, SIGUSR2));
  EXPECT_FALSE(*catches(child.process, SIGHUP));
}

TEST(Processes, EnvironmentAndArgumentsAreThoseOfTheStart) {
  std::array<int, 2> down{};
  ASSERT_EQ(::pipe2(down.data(), O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(down[0], 0);
    ::execle("/bin/cat", "cat", "-", "", nullptr,
             std::array<char*, 3>{const_cast<char*>("BERTH_LEASE_ID_NOT=1"),
                                  const_cast<char*>("BERTH_LEASE_ID=l_x=y"), nullptr}
                 .data());
    ::_exit(1);
  }
  UniqueFd hold(down[1]);
  const Process process = process_state(pid)->process;
  // The kernel shows the new arguments at one point of exec, and none for a moment before.
  while (*command_line(process) != std::vector<std::string>{"cat", "-", ""}) ::sched_yield();
  EXPECT_EQ(*environment_value(process, "BERTH_LEASE_ID"), "l_x=y");
  EXPECT_EQ(*environment_value(process, "LEASE_ID"), std::nullopt);
  EXPECT_EQ(*user_of(process), UserId{::geteuid()});
  ASSERT_TRUE(send_signal(process, SIGKILL).ok());
  ::waitpid(pid, nullptr, 0);
}

TEST(Processes, FamilyIsFoundUpAndDown) {
  const Process me = self();
  EXPECT_EQ(me.pid, ::getpid());
  const Child child;
  const std::vector<Process> up = ancestors(child.process, 32);
  ASSERT_FALSE(up.empty());
  EXPECT_EQ(up.front(), me);
  EXPECT_EQ(ancestors(child.process, 1), std::vector{me});
  EXPECT_TRUE(ancestors({.pid = child.process.pid, .start_ticks = 1}, 32).empty());
  const std::vector<Process> down = descendants(me);
  EXPECT_NE(std::ranges::find(down, child.process), down.end());
  EXPECT_EQ(std::ranges::find(down, me), down.end());
  EXPECT_TRUE(descendants(child.process).empty());
}

TEST(Processes, SessionLeaderIsTheProcessThatBeganTheSession) {
  const Child leader([] { ::setsid(); });
  EXPECT_EQ(*session_leader(leader.process), leader.process);
  EXPECT_EQ(process_state(leader.process)->terminal, 0u);
}

TEST(Processes, PeerOfASocketIsTheProcessThatConnectedIt) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd near(pair[0]);
  const UniqueFd far(pair[1]);
  const Result<Peer> peer = peer_of(near.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->user, UserId{::geteuid()});
  ASSERT_TRUE(peer->process);
  EXPECT_EQ(*peer->process, self());
  EXPECT_TRUE(peer->pidfd);
  EXPECT_TRUE(verify(*peer, self()).ok());
  EXPECT_EQ(peer_of(0x7fffffff).ok(), false);
}

TEST(Processes, ClaimThatTheKernelContradictsNamesThePidNamespace) {
  Peer peer;
  EXPECT_NE(verify(peer, self()).error().message.find("PID namespace"), std::string::npos);
  peer.pid = ::getpid();
  EXPECT_EQ(verify(peer, self()).error().code, Errc::kNotFound);
  peer.process = self();
  EXPECT_TRUE(verify(peer, self()).ok());
  Process other = self();
  ++other.start_ticks;
  EXPECT_EQ(verify(peer, other).error().code, Errc::kPermission);
  EXPECT_NE(verify(peer, other).error().message.find("PID namespace"), std::string::npos);
}

TEST(Processes, PeerThatHasEndedHasAUserAndNoProcess) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof address.sun_family;  // The kernel chooses an abstract name.
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), plain, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), plain, &size), 0);
  Child child([&] {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(fd, plain, size) != 0) ::_exit(1);
  });
  const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(peer_of(accepted.get())->process, child.process);
  child.end();
  const Result<Peer> peer = peer_of(accepted.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->user, UserId{::geteuid()});
  EXPECT_EQ(peer->process, std::nullopt);
  EXPECT_EQ(verify(*peer, child.process).error().code, Errc::kNotFound);
}

TEST(Machine, BootIdIsOneAndMachineIdIsPlain) {
  EXPECT_EQ(boot_id()->size(), 36u);
  EXPECT_EQ(*boot_id(), *boot_id());
  EXPECT_FALSE(machine_id().empty());
}

}  // namespace
}  // namespace berth::os
