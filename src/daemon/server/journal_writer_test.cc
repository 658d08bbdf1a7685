// SPDX-License-Identifier: Apache-2.0
#include "server/journal_writer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace berth::server {
namespace {

class FakeDisk : public World {
 public:
  Status append(const std::vector<Record>& records) override {
    if (full) return Error{Errc::kFull, "/state/leases.db: no space left"};
    for (const Record& record : records) written.push_back(record.sequence);
    return Unit{};
  }
  Status replace(const std::vector<Record>& snapshot, std::uint64_t /*last_sequence*/) override {
    if (full) return Error{Errc::kFull, "/state/leases.db: no space left"};
    written.clear();
    snapshot_size = snapshot.size();
    return Unit{};
  }
  bool watch(Process /*process*/) override { return true; }
  void unwatch(Process /*process*/) override {}
  bool signal(const core::Signal& /*signal*/) override { return true; }
  void ask_probe() override {}
  void say(const std::string& /*text*/) override {}

  bool full = false;
  std::vector<std::uint64_t> written;
  std::optional<std::size_t> snapshot_size;
};

std::vector<Record> records(std::uint64_t first, std::uint64_t count) {
  std::vector<Record> made;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.push_back({.sequence = first + i, .at = {}, .wall = {}, .fact = LeaseEnded{}});
  }
  return made;
}

constexpr Instant kStart{1'000'000'000};

TEST(JournalWriter, WhatCouldNotBeWrittenGoesFirstNextTime) {
  FakeDisk disk;
  JournalWriter writer(disk);
  EXPECT_TRUE(writer.append(kStart, records(1, 1)).ok());
  disk.full = true;
  EXPECT_FALSE(writer.append(kStart, records(2, 2)).ok());
  EXPECT_FALSE(writer.append(kStart, records(4, 1)).ok());
  EXPECT_TRUE(writer.behind());
  disk.full = false;
  EXPECT_TRUE(writer.append(kStart, records(5, 1)).ok());
  EXPECT_FALSE(writer.behind());
  EXPECT_EQ(disk.written, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(JournalWriter, RetryIsDueASecondLaterAndWritesWithoutNewRecords) {
  FakeDisk disk;
  JournalWriter writer(disk);
  EXPECT_EQ(writer.retry_at(), Instant::never());
  disk.full = true;
  EXPECT_FALSE(writer.append(kStart, records(1, 1)).ok());
  EXPECT_EQ(writer.retry_at(), kStart + seconds(1));
  disk.full = false;
  EXPECT_TRUE(writer.append(kStart + seconds(1), {}).ok());
  EXPECT_EQ(disk.written, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(writer.retry_at(), Instant::never());
}

TEST(JournalWriter, SnapshotTakesThePlaceOfMoreThanIsKept) {
  FakeDisk disk;
  JournalWriter writer(disk);
  disk.full = true;
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(writer.append(kStart, records(1, 1'000)).ok());
  }
  disk.full = false;
  EXPECT_FALSE(writer.append(kStart, records(1, 1)).ok()) << "records in between would be missing";
  EXPECT_TRUE(disk.written.empty());
  const Instant later = kStart + JournalWriter::kRetryEvery;
  ASSERT_TRUE(writer.snapshot_due(later));
  EXPECT_TRUE(writer.replace(later, records(0, 7), 12'001).ok());
  EXPECT_EQ(disk.snapshot_size, 7U);
  EXPECT_TRUE(writer.append(later, records(12'002, 1)).ok());
}

TEST(JournalWriter, SnapshotIsDueEachTenThousandRecords) {
  FakeDisk disk;
  JournalWriter writer(disk);
  EXPECT_TRUE(writer.append(kStart, records(1, 9'999)).ok());
  EXPECT_FALSE(writer.snapshot_due(kStart));
  EXPECT_TRUE(writer.append(kStart, records(10'000, 1)).ok());
  ASSERT_TRUE(writer.snapshot_due(kStart));
  disk.full = true;
  EXPECT_FALSE(writer.replace(kStart, records(0, 1), 10'000).ok());
  EXPECT_FALSE(writer.snapshot_due(kStart)) << "not again at once";
  EXPECT_FALSE(writer.behind()) << "every record is written";
  disk.full = false;
  const Instant later = kStart + JournalWriter::kRetryEvery;
  ASSERT_TRUE(writer.snapshot_due(later));
  EXPECT_TRUE(writer.replace(later, records(0, 1), 10'000).ok());
  EXPECT_FALSE(writer.snapshot_due(later + hours(1)));
}

}  // namespace
}  // namespace berth::server
