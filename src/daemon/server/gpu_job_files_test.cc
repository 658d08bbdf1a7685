// SPDX-License-Identifier: Apache-2.0
#include "server/gpu_job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace berth::server {
namespace {

class GpuJobFilesTest : public ::testing::Test {
 protected:
  GpuJobFilesTest() { std::filesystem::create_directory(folder_); }
  ~GpuJobFilesTest() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const {
    std::ifstream stream(folder_ + "/" + name);
    if (!stream) return "none";
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static DeviceView device(std::uint32_t index, std::vector<LeaseId> leases) {
    return {.index = index, .leases = std::move(leases)};
  }

  const std::string folder_ = ::testing::TempDir() + "gpu_jobs_" + std::to_string(::getpid());
  std::vector<std::string> warnings_;
  GpuJobFiles files_{folder_, [this](const std::string& text) { warnings_.push_back(text); }};
};

TEST_F(GpuJobFilesTest, EachGpuHasAFileWithItsLeasesALine) {
  files_.keep({device(0, {{12}, {13}}), device(1, {})});
  EXPECT_EQ(file("0"), "12\n13\n");
  EXPECT_EQ(file("1"), "");
  files_.keep({device(0, {{13}}), device(1, {{14}})});
  EXPECT_EQ(file("0"), "13\n");
  EXPECT_EQ(file("1"), "14\n");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(GpuJobFilesTest, WhatReadsTheSameIsNotWrittenAgain) {
  files_.keep({device(0, {{12}})});
  std::filesystem::remove(folder_ + "/0");
  files_.keep({device(0, {{12}})});
  EXPECT_EQ(file("0"), "none");
}

TEST_F(GpuJobFilesTest, ThatTheyCannotBeWrittenIsSaidOnceAndThenTheyAre) {
  std::filesystem::remove_all(folder_);
  files_.keep({device(0, {{12}})});
  files_.keep({device(0, {{13}})});
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], ::testing::StartsWith("metrics.gpu_jobs_dir: "));
  std::filesystem::create_directory(folder_);
  files_.keep({device(0, {{13}})});
  EXPECT_EQ(file("0"), "13\n");
}

}  // namespace
}  // namespace berth::server
