// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/trusted.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "os/files.h"

namespace berth::cli {
namespace {

class Trusting : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = testing::TempDir() + "trusting." +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Trusting, KeepsACopyOfEachPath) {
  const TrustedPlans plans(folder_ + "/trusted");
  EXPECT_EQ(*plans.content("/a/berth.toml"), std::nullopt);
  ASSERT_TRUE(plans.trust("/a/berth.toml", "one\ntwo").ok());
  EXPECT_EQ(*plans.content("/a/berth.toml"), "one\ntwo");
  EXPECT_EQ(*plans.content("/b/berth.toml"), std::nullopt);
  ASSERT_TRUE(plans.trust("/a/berth.toml", "three").ok());
  EXPECT_EQ(*plans.content("/a/berth.toml"), "three");
}

// As if two paths had one hash.
TEST_F(Trusting, ACopyIsOfThePathInItsFirstLineAlone) {
  const std::string folder = folder_ + "/trusted";
  const TrustedPlans plans(folder);
  ASSERT_TRUE(plans.trust("/a/berth.toml", "one").ok());
  const std::string file = std::filesystem::directory_iterator(folder)->path();
  ASSERT_TRUE(os::write_file_atomically(file, "/b/berth.toml\none", 0600, os::Sync::kNone).ok());
  EXPECT_EQ(*plans.content("/a/berth.toml"), std::nullopt);
}

TEST_F(Trusting, APlanThatOthersCanWriteIsNotRead) {
  const std::string file = folder_ + "/berth.toml";
  ASSERT_TRUE(os::write_file_atomically(file, "x", 0664, os::Sync::kNone).ok());
  const auto read = read_plan(file);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kPermission);
  EXPECT_EQ(read_plan(folder_ + "/none.toml").error().code, Errc::kNotFound);
}

TEST(Difference, IsTheLinesBetweenThoseThatAreTheSame) {
  EXPECT_EQ(difference("a\nb\nc\nd\n", "a\nx\ny\nd\n"), "- b\n- c\n+ x\n+ y\n");
  EXPECT_EQ(difference("a\nb\n", "a\nb\nc\n"), "+ c\n");
  EXPECT_EQ(difference("a\na\n", "a\n"), "- a\n");
  EXPECT_EQ(difference("a\n", "a"), "");
}

}  // namespace
}  // namespace berth::cli
