// SPDX-License-Identifier: Apache-2.0
#include "jobs/named_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth::jobs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string problem_of(const Status& status) {
  return status.ok() ? "" : status.error().message;
}

TEST(NamedLog, IsFilledInAndFromTheDirectoryOfTheJob) {
  EXPECT_EQ(named_log("train.log", "/home/ada", "7", 1), "/home/ada/train.log");
  EXPECT_EQ(named_log("train.log", "/", "7", 1), "/train.log");
  EXPECT_EQ(named_log("/logs/%j-%a.log", "/home/ada", "17.3", 2), "/logs/17.3-2.log");
  EXPECT_EQ(named_log("%%j", "/home/50%j", "7", 1), "/home/50%j/%j");
}

TEST(NamedLog, OfASequenceThatMeansNothingIsRefusedAndNamesIt) {
  EXPECT_THAT(problem_of(check_log_name("a%A.log", Naming::kOneJob)),
              HasSubstr("'%A' in 'a%A.log'"));
  EXPECT_THAT(problem_of(check_log_name("50%", Naming::kOneJob)), HasSubstr("'%' in '50%'"));
  EXPECT_THAT(problem_of(check_log_name("%4j", Naming::kOneJob)), HasSubstr("'%4'"));
  EXPECT_EQ(problem_of(check_log_name("50%%-%j.%a", Naming::kOneJob)), "");
  EXPECT_THAT(problem_of(check_log_name("", Naming::kOneJob)), HasSubstr("no name of a file"));
  EXPECT_THAT(problem_of(check_log_name("logs/", Naming::kOneJob)), HasSubstr("no name of a file"));
}

TEST(NamedLog, IsOfOneMemberOfASetAlone) {
  EXPECT_THAT(problem_of(check_log_name("out.log", Naming::kSet)), HasSubstr("put %j in it"));
  EXPECT_THAT(problem_of(check_log_name("%a%%j", Naming::kSet)), HasSubstr("put %j in it"));
  EXPECT_EQ(problem_of(check_log_name("out-%j.log", Naming::kSet)), "");
}

TEST(NamedLog, HasADirectoryThatIsKnownWhenItIsSubmitted) {
  EXPECT_THAT(problem_of(check_log_name("%j/out", Naming::kOneJob)),
              HasSubstr("not for its directory"));
  EXPECT_EQ(problem_of(check_log_name("100%%/out-%j", Naming::kOneJob)), "");
}

TEST(NamedLog, CanBeWrittenOrIsRefused) {
  std::string root = testing::TempDir() + "logs.XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::ofstream(root + "/file") << "x";
  fs::create_directory(root + "/1");
  ::mkfifo((root + "/pipe").c_str(), 0600);
  EXPECT_EQ(problem_of(check_log_place("file", root)), "");
  EXPECT_EQ(problem_of(check_log_place("new", root)), "");
  EXPECT_EQ(problem_of(check_log_place("%j", root)), "") << "its number is not known yet";
  EXPECT_EQ(problem_of(check_log_place("/dev/null", root)), "");
  EXPECT_THAT(problem_of(check_log_place("1", root)), HasSubstr("/1' is no regular file"));
  EXPECT_THAT(problem_of(check_log_place("pipe", root)), HasSubstr("no regular file"));
  EXPECT_THAT(problem_of(check_log_place("/dev/zero", root)), HasSubstr("no regular file"));
  EXPECT_THAT(problem_of(check_log_place("none/new", root)),
              HasSubstr("--log: cannot write into '" + root + "/none/'"));
  EXPECT_THAT(problem_of(check_log_place("file/new", root)), HasSubstr("cannot write into"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace berth::jobs
