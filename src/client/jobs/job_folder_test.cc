// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace berth::jobs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 0777U;
}

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string path = testing::TempDir() + "jobs.XXXXXX";
    root_ = ::mkdtemp(path.data());
    folder = JobFolder(root_ + "/state/jobs");
  }
  ~Folder() override { fs::remove_all(root_); }
  Status add(std::uint64_t id) {
    return folder.add({.id = {id}, .handle = {1, id}, .directory = "/"},
                      {.arguments = {"-m", "8G", "--", "true"}, .environment = {"SECRET=hush"}});
  }
  std::string root_;
  JobFolder folder{""};
};

TEST_F(Folder, KeepsWhatIsToBeStartedForItsOwnerAlone) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_EQ(folder.read({7})->handle, (Handle{1, 7}));
  EXPECT_THAT(*folder.arguments({7}), ElementsAre("-m", "8G", "--", "true"));
  EXPECT_THAT(*folder.environment({7}), ElementsAre("SECRET=hush"));
  EXPECT_EQ(mode_of(folder.path()), 0700U);
  EXPECT_EQ(mode_of(folder.path_of({7})), 0700U);
  for (const char* name : {"job", "arguments", "environment"}) {
    EXPECT_EQ(mode_of(folder.path_of({7}) + "/" + name), 0600U) << name;
  }
}

TEST_F(Folder, IsWrittenToTheDiskAlsoWhereItIsOverMeanwhile) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_TRUE(folder.sync({7}).ok());
  ASSERT_TRUE(folder.finish({7}, {.result = EndResult::kOk}).ok());
  EXPECT_TRUE(folder.sync({7}).ok());
  EXPECT_FALSE(folder.sync({8}).ok());
}

TEST_F(Folder, ListsJobsByTheirNumbersAndNothingElse) {
  EXPECT_THAT(folder.list(), ElementsAre());
  ASSERT_TRUE(add(10).ok());
  ASSERT_TRUE(add(9).ok());
  fs::create_directory(folder.path() + "/new-11");
  EXPECT_THAT(folder.list(), ElementsAre(LeaseId{9}, LeaseId{10}));
  EXPECT_TRUE(folder.has({9}));
  EXPECT_FALSE(folder.has({11}));
}

TEST_F(Folder, WhatWasLeftHalfMadeIsInNobodysWay) {
  ASSERT_TRUE(folder.make().ok());
  fs::create_directory(folder.path() + "/new-7");
  std::ofstream(folder.path() + "/new-7/job") << "{";
  ASSERT_TRUE(add(7).ok());
  EXPECT_TRUE(folder.read({7}).ok());
}

TEST_F(Folder, TheEnvironmentGoesWithTheLastAttempt) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_EQ(folder.result({7}), std::nullopt);
  const JobResult result{.result = EndResult::kOk, .code = 0};
  ASSERT_TRUE(folder.finish({7}, result).ok());
  EXPECT_EQ(folder.result({7}), result);
  EXPECT_FALSE(fs::exists(folder.path_of({7}) + "/environment"));
  EXPECT_EQ(mode_of(folder.path_of({7}) + "/result"), 0600U);
}

TEST_F(Folder, WhatIsOverCanBeRemovedAndNothingElse) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_EQ(folder.remove({7}).error().code, Errc::kConflict);
  EXPECT_EQ(folder.finished_at({7}), std::nullopt);
  ASSERT_TRUE(folder.finish({7}, {.result = EndResult::kOk}).ok());
  EXPECT_GT(folder.finished_at({7})->value, 1'700'000'000'000);
  EXPECT_TRUE(folder.remove({7}).ok());
  EXPECT_FALSE(folder.has({7}));
  EXPECT_FALSE(fs::exists(folder.path() + "/old-7"));
  EXPECT_FALSE(folder.remove({7}).ok());
}

TEST_F(Folder, KeepsTheMembersOfASetInIt) {
  ASSERT_TRUE(
      folder
          .add(
              {.id = {7}, .handle = {1, 7}, .directory = "/", .members = 2, .running_max = 1},
              {.arguments = {"{item}"}, .environment = {}, .lines = {"a", "b\nc"}, .request = "{}"})
          .ok());
  EXPECT_THAT(*folder.lines({7}), ElementsAre("a", "b\nc"));
  EXPECT_EQ(*folder.request({7}), "{}");
  EXPECT_EQ(folder.read({7})->members, 2U);
  const JobFolder members = folder.members_of({7});
  EXPECT_THAT(members.list(), ElementsAre());
  ASSERT_TRUE(members.add({.id = {2}, .handle = {1, 8}, .directory = "/"}, {}).ok());
  EXPECT_THAT(members.list(), ElementsAre(LeaseId{2}));
  EXPECT_EQ(members.name_of({2}), "7.2");
  EXPECT_THAT(folder.list(), ElementsAre(LeaseId{7}));
}

TEST_F(Folder, WhatIsSetAsideIsFoundNoMore) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_TRUE(folder.set_aside({7}).ok());
  EXPECT_FALSE(folder.has({7}));
  EXPECT_TRUE(fs::exists(folder.path() + "/bad-7/job"));
  EXPECT_FALSE(fs::exists(folder.path() + "/bad-7/environment"));
  ASSERT_TRUE(add(7).ok());
  EXPECT_TRUE(folder.set_aside({7}).ok());
}

TEST_F(Folder, CountsAttempts) {
  ASSERT_TRUE(add(7).ok());
  EXPECT_EQ(folder.attempts({7}), 0U);
  std::ofstream(folder.status_path({7}, 1)) << "{\"phase\":\"run\"}\n";
  fs::permissions(folder.status_path({7}, 1), fs::perms(0600));
  EXPECT_EQ(folder.attempts({7}), 1U);
  EXPECT_TRUE(folder.attempt({7}, 1).ran);
  EXPECT_EQ(folder.attempt({7}, 2), Attempt{});
}

TEST_F(Folder, WhatOthersMayReadOrIsOfAnotherJobIsRefused) {
  ASSERT_TRUE(add(7).ok());
  fs::rename(folder.path_of({7}), folder.path_of({8}));
  EXPECT_THAT(folder.read({8}).error().message, HasSubstr("is of another job"));
  fs::permissions(folder.path_of({8}) + "/job", fs::perms(0644));
  EXPECT_EQ(folder.read({8}).error().code, Errc::kPermission);
}

TEST_F(Folder, WakesTheKeeperWhereThereIsOne) {
  EXPECT_TRUE(folder.is_kept()) << "nobody has submitted anything";
  ASSERT_TRUE(folder.make().ok());
  EXPECT_FALSE(folder.wake());
  {
    const auto pipe = folder.listen();
    ASSERT_TRUE(pipe.ok());
    EXPECT_TRUE(folder.is_kept());
    EXPECT_TRUE(folder.wake());
    char heard = 'x';
    EXPECT_EQ(::read(pipe->get(), &heard, 1), 1);
    EXPECT_LT(::read(pipe->get(), &heard, 1), 0) << "once";
  }
  EXPECT_FALSE(folder.wake());
  EXPECT_FALSE(folder.is_kept());
}

}  // namespace
}  // namespace berth::jobs
