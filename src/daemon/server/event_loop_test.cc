// SPDX-License-Identifier: Apache-2.0
// Parts that depend on the event loop and on the machine: alarms, ends of processes, the manager's
// socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <vector>

#include "base/sanitizers.h"
#include "http/raw_client_for_test.h"
#include "os/clock.h"
#include "os/processes.h"
#include "os/users.h"
#include "server/boot_timer.h"
#include "server/heartbeat.h"
#include "server/notify_socket.h"
#include "server/process_watcher.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool run_until(boost::asio::io_context& io, const std::function<bool()>& holds) {
  const os::PosixClock clock;
  const Instant end = clock.now() + seconds(5);
  while (!holds() && clock.now() < end) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(10));
  }
  return holds();
}

TEST(BootTimer, RingsOnceForTheLastInstantSet) {
  boost::asio::io_context io;
  const os::PosixClock clock;
  std::vector<Instant> rang;
  Result<os::UniqueFd> descriptor = BootTimer::open_descriptor();
  ASSERT_TRUE(descriptor.ok());
  BootTimer timer(io, *std::move(descriptor), [&] { rang.push_back(clock.now()); });
  const Instant early = clock.now() + milliseconds(1);
  const Instant late = clock.now() + milliseconds(20);
  timer.set(early);
  timer.set(late);
  ASSERT_TRUE(run_until(io, [&] { return !rang.empty(); }));
  EXPECT_GE(rang[0], late);
  io.poll();
  EXPECT_EQ(rang.size(), 1U);
  timer.set(Instant{});  // Long past.
  EXPECT_TRUE(run_until(io, [&] { return rang.size() == 2; }));
}

/// A child that waits until it is told to go.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
    process_ = os::process_state(pid_)->process;
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Process process() const { return process_; }
  int end() {
    if (pid_ <= 0) return 0;
    ::kill(pid_, SIGKILL);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
  Process process_;
};

TEST(ProcessWatcher, EndIsReportedOnceAndUnwatchedOnesAreNot) {
  boost::asio::io_context io;
  std::vector<Process> ended;
  ProcessWatcher watcher(io, [&](Process process) { ended.push_back(process); });
  Child watched;
  Child unwatched;
  EXPECT_TRUE(watcher.watch(watched.process()));
  EXPECT_TRUE(watcher.watch(unwatched.process()));
  watcher.unwatch(unwatched.process());
  unwatched.end();
  watched.end();
  ASSERT_TRUE(run_until(io, [&] { return !ended.empty(); }));
  io.poll();
  EXPECT_THAT(ended, ElementsAre(watched.process()));
  EXPECT_EQ(watcher.descriptors(), 0U);
}

TEST(ProcessWatcher, TellsWhoIsAliveWatchedOrNot) {
  boost::asio::io_context io;
  ProcessWatcher watcher(io, [](Process) {});
  Child watched;
  Child other;
  EXPECT_TRUE(watcher.watch(watched.process()));
  EXPECT_TRUE(watcher.is_alive(watched.process()));
  EXPECT_TRUE(watcher.is_alive(other.process()));
  Process former = other.process();
  --former.start_ticks;
  EXPECT_FALSE(watcher.is_alive(former));
  watched.end();
  other.end();
  EXPECT_FALSE(watcher.is_alive(watched.process())) << "before its end is heard of";
  EXPECT_FALSE(watcher.is_alive(other.process()));
}

TEST(ProcessWatcher, ProcessThatIsGoneOrAnothersNowCannotBeWatched) {
  boost::asio::io_context io;
  ProcessWatcher watcher(io, [](Process) {});
  Child child;
  Process impostor = child.process();
  ++impostor.start_ticks;
  EXPECT_FALSE(watcher.watch(impostor));
  child.end();
  EXPECT_FALSE(watcher.watch(child.process()));
}

TEST(ProcessWatcher, SignalReachesTheProcess) {
  boost::asio::io_context io;
  ProcessWatcher watcher(io, [](Process) {});
  Child child;
  ASSERT_TRUE(watcher.watch(child.process()));
  ASSERT_TRUE(watcher.signal(os::own_user(), child.process(), SIGTERM).ok());
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(ProcessWatcher, SignalDoesNotReachWhatItsUserCouldNotReach) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may signal processes of others";
  boost::asio::io_context io;
  ProcessWatcher watcher(io, [](Process) {});
  Child child;
  const UserId another{60'002};
  const auto refused = [&] {
    const Status sent = watcher.signal(another, child.process(), SIGKILL);
    return !sent.ok() && sent.error().code == Errc::kPermission;
  };
  EXPECT_TRUE(refused());
  ASSERT_TRUE(watcher.watch(child.process()));
  EXPECT_TRUE(refused());
  EXPECT_TRUE(watcher.is_alive(child.process()));
  child.end();
}

TEST(ProcessWatcher, WithoutDescriptorsProcessesAreLookedAtInstead) {
  if (kAddressSanitizer) GTEST_SKIP() << "UBSan opens a pipe to check the type of an object";
  boost::asio::io_context io;
  std::vector<Process> ended;
  ProcessWatcher watcher(io, [&](Process process) { ended.push_back(process); });
  Child child;
  io.poll();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<os::UniqueFd> taken;
  rlimit low = before;
  low.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &low);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken.emplace_back(fd);
  const bool watched = watcher.watch(child.process());
  taken.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(watched);
  EXPECT_EQ(watcher.descriptors(), 0U);
  child.end();
  EXPECT_TRUE(run_until(io, [&] { return ended.size() == 1; }));
}

TEST(NotifySocket, ManagerHearsWhatBecomesOfTheDaemon) {
  const http::TestFolder folder;
  const std::string path = folder.path() + "/notify";
  const os::UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_GE(manager.get(), 0);
  const sockaddr_un address = http::address_of(path);
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto heard = [&] {
    char text[256];
    const ssize_t count = ::recv(manager.get(), text, sizeof text, MSG_DONTWAIT);
    return count > 0 ? std::string(text, static_cast<std::size_t>(count)) : std::string();
  };
  const NotifySocket notify(path);
  notify.ready("listening");
  EXPECT_EQ(heard(), "READY=1\nSTATUS=listening");
  notify.reloading();
  EXPECT_THAT(heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  notify.stopping();
  EXPECT_EQ(heard(), "STOPPING=1");
  notify.alive();
  EXPECT_EQ(heard(), "WATCHDOG=1");
  boost::asio::io_context io;
  const Heartbeat heartbeat(io, notify, milliseconds(20));
  std::string beats;
  EXPECT_TRUE(run_until(io, [&] { return (beats += heard()) == "WATCHDOG=1WATCHDOG=1"; }));
  NotifySocket("").ready("to nobody");
  NotifySocket("/nowhere/at/all").ready("to nobody");
}

TEST(Heartbeat, IsWantedByWhoSaysForWhomAndHowOften) {
  const auto wanted = [](const char* us, const std::string& pid) {
    ::setenv("WATCHDOG_USEC", us, 1);
    ::setenv("WATCHDOG_PID", pid.c_str(), 1);
    const std::optional<Duration> found = Heartbeat::wanted();
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
    return found;
  };
  const std::string own = std::to_string(::getpid());
  EXPECT_EQ(wanted("60000000", own), seconds(60));
  EXPECT_EQ(wanted("60000000", "1"), std::nullopt);
  for (const char* text : {"", "0", "-1", "5s"}) EXPECT_EQ(wanted(text, own), std::nullopt) << text;
  EXPECT_EQ(Heartbeat::wanted(), std::nullopt);
}

}  // namespace
}  // namespace berth::server
