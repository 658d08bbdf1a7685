// SPDX-License-Identifier: Apache-2.0
// Answers of the ledger while figures are odd: given back twice, highest so far, charged by a
// thread that has not decided yet.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "guard/ledger.h"
#include "guard/ledger_files_for_test.h"

namespace berth::guard {
namespace {

TEST(LedgerFigures, WhatIsGivenBackTwiceLeavesNothingAndNotLess) {
  const Files files(10 * kMiB);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(ledger.charge(0, 3 * kMiB), Ledger::Charged::kYes);
  ledger.release(0, 2 * kMiB);
  ledger.release(0, 2 * kMiB);
  EXPECT_EQ(ledger.used_by_us(0), 0U);
  EXPECT_EQ(ledger.used(0), 0U);
  EXPECT_EQ(ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
}

TEST(LedgerFigures, ThePeakIsTheHighestOfEachAndOfAllTogether) {
  const Files files(10 * kMiB);
  Ledger one;
  Ledger two;
  ASSERT_EQ(files.attach(one, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(files.attach(two, process(2)), Ledger::Attached::kYes);
  ASSERT_EQ(one.charge(0, 4 * kMiB), Ledger::Charged::kYes);
  ASSERT_EQ(two.charge(0, 5 * kMiB), Ledger::Charged::kYes);
  one.release(0, 3 * kMiB);
  ASSERT_EQ(one.charge(0, 1 * kMiB), Ledger::Charged::kYes);
  ASSERT_EQ(one.charge(0, 9 * kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(files.use->slots[0][0].peak.load(), 4 * kMiB);
  EXPECT_EQ(files.use->slots[0][1].peak.load(), 5 * kMiB);
  EXPECT_EQ(files.use->peak[0].load(), 9 * kMiB);
}

// Another one has charged for a moment what it takes back some 50 us after we want something. A
// request that is refused at once is refused although it would have fitted.
TEST(LedgerFigures, WhatOthersHaveNotDecidedRefusesNobody) {
  const Files files(10 * kMiB);
  Ledger other;
  Ledger ledger;
  ASSERT_EQ(files.attach(other, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(files.attach(ledger, process(2)), Ledger::Attached::kYes);
  SlotUse& theirs = files.use->slots[0][0];
  int charged = 0;
  for (int round = 0; round < 20; ++round) {  // In some of them the other thread does not run.
    theirs.undecided = 6 * kMiB;
    theirs.used = 6 * kMiB;
    std::atomic<int> stage = 0;
    std::thread back([&] {
      stage = 1;
      while (stage.load() == 1) {
      }
      for (int i = 0; i < 10'000; ++i) (void)theirs.used.load();
      theirs.used = 0;
      theirs.undecided = 0;
    });
    while (stage.load() == 0) std::this_thread::yield();
    stage = 2;
    const bool yes = ledger.charge(0, 6 * kMiB) == Ledger::Charged::kYes;
    back.join();
    if (!yes) continue;
    ++charged;
    ledger.release(0, 6 * kMiB);
  }
  EXPECT_GT(charged, 5);
  theirs.used = 6 * kMiB;  // What has been decided does.
  EXPECT_EQ(ledger.charge(0, 6 * kMiB), Ledger::Charged::kFull);
}

}  // namespace
}  // namespace berth::guard
