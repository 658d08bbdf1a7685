// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/files.h"
#include "os/unique_fd.h"

namespace berth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ends {
  os::UniqueFd reading;
  os::UniqueFd writing;
};

Ends pipe_ends() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

Ends socket_ends() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

// All that is there now.
std::string read_all(const os::UniqueFd& from) {
  EXPECT_EQ(::fcntl(from.get(), F_SETFL, O_NONBLOCK), 0);
  std::string all;
  std::array<char, 65'536> piece{};
  for (;;) {
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// That this ends at all is the test: a write that waits would wait for ever.
void expect_never_to_wait(const Ends& ends) {
  Log log(ends.writing.get());
  for (int i = 0; i < 20'000; ++i) log.info("line " + std::to_string(i) + std::string(90, 'x'));
  const std::string first = read_all(ends.reading);
  const std::size_t out = lines_in(first);
  EXPECT_GT(out, 10U);
  EXPECT_LT(out, 20'000U);
  log.info("after that");
  log.info("and one more");
  const std::string rest = read_all(ends.reading);
  const std::string all = first + rest;
  EXPECT_THAT(rest, HasSubstr("info: after that\n"));
  EXPECT_THAT(rest, HasSubstr("info: and one more\n"));
  EXPECT_THAT(rest, Not(HasSubstr("info: line 19999")));
  const std::size_t whole = lines_in(all) - 3;  // Beside what was dropped, and those two.
  EXPECT_THAT(rest, HasSubstr("warning: " + std::to_string(20'000 - whole) +
                              " lines of this log are missing here: nobody read it\n"));
}

TEST(Log, WaitsForNoReaderOfAPipe) {
  expect_never_to_wait(pipe_ends());
}

TEST(Log, WaitsForNoReaderOfASocket) {
  expect_never_to_wait(socket_ends());
}

TEST(Log, ThroughALinkNothingIsWritten) {
  std::string folder = testing::TempDir() + "berth-log-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string target = folder + "/of-another";
  const std::string link = folder + "/berthd.log";
  std::ofstream(target) << "kept\n";
  std::filesystem::create_symlink(target, link);
  Log log(STDERR_FILENO);
  EXPECT_EQ(log.move_to_file(link).error().code, Errc::kPermission);
  EXPECT_EQ(*os::read_file(target, 100), "kept\n");
  std::filesystem::remove(link);
  EXPECT_TRUE(log.move_to_file(link).ok());
  std::filesystem::remove_all(folder);
}

TEST(Log, ALineIsOneLineAndHidesNothing) {
  const Ends ends = pipe_ends();
  Log log(ends.writing.get());
  log.info("train\nx\u202egnp\x1b[2J");
  EXPECT_THAT(read_all(ends.reading), HasSubstr("info: train x?gnp?[2J\n"));
}

TEST(Log, ALineLargerThanAPipeHoldsComesToItsEndFirst) {
  const Ends ends = pipe_ends();
  Log log(ends.writing.get());
  log.info("begin" + std::string(100'000, 'x') + "end");
  log.info("not now");
  std::string all = read_all(ends.reading);
  log.info("later");
  all += read_all(ends.reading);
  EXPECT_THAT(all, HasSubstr("xend\n"));
  EXPECT_THAT(all, HasSubstr("1 line of this log are missing"));
  EXPECT_THAT(all, HasSubstr("info: later\n"));
}

}  // namespace
}  // namespace berth::server
