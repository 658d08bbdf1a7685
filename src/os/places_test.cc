// SPDX-License-Identifier: Apache-2.0
#include "os/places.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/simulated.h"

namespace berth::os {
namespace {

Surroundings ana() {
  Surroundings surroundings;
  surroundings.user = {1000};
  surroundings.home = "/users/ana";
  surroundings.machine_id = "0123";
  return surroundings;
}

std::string runtime_of(const Surroundings& surroundings) {
  return places_of(surroundings, Mode::kUser, "")->runtime_dir;
}

TEST(Places, RuntimeDirectoryOutlivesTheLastLogOut) {
  Surroundings surroundings = ana();
  EXPECT_EQ(runtime_of(surroundings), "/tmp/berth-1000");
  surroundings.xdg_runtime_dir = "/run/user/1000";
  EXPECT_EQ(runtime_of(surroundings), "/tmp/berth-1000");
  surroundings.lingers = true;
  EXPECT_EQ(runtime_of(surroundings), "/run/user/1000/berth");
  surroundings.lingers = false;
  surroundings.xdg_runtime_dir = "/run/user/10001";  // Not logind's for this user.
  EXPECT_EQ(runtime_of(surroundings), "/run/user/10001/berth");
  surroundings.runtime_dir = "/srv/x";
  EXPECT_EQ(runtime_of(surroundings), "/srv/x");
}

TEST(Places, StateIsApartForEachMachine) {
  Surroundings surroundings = ana();
  EXPECT_EQ(places_of(surroundings, Mode::kUser, "")->state_dir,
            "/users/ana/.local/state/berth/0123");
  surroundings.xdg_state_home = "/state";
  EXPECT_EQ(places_of(surroundings, Mode::kUser, "")->state_dir, "/state/berth/0123");
  EXPECT_EQ(places_of(surroundings, Mode::kUser, "/set")->state_dir, "/set");
  EXPECT_EQ(places_of(surroundings, Mode::kSystem, "")->state_dir, "/var/lib/berth");
  EXPECT_EQ(places_of(surroundings, Mode::kSystem, "")->socket, "/run/berth/berthd.sock");
}

TEST(Places, SimulatedWorldNeverSharesAPlaceWithTheRealOne) {
  Surroundings surroundings = ana();
  EXPECT_EQ(places_of(surroundings, Mode::kUser, "")->world, "real");
  surroundings.sim = "2x16GiB";
  surroundings.sim_name = "ci";
  for (const Mode mode : {Mode::kUser, Mode::kSystem}) {
    const Result<Places> places = places_of(surroundings, mode, "");
    ASSERT_TRUE(places.ok());
    EXPECT_EQ(places->world, "ci");
    EXPECT_TRUE(places->runtime_dir.ends_with("/sim/ci")) << places->runtime_dir;
    EXPECT_TRUE(places->state_dir.ends_with("/sim/ci")) << places->state_dir;
    EXPECT_EQ(places->socket, places->runtime_dir + "/berthd.sock");
  }
  surroundings.sim_name.clear();
  EXPECT_EQ(*world_of(surroundings), simulated_world_name("2x16GiB", ""));
  const Result<std::vector<std::string>> sockets = sockets_to_try(surroundings);
  for (const std::string& socket : *sockets) {
    EXPECT_NE(socket.find("/sim/" + *world_of(surroundings) + "/"), std::string::npos) << socket;
  }
}

TEST(Places, WorldNamesCannotLeaveTheirDirectory) {
  Surroundings surroundings = ana();
  surroundings.sim = "1x16GiB";
  for (const char* name : {"..", ".", "a/b", "a b", "real", "ä", ".hidden"}) {
    surroundings.sim_name = name;
    EXPECT_EQ(places_of(surroundings, Mode::kUser, "").error().code, Errc::kInvalid) << name;
    EXPECT_FALSE(sockets_to_try(surroundings).ok()) << name;
  }
  surroundings.sim_name = std::string(65, 'a');
  EXPECT_FALSE(world_of(surroundings).ok());
}

TEST(Places, TooLongSocketPathNamesThePathAndTheCure) {
  Surroundings surroundings = ana();
  surroundings.runtime_dir = "/" + std::string(107 - std::string("//berthd.sock").size(), 'x');
  EXPECT_TRUE(places_of(surroundings, Mode::kUser, "").ok());
  surroundings.runtime_dir += "x";
  const Result<Places> places = places_of(surroundings, Mode::kUser, "");
  ASSERT_FALSE(places.ok());
  EXPECT_EQ(places.error().code, Errc::kInvalid);
  EXPECT_NE(places.error().message.find(surroundings.runtime_dir), std::string::npos);
  EXPECT_NE(places.error().message.find("BERTH_RUNTIME_DIR"), std::string::npos);
  EXPECT_FALSE(sockets_to_try(surroundings).ok());
}

TEST(Places, RelativePathsAreRefused) {
  Surroundings surroundings = ana();
  EXPECT_FALSE(places_of(surroundings, Mode::kUser, "state").ok());
  surroundings.socket = "x.sock";
  EXPECT_FALSE(sockets_to_try(surroundings).ok());
  surroundings.socket.clear();
  surroundings.runtime_dir = "run";
  EXPECT_FALSE(places_of(surroundings, Mode::kUser, "").ok());
  EXPECT_FALSE(sockets_to_try(surroundings).ok());
}

TEST(Places, ClientTriesSystemThenUserAndOnlyWhatWasNamed) {
  Surroundings surroundings = ana();
  surroundings.xdg_runtime_dir = "/run/user/1000";
  EXPECT_EQ(*sockets_to_try(surroundings),
            (std::vector<std::string>{"/run/berth/berthd.sock", "/tmp/berth-1000/berthd.sock",
                                      "/run/user/1000/berth/berthd.sock"}));
  surroundings.lingers = true;
  EXPECT_EQ(*sockets_to_try(surroundings),
            (std::vector<std::string>{"/run/berth/berthd.sock", "/run/user/1000/berth/berthd.sock",
                                      "/tmp/berth-1000/berthd.sock"}));
  surroundings.runtime_dir = "/srv/x";
  EXPECT_EQ(*sockets_to_try(surroundings), std::vector<std::string>{"/srv/x/berthd.sock"});
  surroundings.socket = "/srv/y.sock";
  EXPECT_EQ(*sockets_to_try(surroundings), std::vector<std::string>{"/srv/y.sock"});
}

TEST(Places, MadePlacesArePrivateInUserMode) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Surroundings surroundings = ana();
  surroundings.runtime_dir = folder + "/run";
  surroundings.xdg_state_home = folder + "/state";
  const Places places = *places_of(surroundings, Mode::kUser, "");
  ASSERT_TRUE(make_places(places, Mode::kUser).ok());
  for (const std::string& made : {places.runtime_dir, places.state_dir}) {
    struct stat found{};
    ASSERT_EQ(::stat(made.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0700u) << made;
  }
  ASSERT_EQ(::chmod(places.runtime_dir.c_str(), 0755), 0);
  EXPECT_EQ(make_places(places, Mode::kUser).error().code, Errc::kPermission);
  EXPECT_TRUE(make_places(places, Mode::kSystem).ok());
  std::filesystem::remove_all(folder);
}

// In /tmp another may have made the directory that those of simulated worlds lie in.
TEST(Places, AWorldLiesInADirectoryOfItsUser) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Surroundings surroundings = ana();
  surroundings.runtime_dir = folder + "/run";
  surroundings.xdg_state_home = folder + "/state";
  surroundings.sim = "1x16GiB";
  surroundings.sim_name = "small";
  const Places places = *places_of(surroundings, Mode::kUser, "");
  ASSERT_TRUE(make_places(places, Mode::kUser).ok());
  for (const char* above : {"/run", "/run/sim"}) {
    ASSERT_EQ(::chmod((folder + above).c_str(), 0777), 0);
    EXPECT_EQ(make_places(places, Mode::kUser).error().code, Errc::kPermission) << above;
    EXPECT_EQ(make_own_runtime_directory(places).error().code, Errc::kPermission) << above;
    ASSERT_EQ(::chmod((folder + above).c_str(), 0755), 0);
    EXPECT_TRUE(make_places(places, Mode::kUser).ok()) << above;
  }
  std::filesystem::rename(folder + "/run", folder + "/elsewhere");
  std::filesystem::create_directory_symlink(folder + "/elsewhere", folder + "/run");
  EXPECT_EQ(make_places(places, Mode::kUser).error().code, Errc::kPermission);
  std::filesystem::remove_all(folder);
}

TEST(Places, InSystemModeAllUsersGetAsFarAsTheSocketAndNobodyToTheJournal) {
  std::string folder = testing::TempDir() + "berth-places-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Surroundings surroundings;
  surroundings.runtime_dir = folder + "/run";
  surroundings.sim = "1x16GiB";
  surroundings.sim_name = "shared";
  const Places places = *places_of(surroundings, Mode::kSystem, folder + "/state");
  const mode_t before = ::umask(077);
  EXPECT_TRUE(make_places(places, Mode::kSystem).ok());
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

TEST(Places, ProjectConfigIsLookedForUpToTheRepositoryOrHome) {
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

TEST(Places, ConfigurationFollowsXdgAndItsOwnVariable) {
  Surroundings surroundings = ana();
  EXPECT_EQ(config_paths(surroundings).user_file, "/users/ana/.config/berth/config.toml");
  surroundings.xdg_config_home = "/c";
  EXPECT_EQ(config_paths(surroundings).user_file, "/c/berth/config.toml");
  surroundings.config = "/mine.toml";
  EXPECT_EQ(config_paths(surroundings).user_file, "/mine.toml");
}

TEST(Places, SurroundingsAreReadFromTheEnvironment) {
  ::setenv("BERTH_RUNTIME_DIR", "/srv/run", 1);
  ::setenv("BERTH_SIM", "1x8GiB", 1);
  ::setenv("XDG_STATE_HOME", "not/absolute", 1);
  ::setenv("XDG_RUNTIME_DIR", "/does/not/exist", 1);
  const Surroundings found = surroundings_from_environment();
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
