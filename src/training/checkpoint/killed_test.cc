// SPDX-License-Identifier: Apache-2.0
// Saves by a process that is killed in the midst of one: at each of many bytes and calls, and
// wherever it happens to be.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "berth/checkpoint.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/faulty_disk_for_test.h"
#include "checkpoint/temporary_folder_for_test.h"

namespace berth::checkpoint {
namespace {

constexpr std::size_t kElements = 64;

Tensor tensor_of(const std::vector<std::uint64_t>& elements) {
  return {.name = "t",
          .dtype = Dtype::kU64,
          .shape = {elements.size()},
          .data = elements.data(),
          .bytes = elements.size() * 8};
}

Result<Saved> save(CheckpointDirectory& checkpoints, std::uint64_t step) {
  const std::vector<std::uint64_t> elements(kElements, step);
  TRY(plan, plan_file({tensor_of(elements)}));
  return checkpoints.save(plan, {.step = step, .slot = Slot::kRegular, .state = "{}"});
}

// The step of the newest; 0 where there is none, or it is not what was saved.
std::uint64_t newest_step(const std::string& directory) {
  const Outcome<Loaded> loaded = load_newest(directory);
  if (!loaded.ok()) return 0;
  const auto* const elements = static_cast<const std::uint64_t*>(loaded->find("t")->data);
  for (std::size_t i = 0; i < kElements; ++i) {
    if (elements[i] != loaded->step()) return 0;
  }
  return loaded->step();
}

// Saves step 3 in a child that is killed once `bytes` were written; true where it was.
bool save_and_be_killed(const std::string& directory, std::uint64_t bytes) {
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    FaultyDisk disk;
    disk.set_on_byte([bytes](std::uint64_t written) {
      if (written == bytes) (void)::kill(::getpid(), SIGKILL);
    });
    Result<CheckpointDirectory> checkpoints =
        CheckpointDirectory::open(disk, directory, {.last = 2});
    ::_exit(checkpoints.ok() && save(*checkpoints, 3).ok() ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  EXPECT_TRUE(WIFSIGNALED(status) || status == 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(KilledWhileSaving, AtAnyByteOnlyTheNewestIsLost) {
  const TemporaryFolder before;
  PosixDisk disk;
  {
    Result<CheckpointDirectory> checkpoints =
        CheckpointDirectory::open(disk, before.path(), {.last = 2});
    ASSERT_TRUE(checkpoints.ok());
    for (const std::uint64_t step : {1U, 2U}) ASSERT_TRUE(save(*checkpoints, step).ok());
  }
  unsigned killed = 0;
  for (std::uint64_t bytes = 1;; bytes += 7) {
    const TemporaryFolder folder;
    std::filesystem::copy(before.path(), folder.path());
    if (!save_and_be_killed(folder.path(), bytes)) break;
    ++killed;
    const std::uint64_t found = newest_step(folder.path());
    ASSERT_TRUE(found == 2 || found == 3) << "killed at byte " << bytes << ": " << found;
    Result<CheckpointDirectory> again = CheckpointDirectory::open(disk, folder.path(), {.last = 2});
    ASSERT_TRUE(again.ok()) << again.error().message;
    for (const std::string& name : folder.names()) EXPECT_FALSE(is_temporary(name)) << name;
    ASSERT_TRUE(save(*again, 4).ok());
    EXPECT_EQ(newest_step(folder.path()), 4);
  }
  EXPECT_GE(killed, 100);
}

// A child that saves without end, in the background, and tells which saves were confirmed.
[[noreturn]] void save_for_ever(const std::string& directory, int told) {
  Outcome<Store> store = Store::open({.directory = directory, .keep_last = 2});
  if (!store.ok()) ::_exit(1);
  std::vector<std::uint64_t> elements(kElements);
  for (std::uint64_t step = 1;; ++step) {
    elements.assign(kElements, step);
    if (!store->save_in_background({.step = step, .tensors = {tensor_of(elements)}}).ok()) break;
    for (const Outcome<Saved>& report : store->reports()) {
      if (!report.ok() || ::write(told, &report->step, sizeof report->step) < 0) ::_exit(1);
    }
  }
  ::_exit(1);
}

TEST(KilledWhileSaving, WhatWasConfirmedIsThere) {
  for (int round = 0; round < 10; ++round) {
    const TemporaryFolder folder;
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(folder.path(), pipe[1]);
    ::close(pipe[1]);
    std::uint64_t confirmed = 0;
    while (confirmed < 2U + static_cast<unsigned>(round)) {
      ASSERT_EQ(::read(pipe[0], &confirmed, sizeof confirmed), 8);
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    while (::read(pipe[0], &confirmed, sizeof confirmed) == 8) {
    }
    ::close(pipe[0]);
    EXPECT_GE(newest_step(folder.path()), confirmed);
  }
}

}  // namespace
}  // namespace berth::checkpoint
