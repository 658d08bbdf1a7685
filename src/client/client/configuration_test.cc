// SPDX-License-Identifier: Apache-2.0
#include "client/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigurationTest : public testing::Test {
 protected:
  ConfigurationTest() {
    std::string pattern = testing::TempDir() + "berth-configuration-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    env_.home = pattern + "/home";
    env_.xdg_config_home = pattern + "/config";
  }
  ~ConfigurationTest() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& path, mode_t mode = 0600) {
    const std::filesystem::path whole = directory_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << "# " << path;
    ASSERT_EQ(::chmod(whole.c_str(), mode), 0);
  }
  // The files below the test's directory, by their place in it.
  std::vector<std::string> found_in(const std::string& folder,
                                    ProjectFile project = ProjectFile::kRead) {
    const Result<ConfigurationInput> found = find_configuration(env_, directory_ / folder, project);
    if (!found.ok()) return {"error: " + found.error().message};
    passed_over_ = found->passed_over;
    std::vector<std::string> paths;
    for (const config::File& file : found->input.files) {
      const std::string path = file.path;
      if (path.starts_with(directory_.string())) {
        paths.push_back(path.substr(directory_.string().size() + 1));
        EXPECT_EQ(file.text, "# " + paths.back());
      }
    }
    return paths;
  }

  std::filesystem::path directory_;
  os::Environment env_;
  std::vector<std::string> passed_over_;
};

TEST_F(ConfigurationTest, ProjectComesAfterTheUser) {
  write("home/project/.berth.toml");
  write("config/berth/config.toml");
  EXPECT_THAT(found_in("home/project/below"),
              ElementsAre("config/berth/config.toml", "home/project/.berth.toml"));
  EXPECT_THAT(found_in("home/project", ProjectFile::kIgnore),
              ElementsAre("config/berth/config.toml"));
}

TEST_F(ConfigurationTest, NoFilesAreNoError) {
  EXPECT_THAT(found_in("home"), IsEmpty());
}

TEST_F(ConfigurationTest, FileOfTheUserThatOthersMayWriteIsRefused) {
  write("config/berth/config.toml", 0620);
  EXPECT_THAT(found_in("home"), ElementsAre(HasSubstr("chmod go-w")));
}

TEST_F(ConfigurationTest, FileOfAProjectThatOthersMayWriteIsPassedOver) {
  write("home/project/.berth.toml", 0602);
  EXPECT_THAT(found_in("home/project"), IsEmpty());
  EXPECT_THAT(passed_over_, ElementsAre(HasSubstr("home/project/.berth.toml")));
}

TEST_F(ConfigurationTest, FileThatTheEnvironmentNamesMustBeThere) {
  env_.config = directory_ / "mine.toml";
  EXPECT_THAT(found_in("home"), ElementsAre(HasSubstr("BERTH_CONFIG")));
  write("mine.toml");
  EXPECT_THAT(found_in("home"), ElementsAre("mine.toml"));
}

TEST_F(ConfigurationTest, VariablesStandAboveFiles) {
  ::setenv("BERTH_DEFAULT_VRAM", "4GiB", 1);
  const Result<ConfigurationInput> found =
      find_configuration(env_, directory_, ProjectFile::kIgnore);
  ::unsetenv("BERTH_DEFAULT_VRAM");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->input.overrides.size(), 1);
  EXPECT_EQ(found->input.overrides[0].text, "4GiB");
}

}  // namespace
}  // namespace berth::client
