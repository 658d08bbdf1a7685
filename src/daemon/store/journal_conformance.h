// SPDX-License-Identifier: Apache-2.0
// Tests that every Journal must pass. A type World stands for a machine with one state directory:
//   Result<OpenedJournal> open()        a daemon starts;
//   void kill(journal)                  it is killed: nothing of the object runs any more;
//   void cut_power()                    what was not synced may be lost; the next boot is another;
//   void fail_write(n)                  the n-th write from now on stops half-way, once; 0: none;
//   void set_full(bool)                 the disk has no room, or has again.
// Instantiate with INSTANTIATE_TYPED_TEST_SUITE_P(Name, JournalConformance, testing::Types<World>).
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/record_json.h"
#include "model/record_samples_for_test.h"
#include "store/journal.h"

namespace berth::store {

/// Records with these numbers, each of another fact than the last.
inline std::vector<Record> numbered(std::uint64_t first, std::uint64_t count) {
  static const std::vector<Record> kFacts = samples::all_facts();
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    records.push_back(kFacts[(first + i - 1) % kFacts.size()]);
    records.back().sequence = first + i;
  }
  return records;
}

inline std::vector<std::string> lines_of(const std::vector<Record>& records) {
  std::vector<std::string> lines;
  for (const Record& record : records) lines.push_back(to_json(record));
  return lines;
}

/// Waits, for at most half a minute, until all that was written survives a power cut.
inline testing::AssertionResult wait_for_sync(OpenedJournal& opened) {
  const std::uint64_t ticket = opened.journal->sync();
  for (;;) {
    const SyncProgress progress = opened.journal->synced();
    if (progress.done >= ticket) return testing::AssertionSuccess();
    if (progress.trouble) return testing::AssertionFailure() << progress.trouble->message;
    if (!opened.sync_descriptor) return testing::AssertionFailure() << "nothing to wait for";
    pollfd ready{.fd = *opened.sync_descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 30'000) != 1) return testing::AssertionFailure() << "it never came";
  }
}

template <class World>
class JournalConformance : public testing::Test {
 protected:
  static constexpr std::uint64_t kWritesMax = 2'000;  // In one call; more would be no test.

  OpenedJournal start() {
    Result<OpenedJournal> opened = world_.open();
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }
  OpenedJournal restart(OpenedJournal& opened) {
    world_.kill(std::move(opened.journal));
    return start();
  }

  World world_;
};

TYPED_TEST_SUITE_P(JournalConformance);

TYPED_TEST_P(JournalConformance, NewOneIsEmpty) {
  OpenedJournal opened = this->start();
  EXPECT_TRUE(opened.recovered.snapshot.empty());
  EXPECT_TRUE(opened.recovered.records.empty());
  EXPECT_TRUE(opened.recovered.same_boot);
  EXPECT_FALSE(opened.recovered.safe_mode);
  EXPECT_TRUE(opened.recovered.findings.empty());
  EXPECT_EQ(opened.journal->last_sequence(), 0u);
  EXPECT_TRUE(opened.journal->append({}).ok());
}

TYPED_TEST_P(JournalConformance, WhatWasWrittenComesBackInOrderAfterADeath) {
  OpenedJournal opened = this->start();
  const std::vector<Record> records = numbered(1, 40);
  ASSERT_TRUE(opened.journal->append(std::span(records).first(1)).ok());
  ASSERT_TRUE(opened.journal->append(std::span(records).subspan(1, 19)).ok());
  opened = this->restart(opened);
  EXPECT_EQ(opened.journal->last_sequence(), 20u);
  EXPECT_EQ(opened.journal->facts().record_count, 20u);
  ASSERT_TRUE(opened.journal->append(std::span(records).subspan(20)).ok());
  opened = this->restart(opened);
  EXPECT_EQ(lines_of(opened.recovered.records), lines_of(records));
  EXPECT_TRUE(opened.recovered.snapshot.empty());
  EXPECT_TRUE(opened.recovered.same_boot);
  EXPECT_TRUE(opened.recovered.findings.empty());
}

TYPED_TEST_P(JournalConformance, SnapshotTakesThePlaceOfAllBefore) {
  OpenedJournal opened = this->start();
  for (std::uint64_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(opened.journal->append(numbered(round * 10 + 1, 10)).ok());
    std::vector<Record> snapshot = numbered(100 * round + 1, 5);
    for (Record& record : snapshot) record.sequence = 0;
    ASSERT_TRUE(opened.journal->replace(snapshot, round * 10 + 10).ok());
    EXPECT_EQ(opened.journal->last_sequence(), round * 10 + 10);
    opened = this->restart(opened);
    EXPECT_EQ(lines_of(opened.recovered.snapshot), lines_of(snapshot));
    EXPECT_TRUE(opened.recovered.records.empty());
    EXPECT_EQ(opened.journal->last_sequence(), round * 10 + 10);
  }
  ASSERT_TRUE(opened.journal->append(numbered(31, 2)).ok());
  opened = this->restart(opened);
  EXPECT_EQ(opened.recovered.snapshot.size(), 5u);
  EXPECT_EQ(lines_of(opened.recovered.records), lines_of(numbered(31, 2)));
  ASSERT_TRUE(opened.journal->replace({}, 32).ok());
  opened = this->restart(opened);
  EXPECT_TRUE(opened.recovered.snapshot.empty());
  EXPECT_TRUE(opened.recovered.records.empty());
  EXPECT_EQ(opened.journal->last_sequence(), 32u);
}

TYPED_TEST_P(JournalConformance, AppendThatFailsCanBeRepeatedWithMoreBehindIt) {
  OpenedJournal opened = this->start();
  std::uint64_t last = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, this->kWritesMax);
    this->world_.fail_write(n);
    const Status written = opened.journal->append(numbered(last + 1, 3));
    this->world_.fail_write(0);
    if (written.ok()) break;
    EXPECT_EQ(written.error().code, Errc::kIo);
    EXPECT_FALSE(written.error().message.empty());
    EXPECT_EQ(opened.journal->last_sequence(), last);
    ASSERT_TRUE(opened.journal->append(numbered(last + 1, 4)).ok()) << n;
    last += 4;
  }
  opened = this->restart(opened);
  EXPECT_EQ(lines_of(opened.recovered.records), lines_of(numbered(1, last + 3)));
}

