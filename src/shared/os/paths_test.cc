// SPDX-License-Identifier: Apache-2.0
#include "os/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/simulated.h"

namespace berth::os {
namespace {

Environment ana() {
  Environment env;
  env.user = {1000};
  env.home = "/users/ana";
  env.machine_id = "0123";
  return env;
}

std::string runtime_of(const Environment& env) {
  return paths_of(env, Mode::kUser, "")->runtime_dir;
}

TEST(Paths, RuntimeDirectoryOutlivesTheLastLogOut) {
  Environment env = ana();
  EXPECT_EQ(runtime_of(env), "/tmp/berth-1000");
  env.xdg_runtime_dir = "/run/user/1000";
  EXPECT_EQ(runtime_of(env), "/tmp/berth-1000");
  env.lingers = true;
  EXPECT_EQ(runtime_of(env), "/run/user/1000/berth");
  env.lingers = false;
  env.xdg_runtime_dir = "/run/user/10001";  // Not logind's for this user.
  EXPECT_EQ(runtime_of(env), "/run/user/10001/berth");
  env.runtime_dir = "/srv/x";
  EXPECT_EQ(runtime_of(env), "/srv/x");
}

TEST(Paths, StateIsApartForEachMachine) {
  Environment env = ana();
  EXPECT_EQ(paths_of(env, Mode::kUser, "")->state_dir, "/users/ana/.local/state/berth/0123");
  env.xdg_state_home = "/state";
  EXPECT_EQ(paths_of(env, Mode::kUser, "")->state_dir, "/state/berth/0123");
  EXPECT_EQ(paths_of(env, Mode::kUser, "/set")->state_dir, "/set");
  EXPECT_EQ(paths_of(env, Mode::kSystem, "")->state_dir, "/var/lib/berth");
  EXPECT_EQ(paths_of(env, Mode::kSystem, "")->socket, "/run/berth/berthd.sock");
}

TEST(Paths, SimulatedWorldNeverSharesAPlaceWithTheRealOne) {
  Environment env = ana();
  EXPECT_EQ(paths_of(env, Mode::kUser, "")->world, "real");
  env.sim = "2x16GiB";
  env.sim_name = "ci";
  for (const Mode mode : {Mode::kUser, Mode::kSystem}) {
    const Result<Paths> paths = paths_of(env, mode, "");
    ASSERT_TRUE(paths.ok());
    EXPECT_EQ(paths->world, "ci");
    EXPECT_TRUE(paths->runtime_dir.ends_with("/sim/ci")) << paths->runtime_dir;
    EXPECT_TRUE(paths->state_dir.ends_with("/sim/ci")) << paths->state_dir;
    EXPECT_EQ(paths->socket, paths->runtime_dir + "/berthd.sock");
  }
  env.sim_name.clear();
  EXPECT_EQ(*world_of(env), simulated_world_name("2x16GiB", ""));
  const Result<std::vector<std::string>> sockets = sockets_to_try(env);
  for (const std::string& socket : *sockets) {
    EXPECT_NE(socket.find("/sim/" + *world_of(env) + "/"), std::string::npos) << socket;
  }
}

TEST(Paths, WorldNamesCannotLeaveTheirDirectory) {
  Environment env = ana();
  env.sim = "1x16GiB";
  for (const char* name : {"..", ".", "a/b", "a b", "real", "ä", ".hidden"}) {
    env.sim_name = name;
    EXPECT_EQ(paths_of(env, Mode::kUser, "").error().code, Errc::kInvalid) << name;
    EXPECT_FALSE(sockets_to_try(env).ok()) << name;
  }
  env.sim_name = std::string(65, 'a');
  EXPECT_FALSE(world_of(env).ok());
}

TEST(Paths, TooLongSocketPathNamesThePathAndTheCure) {
  Environment env = ana();
  env.runtime_dir = "/" + std::string(107 - std::string("//berthd.sock").size(), 'x');
  EXPECT_TRUE(paths_of(env, Mode::kUser, "").ok());
  env.runtime_dir += "x";
  const Result<Paths> paths = paths_of(env, Mode::kUser, "");
  ASSERT_FALSE(paths.ok());
  EXPECT_EQ(paths.error().code, Errc::kInvalid);
  EXPECT_NE(paths.error().message.find(env.runtime_dir), std::string::npos);
  EXPECT_NE(paths.error().message.find("BERTH_RUNTIME_DIR"), std::string::npos);
  EXPECT_FALSE(sockets_to_try(env).ok());
}

TEST(Paths, RelativePathsAreRefused) {
  Environment env = ana();
  EXPECT_FALSE(paths_of(env, Mode::kUser, "state").ok());
  env.socket = "x.sock";
  EXPECT_FALSE(sockets_to_try(env).ok());
  env.socket.clear();
  env.runtime_dir = "run";
  EXPECT_FALSE(paths_of(env, Mode::kUser, "").ok());
  EXPECT_FALSE(sockets_to_try(env).ok());
}

TEST(Paths, ClientTriesSystemThenUserAndOnlyWhatWasNamed) {
  Environment env = ana();
  env.xdg_runtime_dir = "/run/user/1000";
  EXPECT_EQ(*sockets_to_try(env),
            (std::vector<std::string>{"/run/berth/berthd.sock", "/tmp/berth-1000/berthd.sock",
                                      "/run/user/1000/berth/berthd.sock"}));
  env.lingers = true;
  EXPECT_EQ(*sockets_to_try(env),
            (std::vector<std::string>{"/run/berth/berthd.sock", "/run/user/1000/berth/berthd.sock",
                                      "/tmp/berth-1000/berthd.sock"}));
  env.runtime_dir = "/srv/x";
  EXPECT_EQ(*sockets_to_try(env), std::vector<std::string>{"/srv/x/berthd.sock"});
  env.socket = "/srv/y.sock";
  EXPECT_EQ(*sockets_to_try(env), std::vector<std::string>{"/srv/y.sock"});
}

TEST(Paths, MadePlacesArePrivateInUserMode) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Environment env = ana();
  env.runtime_dir = folder + "/run";
  env.xdg_state_home = folder + "/state";
  const Paths paths = *paths_of(env, Mode::kUser, "");
  ASSERT_TRUE(make_daemon_directories(paths, Mode::kUser).ok());
  for (const std::string& made : {paths.runtime_dir, paths.state_dir}) {
    struct stat found{};
    ASSERT_EQ(::stat(made.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0700u) << made;
  }
  ASSERT_EQ(::chmod(paths.runtime_dir.c_str(), 0755), 0);
  EXPECT_EQ(make_daemon_directories(paths, Mode::kUser).error().code, Errc::kPermission);
  EXPECT_TRUE(make_daemon_directories(paths, Mode::kSystem).ok());
  std::filesystem::remove_all(folder);
}

// In /tmp another may have made the directory that those of simulated worlds lie in.
TEST(Paths, AWorldLiesInADirectoryOfItsUser) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Environment env = ana();
  env.runtime_dir = folder + "/run";
  env.xdg_state_home = folder + "/state";
  env.sim = "1x16GiB";
  env.sim_name = "small";
  const Paths paths = *paths_of(env, Mode::kUser, "");
  ASSERT_TRUE(make_daemon_directories(paths, Mode::kUser).ok());
  for (const char* above : {"/run", "/run/sim"}) {
    ASSERT_EQ(::chmod((folder + above).c_str(), 0777), 0);
    EXPECT_EQ(make_daemon_directories(paths, Mode::kUser).error().code, Errc::kPermission) << above;
    EXPECT_EQ(make_own_runtime_directory(paths).error().code, Errc::kPermission) << above;
    ASSERT_EQ(::chmod((folder + above).c_str(), 0755), 0);
    EXPECT_TRUE(make_daemon_directories(paths, Mode::kUser).ok()) << above;
  }
  std::filesystem::rename(folder + "/run", folder + "/elsewhere");
  std::filesystem::create_directory_symlink(folder + "/elsewhere", folder + "/run");
  EXPECT_EQ(make_daemon_directories(paths, Mode::kUser).error().code, Errc::kPermission);
  std::filesystem::remove_all(folder);
}

TEST(Paths, InSystemModeAllUsersGetAsFarAsTheSocketAndNobodyToTheJournal) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Environment env;
  env.runtime_dir = folder + "/run";
  env.sim = "1x16GiB";
  env.sim_name = "shared";
  const Paths paths = *paths_of(env, Mode::kSystem, folder + "/state");
  const mode_t before = ::umask(077);
  EXPECT_TRUE(make_daemon_directories(paths, Mode::kSystem).ok());
  ::umask(before);
  const auto mode_of = [&](const std::string& path) {
    struct stat found{};
    return ::stat((folder + path).c_str(), &found) == 0 ? found.st_mode & 07777U : 0U;
  };
  EXPECT_EQ(mode_of("/run"), 0755U);
  EXPECT_EQ(mode_of("/run/sim"), 0755U);
  EXPECT_EQ(mode_of("/run/sim/shared"), 0755U);
  EXPECT_EQ(mode_of("/state"), 0700U);
  std::filesystem::remove_all(folder);
}

