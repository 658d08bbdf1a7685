// SPDX-License-Identifier: Apache-2.0
// Saves on a disk on which each call in turn goes wrong, and what a power cut leaves of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/faulty_disk_for_test.h"
#include "checkpoint/temporary_folder_for_test.h"

namespace berth::checkpoint {

FaultyDisk::Verdict FaultyDisk::judge() {
  ++calls_;
  if (ended_) return Verdict::kFail;
  if (until_fault_ == 0) return Verdict::kGoOn;
  --until_fault_;
  if (until_fault_ != 0) return Verdict::kGoOn;
  faulted_ = true;
  ended_ = fault_ == Fault::kEnd;
  if (fault_ == Fault::kLie) return Verdict::kLie;
  return fault_ == Fault::kFail ? Verdict::kFail : Verdict::kHalf;
}

Status FaultyDisk::failed(const std::string& path) const {
  return Error{Errc::kIo, "told to fail at " + path};
}

Result<os::UniqueFd> FaultyDisk::make(const std::string& path) {
  if (judge() == Verdict::kFail) return failed(path).error();
  unsynced_[path] = "";
  return real_.make(path);
}

Status FaultyDisk::write(const os::UniqueFd& file, const std::string& path,
                         std::span<const std::byte> bytes) {
  const Verdict verdict = judge();
  if (verdict == Verdict::kFail) return failed(path);
  std::vector<std::byte> meant(bytes.begin(), bytes.end());
  if (verdict == Verdict::kHalf) meant.resize(bytes.size() / 2);
  if (verdict == Verdict::kLie) meant[bytes.size() / 2] ^= std::byte{1};
  for (std::size_t at = 0; at < meant.size();) {
    const std::size_t size = on_byte_ ? 1 : meant.size();
    TRY_STATUS(real_.write(file, path, std::span(meant).subspan(at, size)));
    at += size;
    bytes_ += size;
    if (on_byte_) on_byte_(bytes_);
  }
  return verdict == Verdict::kHalf ? failed(path) : Status(Unit{});
}

Status FaultyDisk::sync(const os::UniqueFd& file, const std::string& path) {
  if (judge() != Verdict::kGoOn) return failed(path);
  unsynced_.erase(path);
  return real_.sync(file, path);
}

Status FaultyDisk::rename(const std::string& from, const std::string& to) {
  if (judge() != Verdict::kGoOn) return failed(to);
  std::ifstream before(to, std::ios::binary);
  unsynced_renames_.push_back(
      {.from = from, .to = to, .before = {std::istreambuf_iterator<char>(before), {}}});
  const auto unsynced = unsynced_.extract(from);
  if (!unsynced.empty()) unsynced_[to] = "";
  return real_.rename(from, to);
}

Status FaultyDisk::sync_directory(const std::string& path) {
  if (judge() != Verdict::kGoOn) return failed(path);
  unsynced_renames_.clear();
  return real_.sync_directory(path);
}

Status FaultyDisk::remove(const std::string& path) {
  if (judge() != Verdict::kGoOn) return failed(path);
  return real_.remove(path);
}

Result<Bytes> FaultyDisk::free_space(const std::string& directory) {
  if (judge() != Verdict::kGoOn) return failed(directory).error();
  return free_;
}

void FaultyDisk::cut_power() {
  std::error_code error;
  for (const auto& [path, content] : unsynced_) std::filesystem::resize_file(path, 0, error);
  std::ranges::reverse(unsynced_renames_);
  for (const Rename& each : unsynced_renames_) {
    std::filesystem::rename(each.to, each.from, error);
    if (!each.before.empty()) std::ofstream(each.to, std::ios::binary) << each.before;
  }
  unsynced_.clear();
  unsynced_renames_.clear();
}

namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Fault = FaultyDisk::Fault;

// Two tensors whose content follows from the step, and a state that names it.
struct Sample {
  explicit Sample(std::uint64_t step_given)
      : step(step_given), weights{static_cast<float>(step), 2, 3}, counter(step * 7) {}

  Result<Saved> save_to(CheckpointDirectory& checkpoints, Slot slot = Slot::kRegular) const {
    TRY(plan, plan_file({{.name = "weights",
                          .dtype = Dtype::kF32,
                          .shape = {3},
                          .data = weights.data(),
                          .bytes = sizeof weights},
                         {.name = "counter",
                          .dtype = Dtype::kU64,
                          .shape = {},
                          .data = &counter,
                          .bytes = 8}}));
    return checkpoints.save(plan, {.step = step, .slot = slot, .state = state()});
  }
  std::string state() const { return "{\"lr\":" + std::to_string(step) + "}"; }
  bool is(const Checkpoint& found) const {
    const std::vector<Tensor>& tensors = found.content.tensors;
    return found.about.step == step && found.about.state == state() && tensors.size() == 2 &&
           std::memcmp(tensors[0].data, &counter, 8) == 0 &&
           std::ranges::equal(std::span(static_cast<const float*>(tensors[1].data), 3), weights);
  }

