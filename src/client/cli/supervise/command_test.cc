// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "os/processes.h"

namespace berth::cli {
namespace {

class HeldCommandTest : public testing::Test {
 protected:
  HeldCommandTest() {
    std::string pattern = testing::TempDir() + "berth-command-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    file_ = pattern + "/file";
  }
  ~HeldCommandTest() override {
    ::unlink(file_.c_str());
    ::rmdir(file_.substr(0, file_.rfind('/')).c_str());
  }

  static HeldCommand hold(const std::vector<std::string>& words, int not_inherited = -1) {
    sigset_t none;
    ::sigemptyset(&none);
    Result<HeldCommand> command =
        HeldCommand::make(words, {.mask = none, .not_inherited = not_inherited});
    CHECK(command.ok());
    return *std::move(command);
  }
  HeldCommand hold_script(const std::string& script) {
    return hold({"/bin/sh", "-c", script, "sh", file_});
  }
  static int wait_for(const HeldCommand& command) {
    int status = 0;
    EXPECT_EQ(::waitpid(command.process().pid, &status, 0), command.process().pid);
    return status;
  }
  std::string file() {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }
  void write_file(const std::string& text, mode_t mode) {
    std::ofstream(file_) << text;
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
  }

  std::string file_;
};

TEST_F(HeldCommandTest, DoesNothingBeforeItIsLetGo) {
  {
    const HeldCommand command = hold_script("echo started > \"$1\"");
    EXPECT_TRUE(os::is_alive(command.process()));
    EXPECT_NE(command.process().start_ticks, 0U);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "the process was not reaped";
  EXPECT_NE(::access(file_.c_str(), F_OK), 0);
}

TEST_F(HeldCommandTest, KeepsItsPidAndGetsItsVariables) {
  ::setenv("BERTH_TEST_GONE", "1", 1);
  HeldCommand command = hold_script(
      "echo \"$$ $BERTH_TEST_SET ${BERTH_TEST_GONE-gone} ${BERTH_TEST_EMPTY-gone}\" > \"$1\"");
  ASSERT_EQ(command.let_go({.set = {{"BERTH_TEST_SET", "a=b c"}, {"BERTH_TEST_EMPTY", ""}},
                            .unset = {"BERTH_TEST_GONE"}}),
            0);
  ::unsetenv("BERTH_TEST_GONE");
  EXPECT_EQ(wait_for(command), 0);
  EXPECT_EQ(file(), std::to_string(command.process().pid) + " a=b c gone \n");
}

TEST_F(HeldCommandTest, HasTheSignalMaskItIsGiven) {
  sigset_t held;
  sigset_t before;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  HeldCommand command = hold_script("exec grep SigBlk /proc/self/status > \"$1\"");
  ASSERT_EQ(command.let_go({}), 0);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(wait_for(command), 0);
  EXPECT_EQ(file(), "SigBlk:\t0000000000000000\n");
}

TEST_F(HeldCommandTest, LeadsAGroupOfItsOwnIfAsked) {
  const HeldCommand command = hold({"true"});
  EXPECT_EQ(::getpgid(command.process().pid), ::getpgrp());
  command.lead_own_group();
  EXPECT_EQ(::getpgid(command.process().pid), command.process().pid);
}

// A signal to the group of a shell's job, or what was typed, reaches a process that waits as well.
TEST_F(HeldCommandTest, DoesNotGetTheSignalsOfItsWait) {
  sigset_t held;
  sigset_t before;
  ::sigemptyset(&held);
  for (const int signal : {SIGTERM, SIGUSR1, SIGTSTP}) ::sigaddset(&held, signal);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  HeldCommand command = hold_script("echo unharmed > \"$1\"");
  for (const int signal : {SIGTERM, SIGUSR1, SIGTSTP}) {
    ASSERT_EQ(::kill(command.process().pid, signal), 0);
  }
  ASSERT_EQ(command.let_go({}), 0);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(wait_for(command), 0);
  EXPECT_EQ(file(), "unharmed\n");
}

TEST_F(HeldCommandTest, DoesNotKeepOpenWhatIsNotItsOwn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const HeldCommand command = hold({"true"}, ends[1]);
  ::close(ends[1]);
  char nothing = 0;
  EXPECT_EQ(::read(ends[0], &nothing, 1), 0);  // Would wait for ever.
  ::close(ends[0]);
}

TEST_F(HeldCommandTest, IsKilledWithUsEvenIfItIsStopped) {
  Process process;
  {
    const HeldCommand command = hold({"true"});
    process = command.process();
    ASSERT_EQ(::kill(process.pid, SIGSTOP), 0);
  }
  EXPECT_FALSE(os::is_alive(process));
}

TEST_F(HeldCommandTest, ItIsKnownWhetherItStillWaits) {
  HeldCommand command = hold({"true"});
  EXPECT_TRUE(command.is_waiting());
  ASSERT_EQ(::kill(command.process().pid, SIGKILL), 0);
  siginfo_t gone{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(command.process().pid), &gone, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(command.is_waiting());
}

TEST_F(HeldCommandTest, ThatCannotBeStartedSaysWhyAndIsReaped) {
  EXPECT_EQ(hold({file_}).let_go({}), ENOENT);
  write_file("#!/nowhere/interpreter\n", 0755);
  EXPECT_EQ(hold({file_}).let_go({}), ENOENT);
  write_file("text", 0600);
  EXPECT_EQ(hold({file_}).let_go({}), EACCES);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(HeldCommandTest, ThatWasKilledWhileItWaitedIsAFailureToStart) {
  HeldCommand command = hold({"true"});
  ASSERT_EQ(::kill(command.process().pid, SIGKILL), 0);
  // Its end of the pipe is closed once it is gone.
  siginfo_t gone{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(command.process().pid), &gone, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(command.let_go({}), ESRCH);
}

TEST_F(HeldCommandTest, TroubleIsKnownBeforehand) {
  EXPECT_EQ(trouble_starting("sh"), 0);
  EXPECT_EQ(trouble_starting("/bin/sh"), 0);
  EXPECT_EQ(trouble_starting(""), ENOENT);
  EXPECT_EQ(trouble_starting("berth-no-such-program"), ENOENT);
  EXPECT_EQ(trouble_starting(file_), ENOENT);
  EXPECT_EQ(trouble_starting("/"), EACCES);
  write_file("text", 0600);
  EXPECT_EQ(trouble_starting(file_), EACCES);
  write_file("text", 0700);
  EXPECT_EQ(trouble_starting(file_), 0);
}

}  // namespace
}  // namespace berth::cli
