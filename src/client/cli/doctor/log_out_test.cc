// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/log_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Place = LogOutFacts::Place;

constexpr const char* kSession = "0::/user.slice/user-1000.slice/session-3.scope\n";
constexpr const char* kManager =
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/berth-keeper.service\n";
constexpr const char* kUnit =
    "0::/system.slice/system-berth\\x2dkeeper.slice/berth-keeper@ada.service\n";

// A machine on which a user is logged in.
class LogOut : public testing::Test {
 protected:
  LogOut() {
    root = testing::TempDir() + "logout.XXXXXX";
    root = ::mkdtemp(root.data());
    write("/run/systemd/sessions/3", "");
    write("/proc/self/cgroup", kSession);
    write("/etc/systemd/logind.conf", "[Login]\n#KillUserProcesses=no\n");
  }
  ~LogOut() override { fs::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void drop_in(const std::string& path, const std::string& lines) const {
    write(path, "[Login]\n" + lines);
  }
  LogOutFacts look(std::optional<std::int32_t> keeper = {}) const {
    return look_at_log_out(root, "ada", keeper);
  }
  Finding judge(std::optional<std::int32_t> keeper = {}) const {
    return judge_log_out(look(keeper));
  }
  std::string root;
};

TEST_F(LogOut, EndsJobsWhereLogindEndsWhatASessionStarted) {
  EXPECT_EQ(judge().level, Level::kOk);
  drop_in("/etc/systemd/logind.conf.d/kill.conf", "KillUserProcesses = Yes\n");
  const Finding finding = judge();
  EXPECT_EQ(finding.level, Level::kWarn);
  EXPECT_THAT(finding.fact, HasSubstr("/etc/systemd/logind.conf.d/kill.conf"));
  EXPECT_THAT(finding.consequence, HasSubstr("sudo systemctl enable --now berth-keeper@ada"));
  EXPECT_EQ(finding.cure, "loginctl enable-linger && systemctl --user enable --now berth-keeper");
  // Lingering keeps a user's systemd, and not what is in a session.
  write("/var/lib/systemd/linger/ada", "");
  EXPECT_EQ(judge().level, Level::kWarn);
}

TEST_F(LogOut, IsNotLookedAtWhereNobodyLogsIn) {
  drop_in("/etc/systemd/logind.conf.d/kill.conf", "KillUserProcesses=yes\n");
  fs::remove(root + "/run/systemd/sessions/3");
  EXPECT_EQ(judge().level, Level::kOk);
  fs::remove_all(root + "/run");
  EXPECT_EQ(judge().level, Level::kOk);
}

TEST_F(LogOut, FilesOfLogindGoBeforeOneAnotherAsSystemdHasThem) {
  EXPECT_FALSE(look().kills);
  drop_in("/usr/lib/systemd/logind.conf.d/50-a.conf", "KillUserProcesses=yes\n");
  EXPECT_TRUE(look().kills);
  drop_in("/run/systemd/logind.conf.d/60-b.conf", "KillUserProcesses=no\n");
  EXPECT_FALSE(look().kills) << "by their names, wherever they are";
  drop_in("/etc/systemd/logind.conf.d/60-b.conf", "");
  EXPECT_TRUE(look().kills) << "the one in /etc hides that of the same name";
  drop_in("/etc/systemd/logind.conf.d/70-c.conf.off", "KillUserProcesses=no\n");
  EXPECT_TRUE(look().kills);
  write("/etc/systemd/logind.conf.d/70-d.conf", "[Other]\nKillUserProcesses=no\n");
  EXPECT_TRUE(look().kills);
}

TEST_F(LogOut, OneMainFileIsReadAndSaysWhatIsBuiltIn) {
  write("/usr/lib/systemd/logind.conf", "[Login]\nKillUserProcesses=yes\n");
  EXPECT_FALSE(look().kills);
  fs::remove(root + "/etc/systemd/logind.conf");
  EXPECT_TRUE(look().kills);
  write("/usr/lib/systemd/logind.conf", "[Login]\n#KillUserProcesses=yes\n");
  EXPECT_TRUE(look().kills);
  drop_in("/etc/systemd/logind.conf.d/a.conf", "KillUserProcesses=no\n#KillUserProcesses=yes\n");
  EXPECT_FALSE(look().kills);
}

TEST_F(LogOut, UsersMayBeNamedWhomThatIsFor) {
  drop_in("/etc/systemd/logind.conf.d/a.conf", "KillUserProcesses=yes\nKillExcludeUsers=eve ada\n");
  EXPECT_FALSE(look().kills);
  drop_in("/etc/systemd/logind.conf.d/b.conf", "KillExcludeUsers=\n");
  EXPECT_TRUE(look().kills);
  EXPECT_TRUE(look_at_log_out(root, "root", {}).kills);
  fs::remove(root + "/etc/systemd/logind.conf.d/b.conf");
  drop_in("/etc/systemd/logind.conf.d/a.conf", "KillUserProcesses=no\nKillOnlyUsers=ada\n");
  EXPECT_TRUE(look().kills);
  drop_in("/etc/systemd/logind.conf.d/a.conf", "KillUserProcesses=yes\nKillOnlyUsers=eve\n");
  EXPECT_FALSE(look().kills);
  drop_in("/etc/systemd/logind.conf.d/a.conf", "KillUserProcesses=yes\n");
  EXPECT_FALSE(look_at_log_out(root, "root", {}).kills) << "as is built in";
}

TEST_F(LogOut, WhatTheKeeperIsPartOfDecides) {
  drop_in("/etc/systemd/logind.conf.d/kill.conf", "KillUserProcesses=yes\n");
  write("/proc/70/comm", "berth-keeper\n");
  write("/proc/70/cgroup", kUnit);
  EXPECT_EQ(judge(70).level, Level::kOk) << "a unit of the system";
  write("/proc/70/cgroup", kSession);
  EXPECT_EQ(judge(70).cure,
            "kill 70; loginctl enable-linger && systemctl --user enable --now berth-keeper");
  write("/proc/70/comm", "bash\n");
  EXPECT_EQ(look(70).keeper, std::nullopt) << "its pid is another's by now";
  EXPECT_EQ(look(71).keeper, std::nullopt);
}

TEST_F(LogOut, EndsWhatTheOwnSystemdOfAUserStartedUnlessTheyLinger) {
  write("/proc/70/comm", "berth-keeper\n");
  write("/proc/70/cgroup", kManager);
  EXPECT_EQ(judge(70).level, Level::kWarn);
  EXPECT_EQ(judge(70).cure, "loginctl enable-linger");
  write("/var/lib/systemd/linger/ada", "");
  EXPECT_EQ(judge(70).level, Level::kOk);
}

}  // namespace
}  // namespace berth::cli