TEST(Paths, ProjectConfigIsLookedForUpToTheRepositoryOrHome) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directories(folder + "/house/repo/.git");
  std::filesystem::create_directories(folder + "/house/repo/src/deep");
  std::filesystem::create_directories(folder + "/house/other");
  const std::string home = folder + "/house";
  const auto found = [&](const std::string& from) {
    return find_project_config(folder + from, home);
  };
  std::ofstream(folder + "/.berth.toml") << "above home";
  EXPECT_EQ(found("/house/repo/src/deep"), std::nullopt);
  EXPECT_EQ(found("/house/other"), std::nullopt);
  std::ofstream(home + "/.berth.toml") << "of home";
  EXPECT_EQ(found("/house/other"), home + "/.berth.toml");
  EXPECT_EQ(found("/house/repo/src/deep"), std::nullopt);
  std::ofstream(home + "/repo/.berth.toml") << "of the repository";
  EXPECT_EQ(found("/house/repo/src/deep"), home + "/repo/.berth.toml");
  EXPECT_EQ(find_project_config("relative", home), std::nullopt);
  std::filesystem::remove_all(folder);
}

TEST(Paths, ConfigurationFollowsXdgAndItsOwnVariable) {
  Environment env = ana();
  EXPECT_EQ(config_paths(env).user_file, "/users/ana/.config/berth/config.toml");
  env.xdg_config_home = "/c";
  EXPECT_EQ(config_paths(env).user_file, "/c/berth/config.toml");
  env.config = "/mine.toml";
  EXPECT_EQ(config_paths(env).user_file, "/mine.toml");
}

TEST(Paths, PlacesAreReadFromTheEnvironment) {
  ::setenv("BERTH_RUNTIME_DIR", "/srv/run", 1);
  ::setenv("BERTH_SIM", "1x8GiB", 1);
  ::setenv("XDG_STATE_HOME", "not/absolute", 1);
  ::setenv("XDG_RUNTIME_DIR", "/does/not/exist", 1);
  const Environment found = read_environment();
  for (const char* name : {"BERTH_RUNTIME_DIR", "BERTH_SIM", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(found.runtime_dir, "/srv/run");
  EXPECT_EQ(found.sim, "1x8GiB");
  EXPECT_EQ(found.xdg_state_home, "");
  EXPECT_EQ(found.xdg_runtime_dir, "");
  EXPECT_FALSE(found.home.empty());
}

}  // namespace
}  // namespace berth::os
