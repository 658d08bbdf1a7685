// SPDX-License-Identifier: Apache-2.0
#include "server/close_watcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/users.h"

namespace berth::server {
namespace {

namespace fs = std::filesystem;

constexpr Handle kFirstLease = {1, 1};
constexpr Handle kOtherLease = {2, 2};

class CloseWatcherTest : public ::testing::Test {
 protected:
  CloseWatcherTest() {
    std::string pattern = "/tmp/berth-close-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    for (const char* name : {"one", "two"}) std::ofstream(directory_ + "/" + name) << "x";
    watcher_.watch(kFirstLease, directory_ + "/one");
    watcher_.watch(kOtherLease, directory_ + "/two");
  }
  ~CloseWatcherTest() override { fs::remove_all(directory_); }

  int open(const char* name, int flags) const {
    return ::open((directory_ + "/" + name).c_str(), flags | O_CLOEXEC);
  }
  void run() { io_.run_for(std::chrono::milliseconds(100)); }

  std::string directory_;
  boost::asio::io_context io_;
  std::vector<std::set<Handle>> told_;
  CloseWatcher watcher_{io_, [this](const std::set<Handle>& leases) { told_.push_back(leases); }};
};

TEST_F(CloseWatcherTest, TellsWhichLedgerWasClosed) {
  const int fd = open("two", O_RDWR);
  run();
  EXPECT_TRUE(told_.empty());
  ::close(fd);
  run();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], std::set{kOtherLease});
  ::close(open("one", O_RDWR));
  run();
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1], std::set{kFirstLease});
}

TEST_F(CloseWatcherTest, NotOfOneThatOnlyReads) {
  ::close(open("one", O_RDONLY));
  run();
  EXPECT_TRUE(told_.empty());
}

TEST_F(CloseWatcherTest, ManyAtOnceAreOne) {
  for (int i = 0; i < 1000; ++i) {
    ::close(open("one", O_RDWR));
    ::close(open("two", O_RDWR));
  }
  run();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], (std::set{kFirstLease, kOtherLease}));
}

TEST_F(CloseWatcherTest, AFileThatIsGoneIsForgotten) {
  fs::remove(directory_ + "/one");
  run();
  told_.clear();
  ::close(open("two", O_RDWR));
  run();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], std::set{kOtherLease});
}

TEST_F(CloseWatcherTest, LedgersAreWatchedFromTheirBeginning) {
  class Clock final : public os::Clock {
    Instant now() const override { return {}; }
    UnixMs wall() const override { return {}; }
  } clock;
  BudgetFiles files({.root = directory_ + "/leases", .context = mib(300)}, directory_ + "/contexts",
                    clock, [](const std::string&) {});
  int died = 0;
  const auto ledgers = watch_ledgers(io_, files, [&] { ++died; });
  files.set_budgets({.handle = kFirstLease, .number = {1}, .user = os::own_user()},
                    {{{1, 2}, gib(1)}}, BudgetFiles::When::kNow);
  run();
  EXPECT_EQ(died, 0);
  ::close(::open((directory_ + "/leases/" + to_text(kFirstLease) + "/use").c_str(), O_RDWR));
  run();
  EXPECT_EQ(died, 1);
}

}  // namespace
}  // namespace berth::server