  std::uint64_t step;
  std::array<float, 3> weights;
  std::uint64_t counter;
};

// What a program that starts anew finds: the newest is of one of these steps, and whole.
::testing::AssertionResult newest_is_one_of(const std::string& directory,
                                            const std::vector<std::uint64_t>& steps) {
  const Result<Newest> newest = read_newest(directory, {});
  if (!newest.ok()) return ::testing::AssertionFailure() << newest.error().message;
  for (const std::uint64_t step : steps) {
    if (Sample(step).is(newest->checkpoint)) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "found step " << newest->checkpoint.about.step;
}

// How many calls a save makes beside two that are there.
std::uint64_t calls_of_a_save() {
  const TemporaryFolder folder;
  FaultyDisk disk;
  Result<CheckpointDirectory> checkpoints =
      CheckpointDirectory::open(disk, folder.path(), {.last = 2});
  CHECK(checkpoints.ok());
  for (const std::uint64_t step : {1U, 2U}) CHECK(Sample(step).save_to(*checkpoints).ok());
  const std::uint64_t before = disk.calls();
  CHECK(Sample(3).save_to(*checkpoints).ok());
  return disk.calls() - before;
}

class AtEachCall : public ::testing::TestWithParam<Fault> {};

TEST_P(AtEachCall, AFailedSaveLosesNothingOlder) {
  const std::uint64_t calls = calls_of_a_save();
  ASSERT_GT(calls, 10);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    const TemporaryFolder folder;
    FaultyDisk disk;
    {
      Result<CheckpointDirectory> checkpoints =
          CheckpointDirectory::open(disk, folder.path(), {.last = 2});
      ASSERT_TRUE(checkpoints.ok());
      for (const std::uint64_t step : {1U, 2U})
        ASSERT_TRUE(Sample(step).save_to(*checkpoints).ok());
      disk.set_fault(nth, GetParam());
      const Result<Saved> saved = Sample(3).save_to(*checkpoints);
      EXPECT_TRUE(disk.faulted()) << nth;
      if (saved.ok()) {
        EXPECT_TRUE(newest_is_one_of(folder.path(), {3})) << nth;
      } else {
        EXPECT_FALSE(saved.error().message.empty());
        EXPECT_TRUE(newest_is_one_of(folder.path(), {2, 3})) << nth;
      }
      if (GetParam() == Fault::kEnd) disk.cut_power();
      EXPECT_TRUE(newest_is_one_of(folder.path(), {saved.ok() ? 3U : 2U, 3U})) << nth;
      disk.set_fault(0, Fault::kFail);
    }
    // The next process that opens it can go on, and finds nothing half-done.
    Result<CheckpointDirectory> again = CheckpointDirectory::open(disk, folder.path(), {.last = 2});
    ASSERT_TRUE(again.ok()) << again.error().message;
    const Result<Saved> saved = Sample(4).save_to(*again);
    ASSERT_TRUE(saved.ok()) << nth << ": " << saved.error().message;
    EXPECT_TRUE(newest_is_one_of(folder.path(), {4})) << nth;
    EXPECT_THAT(folder.names(), SizeIs(4)) << nth;  // Two, LATEST and the lock.
  }
}

INSTANTIATE_TEST_SUITE_P(FaultyDisk, AtEachCall,
                         ::testing::Values(Fault::kFail, Fault::kTear, Fault::kEnd));

TEST(FaultyDisk, AWriteThatLiesIsFoundBeforeAnythingIsRemoved) {
  const std::uint64_t calls = calls_of_a_save();
  unsigned found = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    const TemporaryFolder folder;
    FaultyDisk disk;
    Result<CheckpointDirectory> checkpoints =
        CheckpointDirectory::open(disk, folder.path(), {.last = 1});
    ASSERT_TRUE(checkpoints.ok());
    ASSERT_TRUE(Sample(1).save_to(*checkpoints).ok());
    disk.set_fault(nth, Fault::kLie);
    const Result<Saved> saved = Sample(2).save_to(*checkpoints);
    if (!saved.ok() && saved.error().code == Errc::kCorrupt) {
      ++found;
      EXPECT_THAT(saved.error().message, HasSubstr("cannot be read back"));
      EXPECT_TRUE(newest_is_one_of(folder.path(), {1})) << nth;
    } else {
      EXPECT_TRUE(newest_is_one_of(folder.path(), {1, 2})) << nth;
    }
  }
  EXPECT_EQ(found, 3);  // The head and both tensors.
}

TEST(FaultyDisk, APowerCutAfterASaveLosesNothing) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  Result<CheckpointDirectory> checkpoints =
      CheckpointDirectory::open(disk, folder.path(), {.last = 1});
  ASSERT_TRUE(checkpoints.ok());
  for (const std::uint64_t step : {1U, 2U, 3U}) {
    ASSERT_TRUE(Sample(step).save_to(*checkpoints).ok());
    disk.cut_power();
    EXPECT_TRUE(newest_is_one_of(folder.path(), {step}));
  }
}

TEST(FaultyDisk, WhatDoesNotFitIsNotBegun) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  Result<CheckpointDirectory> checkpoints =
      CheckpointDirectory::open(disk, folder.path(), {.last = 1});
  ASSERT_TRUE(checkpoints.ok());
  ASSERT_TRUE(Sample(1).save_to(*checkpoints).ok());
  const std::vector<std::string> before = folder.names();
  disk.set_free_space(kib(64));
  const std::uint64_t calls = disk.calls();
  const Result<Saved> saved = Sample(2).save_to(*checkpoints);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, Errc::kFull);
  EXPECT_THAT(saved.error().message, HasSubstr("needs 332 B"));
  EXPECT_THAT(saved.error().message, HasSubstr("has 64.0 KiB left"));
  EXPECT_EQ(disk.calls(), calls + 1);  // It has asked, and done nothing.
  EXPECT_EQ(folder.names(), before);
  EXPECT_TRUE(newest_is_one_of(folder.path(), {1}));
}

}  // namespace
}  // namespace berth::checkpoint
