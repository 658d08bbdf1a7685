// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "checkpoint/temporary_folder_for_test.h"

namespace berth::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Writes nothing before it is let.
class GatedDisk final : public Disk {
 public:
  explicit GatedDisk(std::shared_future<void> open) : open_(std::move(open)) {}

  Result<os::UniqueFd> make(const std::string& path) override {
    open_.wait();
    return real_.make(path);
  }
  Status write(const os::UniqueFd& file, const std::string& path,
               std::span<const std::byte> bytes) override {
    return real_.write(file, path, bytes);
  }
  Status sync(const os::UniqueFd& file, const std::string& path) override {
    return real_.sync(file, path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return real_.rename(from, to);
  }
  Status sync_directory(const std::string& path) override { return real_.sync_directory(path); }
  Status remove(const std::string& path) override { return real_.remove(path); }
  Result<Bytes> free_space(const std::string&) override { return free; }

  Bytes free = gib(1);

 private:
  PosixDisk real_;
  std::shared_future<void> open_;  // Shared with the test, which opens it.
};

Snapshot snapshot(std::uint64_t step) {
  return {.step = step, .slot = Slot::kRegular, .state = "{}", .tensors = {}};
}

TEST(CheckpointWriter, TwoSavesNeedNotWaitForTheDiskAndAThirdDoes) {
  const TemporaryFolder folder;
  std::promise<void> gate;
  Result<std::unique_ptr<Writer>> writer = Writer::start(
      std::make_unique<GatedDisk>(gate.get_future().share()), {.directory = folder.path()});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE((*writer)->save_in_background(snapshot(1)).ok());
  ASSERT_TRUE((*writer)->save_in_background(snapshot(2)).ok());
  EXPECT_THAT((*writer)->reports(), SizeIs(0));  // Both returned before anything was written.
  std::future<bool> third = std::async(
      std::launch::async, [&] { return (*writer)->save_in_background(snapshot(3)).ok(); });
  gate.set_value();
  EXPECT_TRUE(third.get());
  ASSERT_TRUE((*writer)->wait().ok());
  EXPECT_THAT((*writer)->reports(), SizeIs(3));
}

TEST(CheckpointWriter, WhatFailsInTheBackgroundIsReported) {
  const TemporaryFolder folder;
  std::promise<void> gate;
  gate.set_value();
  auto disk = std::make_unique<GatedDisk>(gate.get_future().share());
  disk->free = kib(1);
  Result<std::unique_ptr<Writer>> writer =
      Writer::start(std::move(disk), {.directory = folder.path()});
  ASSERT_TRUE(writer.ok());
  for (std::uint64_t step = 0; step < 100; ++step) {
    ASSERT_TRUE((*writer)->save_in_background(snapshot(step)).ok());
  }
  ASSERT_TRUE((*writer)->wait().ok());
  const std::vector<Result<Saved>> reports = (*writer)->reports();
  ASSERT_THAT(reports, SizeIs(64));
  for (const Result<Saved>& report : reports) {
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, HasSubstr("1.0 KiB left"));
  }
}

}  // namespace
}  // namespace berth::checkpoint