TYPED_TEST_P(JournalConformance, DeathInAnAppendLeavesAllOfItOrNothing) {
  OpenedJournal opened = this->start();
  std::uint64_t last = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, this->kWritesMax);
    this->world_.fail_write(n);
    const Status written = opened.journal->append(numbered(last + 1, 3));
    this->world_.fail_write(0);
    if (written.ok()) break;
    opened = this->restart(opened);
    const std::uint64_t found = opened.recovered.records.size();
    EXPECT_TRUE(found == last || found == last + 3) << found << " after " << last;
    EXPECT_EQ(lines_of(opened.recovered.records), lines_of(numbered(1, found)));
    last = found;
    ASSERT_TRUE(opened.journal->append(numbered(last + 1, 1)).ok());
    ++last;
  }
}

TYPED_TEST_P(JournalConformance, SnapshotThatFailsLeavesWhatWasThere) {
  OpenedJournal opened = this->start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 7)).ok());
  // Larger than what a database keeps in memory before it writes some of it.
  const std::vector<Record> snapshot = numbered(500, 60);
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, this->kWritesMax);
    this->world_.fail_write(n);
    const Status written = opened.journal->replace(snapshot, 7);
    this->world_.fail_write(0);
    if (written.ok()) break;
    EXPECT_EQ(opened.journal->facts().record_count, 7u);
    opened = this->restart(opened);
    ASSERT_EQ(lines_of(opened.recovered.records), lines_of(numbered(1, 7))) << n;
    ASSERT_TRUE(opened.recovered.snapshot.empty());
  }
  opened = this->restart(opened);
  EXPECT_EQ(lines_of(opened.recovered.snapshot), lines_of(snapshot));
}

TYPED_TEST_P(JournalConformance, FullDiskIsToldFromABrokenOneAndLosesNothing) {
  OpenedJournal opened = this->start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 3)).ok());
  this->world_.set_full(true);
  std::uint64_t last = 3;
  for (;;) {
    ASSERT_LT(last, 100'000u) << "the disk is not full at all";
    const Status written = opened.journal->append(numbered(last + 1, 50));
    if (written.ok()) {
      last += 50;
      continue;
    }
    EXPECT_EQ(written.error().code, Errc::kFull);
    break;
  }
  opened = this->restart(opened);  // On the full disk.
  EXPECT_EQ(opened.recovered.records.size(), last);
  this->world_.set_full(false);
  ASSERT_TRUE(opened.journal->append(numbered(last + 1, 50)).ok());
  opened = this->restart(opened);
  EXPECT_EQ(lines_of(opened.recovered.records), lines_of(numbered(1, last + 50)));
}

TYPED_TEST_P(JournalConformance, WhatWasSyncedSurvivesAPowerCut) {
  OpenedJournal opened = this->start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
  ASSERT_TRUE(wait_for_sync(opened));
  ASSERT_TRUE(opened.journal->append(numbered(6, 5)).ok());
  this->world_.kill(std::move(opened.journal));
  this->world_.cut_power();
  opened = this->start();
  EXPECT_FALSE(opened.recovered.same_boot);
  std::vector<Record> found = opened.recovered.records;
  ASSERT_GE(found.size(), 5u);
  found.resize(5);
  EXPECT_EQ(lines_of(found), lines_of(numbered(1, 5)));
  // What is written now is of this boot.
  const std::uint64_t last = opened.journal->last_sequence();
  ASSERT_TRUE(opened.journal->append(numbered(last + 1, 1)).ok());
  opened = this->restart(opened);
  EXPECT_TRUE(opened.recovered.same_boot);
  EXPECT_EQ(opened.journal->last_sequence(), last + 1);
}

TYPED_TEST_P(JournalConformance, BarrierWithNothingBeforeItIsReachedToo) {
  OpenedJournal opened = this->start();
  EXPECT_TRUE(wait_for_sync(opened));
  EXPECT_TRUE(wait_for_sync(opened));
}

REGISTER_TYPED_TEST_SUITE_P(JournalConformance, NewOneIsEmpty,
                            WhatWasWrittenComesBackInOrderAfterADeath,
                            SnapshotTakesThePlaceOfAllBefore,
                            AppendThatFailsCanBeRepeatedWithMoreBehindIt,
                            DeathInAnAppendLeavesAllOfItOrNothing,
                            SnapshotThatFailsLeavesWhatWasThere,
                            FullDiskIsToldFromABrokenOneAndLosesNothing,
                            WhatWasSyncedSurvivesAPowerCut, BarrierWithNothingBeforeItIsReachedToo);

}  // namespace berth::store
