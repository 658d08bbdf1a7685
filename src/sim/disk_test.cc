// SPDX-License-Identifier: Apache-2.0
// The simulated disk is a journal like the one on SQLite: one suite is true of both.
#include "sim/disk.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/record_json.h"
#include "sim/context.h"
#include "store/journal_conformance.h"

namespace berth::sim {

/// A machine whose disk is the simulated one. It writes once a call, so the first write is the only
/// one that can fail in it.
class DiskWorld {
 public:
  Result<store::OpenedJournal> open() { return disk.open(boot); }
  void kill(std::unique_ptr<store::Journal> journal) { journal.reset(); }
  void cut_power() { ++boot; }
  void fail_write(std::uint64_t n) {
    if (n == 1) {
      disk.fail_next();
    } else {
      disk.calm();
    }
  }
  void set_full(bool full) { disk.set_full(full); }

  SimContext context{1, false};
  Disk disk{context};
  std::uint64_t boot = 1;
};

}  // namespace berth::sim

namespace berth::store {

INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, JournalConformance, testing::Types<sim::DiskWorld>);

}  // namespace berth::store

namespace berth::sim {
namespace {

using store::numbered;
using store::OpenedJournal;

TEST(Disk, ATornWriteIsThereWholeOrNotAtAll) {
  DiskWorld world;
  std::uint64_t last = 0;
  bool kept = false;
  bool lost = false;
  for (int i = 0; i < 40; ++i) {
    Result<OpenedJournal> opened = world.open();
    ASSERT_TRUE(opened.ok());
    ASSERT_EQ(opened->recovered.records.size(), last);
    world.disk.tear_next();
    EXPECT_TRUE(opened->journal->append(numbered(last + 1, 3)).ok());
    EXPECT_TRUE(world.disk.take_torn());
    EXPECT_FALSE(world.disk.take_torn());
    (world.disk.wrote() ? kept : lost) = true;
    if (world.disk.wrote()) last += 3;
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(lost);
}

TEST(Disk, ABootInWhichNothingCouldBeWrittenLeavesNoTrace) {
  DiskWorld world;
  Result<OpenedJournal> opened = world.open();
  ASSERT_TRUE(opened.ok());
  ASSERT_TRUE(opened->journal->append(numbered(1, 3)).ok());
  world.cut_power();
  for (int i = 0; i < 2; ++i) {
    opened = world.open();
    ASSERT_TRUE(opened.ok());
    EXPECT_FALSE(opened->recovered.same_boot);
    world.set_full(true);
    EXPECT_FALSE(opened->journal->append(numbered(4, 1)).ok());
  }
}

TEST(Disk, ARecordOutOfOrderIsNotWritten) {
  DiskWorld world;
  Result<OpenedJournal> opened = world.open();
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened->journal->append(numbered(2, 1)).ok());
  EXPECT_TRUE(opened->journal->append(numbered(1, 1)).ok());
  EXPECT_FALSE(opened->journal->append(numbered(1, 1)).ok());
}

TEST(Disk, WhatCannotBeReadAgainBreaksARule) {
  DiskWorld world;
  Result<OpenedJournal> opened = world.open();
  ASSERT_TRUE(opened.ok());
  Record record = numbered(1, 1).front();
  record.fact = UsageRestored{.session = std::string(kRecordLineMax, 'a')};
  (void)opened->journal->append({&record, 1});
  EXPECT_NE(world.context.broken().find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace berth::sim
