// SPDX-License-Identifier: Apache-2.0
#include "jobs/log_bound.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "os/unique_fd.h"

namespace berth::jobs {
namespace {

class LogBound : public testing::Test {
 protected:
  LogBound() {
    path = testing::TempDir() + "log.XXXXXX";
    log = os::UniqueFd(::mkostemp(path.data(), O_APPEND));
  }
  ~LogBound() override { ::unlink(path.c_str()); }
  void write(Bytes size, char letter) const {
    const std::string text(size.value, letter);
    ASSERT_EQ(::write(log.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::fsync(log.get());
  }
  struct stat look() const {
    struct stat found{};
    EXPECT_EQ(::fstat(log.get(), &found), 0);
    return found;
  }
  std::uint64_t on_disk() const { return static_cast<std::uint64_t>(look().st_blocks) * 512; }
  std::string path;
  os::UniqueFd log;
};

TEST_F(LogBound, KeepsTheNewestHalfAndEverybodysPlaceInIt) {
  write(mib(1), 'a');
  write(kib(100), 'b');
  ASSERT_TRUE(bound_log(path, mib(1)).ok());
  EXPECT_LE(on_disk(), mib(1).value * 5 / 8);
  EXPECT_GE(on_disk(), mib(1).value / 2);
  EXPECT_EQ(look().st_size, static_cast<off_t>((mib(1) + kib(100)).value));
  const std::int64_t left = first_left(log.get(), 0);
  EXPECT_GE(left, static_cast<std::int64_t>(kib(512).value));
  EXPECT_LE(left, static_cast<std::int64_t>(kib(612).value));
  char first = 0;
  EXPECT_EQ(::pread(log.get(), &first, 1, left), 1);
  EXPECT_EQ(first, 'a');
  EXPECT_EQ(first_left(log.get(), left + 1), left + 1);
  write(kib(1), 'c');
  EXPECT_EQ(look().st_size, static_cast<off_t>((mib(1) + kib(101)).value)) << "appended";
}

TEST_F(LogBound, IsOfWhatIsOnTheDiskNotOfTheSizeThatTheFileShows) {
  write(mib(2), 'a');
  ASSERT_TRUE(bound_log(path, mib(1)).ok());
  const std::int64_t left = first_left(log.get(), 0);
  write(kib(64), 'b');
  ASSERT_TRUE(bound_log(path, mib(1)).ok());
  EXPECT_EQ(first_left(log.get(), 0), left);
  write(mib(1), 'c');
  ASSERT_TRUE(bound_log(path, mib(1)).ok());
  EXPECT_GT(first_left(log.get(), 0), left);
  EXPECT_LE(on_disk(), mib(1).value);
}

TEST_F(LogBound, OfNothingIsNone) {
  write(mib(1), 'a');
  ASSERT_TRUE(bound_log(path, {}).ok());
  ASSERT_TRUE(bound_log(path, mib(2)).ok());
  EXPECT_EQ(first_left(log.get(), 0), 0);
  EXPECT_TRUE(bound_log(path + ".none", kib(4)).ok());
}

}  // namespace
}  // namespace berth::jobs
