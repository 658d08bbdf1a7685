// SPDX-License-Identifier: Apache-2.0
// A shell script plays the daemon.
#include "client/autostart.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "os/files.h"
#include "os/unique_fd.h"

namespace berth::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class AutostartTest : public testing::Test {
 protected:
  AutostartTest() {
    std::string pattern = testing::TempDir() + "berth-autostart-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
  }
  ~AutostartTest() override {
    for (const char* file : {"berthd", "facts", "runtime/berthd.log", "runtime/start.lock"}) {
      ::unlink((directory_ + "/" + file).c_str());
    }
    ::rmdir((directory_ + "/runtime").c_str());
    ::rmdir(directory_.c_str());
  }

  AutostartOptions daemon(const std::string& script) {
    const std::string program = directory_ + "/berthd";
    CHECK(os::write_file_atomically(program, "#!/bin/sh\n" + script, 0700, os::Sync::kNone).ok());
    return {.program = program,
            .paths = {.world = "real",
                      .runtime_dir = directory_ + "/runtime",
                      .socket = directory_ + "/runtime/none.sock",
                      .state_dir = directory_}};
  }
  std::string facts() {
    const Result<std::string> text = os::read_file(directory_ + "/facts", 1U << 20U);
    return text.ok() ? *text : text.error().message;
  }

  std::string directory_;
};

TEST_F(AutostartTest, DaemonTakesNothingFromItsCaller) {
  // The caller has a secret, an odd umask, an ignored signal and an open file.
  ::setenv("SECRET", "hunter2", 1);
  ::setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  ::setenv("LC_TIME", "C", 1);
  ::setenv("BERTH_SIM_NAME", "w", 1);
  const os::UniqueFd open_file(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY));
  const mode_t umask_before = ::umask(0);
  const auto handler_before = ::signal(SIGHUP, SIG_IGN);
  const Result<bool> started = autostart(
      daemon("{ env; echo \"cwd=$(pwd)\"; umask; cut -d' ' -f1,6,7 /proc/$$/stat;"
             " grep SigIgn /proc/$$/status; echo \"args=$*\";"
             " for fd in /proc/$$/fd/*; do echo \"${fd##*/}=$(readlink $fd)\"; done; } > " +
             directory_ + "/facts; echo ready >&3"));
  ::signal(SIGHUP, handler_before);
  ::umask(umask_before);
  ::unsetenv("SECRET");
  ::unsetenv("LD_LIBRARY_PATH");
  ::unsetenv("LC_TIME");
  ::unsetenv("BERTH_SIM_NAME");
  ASSERT_TRUE(started.ok()) << started.error().message;
  EXPECT_TRUE(*started);

  const std::string seen = facts();
  EXPECT_THAT(seen, Not(HasSubstr("SECRET")));
  EXPECT_THAT(seen, Not(HasSubstr("LD_LIBRARY_PATH")));
  EXPECT_THAT(seen, HasSubstr("LC_TIME=C"));
  EXPECT_THAT(seen, HasSubstr("BERTH_SIM_NAME=w"));
  EXPECT_THAT(seen, HasSubstr("cwd=/\n"));
  EXPECT_THAT(seen, HasSubstr("0077\n"));
  EXPECT_THAT(seen, HasSubstr("args=--ready-fd 3\n"));
  EXPECT_THAT(seen, HasSubstr("SigIgn:\t0000000000000000"));
  EXPECT_THAT(seen, Not(HasSubstr(" " + std::to_string(::getsid(0)) + " ")));
  EXPECT_THAT(seen, HasSubstr("\n0=/dev/null\n"));
  EXPECT_THAT(seen, HasSubstr("\n2=" + directory_ + "/runtime/berthd.log\n"));
  EXPECT_THAT(seen, HasSubstr("\n3=pipe:"));
  EXPECT_THAT(seen, Not(HasSubstr("=" + directory_ + "\n")));
}

TEST_F(AutostartTest, ComplaintOfADaemonThatDoesNotComeUpIsPassedOn) {
  const Result<bool> started = autostart(daemon("echo 'the state is on fire' >&2; exit 1"));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Errc::kUnavailable);
  EXPECT_THAT(started.error().message, HasSubstr("the state is on fire"));
  EXPECT_THAT(started.error().message, HasSubstr("runtime/berthd.log"));
}

TEST_F(AutostartTest, ComplaintsOfEarlierDaemonsAreNotRepeated) {
  EXPECT_FALSE(autostart(daemon("echo 'first trouble' >&2; exit 1")).ok());
  const Result<bool> second = autostart(daemon("echo 'second trouble' >&2; exit 1"));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, Not(HasSubstr("first trouble")));
}

TEST_F(AutostartTest, DaemonThatNeverAnswersIsNotWaitedForWithoutEnd) {
  AutostartOptions options = daemon("read -r nothing < " + directory_ + "/facts");
  ASSERT_EQ(::mkfifo((directory_ + "/facts").c_str(), 0600), 0);
  options.within = milliseconds(50);
  EXPECT_FALSE(autostart(options).ok());
  // Lets the script go.
  const os::UniqueFd writer(::open((directory_ + "/facts").c_str(), O_RDWR));
  EXPECT_EQ(::write(writer.get(), "\n", 1), 1);
}

TEST_F(AutostartTest, RuntimeDirectoryThatOthersCanWriteIsNotUsed) {
  const AutostartOptions options = daemon("echo ready >&3");
  ASSERT_EQ(::mkdir(options.paths.runtime_dir.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(options.paths.runtime_dir.c_str(), 0777), 0);
  const Result<bool> started = autostart(options);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Errc::kCannotCreate);
  EXPECT_THAT(started.error().message, HasSubstr(options.paths.runtime_dir));
}

TEST(DaemonEnvironment, OnlyWhatADaemonMayKnowIsKept) {
  EXPECT_THAT(daemon_environment({"HOME=/h", "HOMEBREW=1", "PATH=/bin", "LD_PRELOAD=x.so",
                                  "XDG_RUNTIME_DIR=/r", "BERTH_SOCKET=/s", "BERTH_SIM=1x16GiB",
                                  "BERTH_LEASE_ID=l_x", "CUDA_VISIBLE_DEVICES=0",
                                  "SSL_CERT_FILE=/a", "TZ=UTC"}),
              ElementsAre("HOME=/h", "PATH=/bin", "XDG_RUNTIME_DIR=/r", "BERTH_SIM=1x16GiB",
                          "SSL_CERT_FILE=/a", "TZ=UTC"));
}

}  // namespace
}  // namespace berth::client
