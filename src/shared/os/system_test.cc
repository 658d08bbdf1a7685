// SPDX-License-Identifier: Apache-2.0
// The smaller ports: clock, chance, users, signals, descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <set>

#include "os/clock.h"
#include "os/random.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "os/users.h"
#include "os/worker.h"

namespace berth::os {
namespace {

TEST(Clock, InstantsGrowAndCountFromBoot) {
  const PosixClock clock;
  const Instant before = clock.now();
  timespec boot{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &boot), 0);
  const Instant between{boot.tv_sec * 1'000'000'000 + boot.tv_nsec};
  const Instant after = clock.now();
  EXPECT_LE(before, between);
  EXPECT_LE(between, after);
  EXPECT_LE(std::abs(clock.wall().value / 1'000 - ::time(nullptr)), 2);
}

TEST(Random, HandlesDiffer) {
  std::set<Handle> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(random_handle());
  EXPECT_EQ(seen.size(), 1'000u);
}

TEST(Users, NamesAndNumbersAgree) {
  EXPECT_EQ(user_name({0}), "root");
  EXPECT_EQ(find_user("root"), UserId{0});
  EXPECT_EQ(user_name({4'000'000'000}), "4000000000");
  EXPECT_EQ(find_user("no such user"), std::nullopt);
  EXPECT_TRUE(is_in_group({0}, "root"));
  EXPECT_FALSE(is_in_group({0}, "no such group"));
  EXPECT_FALSE(is_in_group({4'000'000'000}, "root"));
  EXPECT_EQ(home_directory({0}), "/root");
}

TEST(Signals, BlockedOnesAreReadWithTheirSender) {
  const std::array wanted = {SIGUSR1, SIGUSR2};
  Result<SignalDescriptor> signals = SignalDescriptor::open(wanted);
  ASSERT_TRUE(signals.ok());
  EXPECT_FALSE(signals->read());
  ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
  const std::optional<SignalSeen> seen = signals->read();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->signal, SIGUSR2);
  EXPECT_EQ(seen->sender_pid, ::getpid());
  EXPECT_EQ(seen->sender, UserId{::getuid()});
  EXPECT_TRUE(seen->from_process);
  EXPECT_FALSE(signals->read());
  EXPECT_EQ(sigismember(&signals->mask_before(), SIGUSR1), 0);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &signals->mask_before(), nullptr), 0);
}

TEST(Worker, DealsWithAllThatWasSentAndGetsNoSignal) {
  Result<Worker> worker = Worker::start([](const UniqueFd& far) {
    sigset_t blocked;
    (void)::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const char spared = sigismember(&blocked, SIGTERM) == 1 ? 'y' : 'n';
    char letter = 0;
    while (::recv(far.get(), &letter, 1, 0) == 1) (void)::send(far.get(), &spared, 1, MSG_NOSIGNAL);
  });
  ASSERT_TRUE(worker.ok());
  sigset_t own;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &own), 0);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::send(worker->near().get(), "?", 1, MSG_NOSIGNAL), 1);
  worker->finish();
  worker->finish();
  char answer = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(::recv(worker->near().get(), &answer, 1, MSG_DONTWAIT), 1);
    EXPECT_EQ(answer, 'y');
  }
  EXPECT_EQ(::recv(worker->near().get(), &answer, 1, MSG_DONTWAIT), 0);
}

TEST(UniqueFd, ClosesOnceAndOnlyWhatItOwns) {
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  UniqueFd first(pipe[0]);
  {
    UniqueFd second(pipe[1]);
    second = std::move(first);
    EXPECT_FALSE(is_open(pipe[1]));
    EXPECT_TRUE(is_open(pipe[0]));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty now is the rule.
  }
  EXPECT_FALSE(is_open(pipe[0]));
}

}  // namespace
}  // namespace berth::os
