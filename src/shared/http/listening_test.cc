// SPDX-License-Identifier: Apache-2.0
#include "http/listening.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>

#include "http/raw_client_for_test.h"

namespace berth::http {
namespace {

using ::testing::HasSubstr;
using Access = ListeningSocket::Access;

Result<ListeningSocket> open_at(const std::string& path, Access access) {
  return ListeningSocket::open(path, access, {"server", "end it first"});
}

unsigned mode_of(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0U;
}

TEST(ListeningSocket, IsItsOwnersAloneAndGoneWithItsDaemon) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s";
  {
    Result<ListeningSocket> socket = open_at(path, Access::kOwner);
    ASSERT_TRUE(socket.ok()) << socket.error().message;
    EXPECT_EQ(mode_of(path), 0600U);
    const RawClient client(path);
  }
  EXPECT_FALSE(os::exists(path));
}

TEST(ListeningSocket, OfTheMachineIsItsGroupsToo) {
  const TestFolder folder;
  Result<ListeningSocket> socket = open_at(folder.path() + "/s", Access::kGroup);
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(mode_of(folder.path() + "/s"), 0660U);
}

TEST(ListeningSocket, StaleOneIsReplaced) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s";
  {
    const os::UniqueFd left_behind = listen_at(path);
  }
  ASSERT_TRUE(os::exists(path));
  Result<ListeningSocket> socket = open_at(path, Access::kOwner);
  ASSERT_TRUE(socket.ok()) << socket.error().message;
  const RawClient client(path);
}

TEST(ListeningSocket, ThatOfAnotherProgramIsLeftAlone) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s";
  const os::UniqueFd other = listen_at(path);
  const Result<ListeningSocket> socket = open_at(path, Access::kOwner);
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().code, Errc::kConflict);
  EXPECT_THAT(socket.error().message, HasSubstr(path));
  const RawClient client(path);
}

TEST(ListeningSocket, OfTwoDaemonsOneGetsThePath) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s";
  Result<ListeningSocket> first = open_at(path, Access::kOwner);
  ASSERT_TRUE(first.ok());
  const Result<ListeningSocket> second = open_at(path, Access::kOwner);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  const RawClient client(path);
}

TEST(ListeningSocket, WhatIsNoSocketIsNeverRemoved) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s";
  std::ofstream(path) << "a file of another program";
  const Result<ListeningSocket> socket = open_at(path, Access::kOwner);
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().code, Errc::kConflict);
  EXPECT_TRUE(os::exists(path));
}

TEST(ListeningSocket, PathThatIsTooLongIsSaidSo) {
  const TestFolder folder;
  const Result<ListeningSocket> socket =
      open_at(folder.path() + "/" + std::string(120, 'a'), Access::kOwner);
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().code, Errc::kInvalid);
  EXPECT_THAT(socket.error().message, HasSubstr("107"));
}

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(ListeningSocket, IsTakenOverFromAServiceManagerOnlyIfMeantForUs) {
  const Result<std::optional<ListeningSocket>> none = ListeningSocket::inherit();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const Environment count("LISTEN_FDS", "2");
  {
    const Environment other("LISTEN_PID", "1");
    const Result<std::optional<ListeningSocket>> not_ours = ListeningSocket::inherit();
    ASSERT_TRUE(not_ours.ok());
    EXPECT_FALSE(not_ours->has_value());
  }
  const Environment ours("LISTEN_PID", std::to_string(::getpid()));
  const Result<std::optional<ListeningSocket>> two = ListeningSocket::inherit();
  ASSERT_FALSE(two.ok());
  EXPECT_THAT(two.error().message, HasSubstr("exactly one"));
}

}  // namespace
}  // namespace berth::http
