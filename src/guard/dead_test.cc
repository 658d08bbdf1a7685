// SPDX-License-Identifier: Apache-2.0
// Charges of dead processes, where a daemon looks after them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "guard/ledger.h"
#include "guard/ledger_files_for_test.h"
#include "guard/waiting.h"

namespace berth::guard {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

std::atomic<Life> life_of_first = Life::kLives;

Life first_may_be_dead(Identity identity) {
  return pid_of(identity) == 1 ? life_of_first.load() : Life::kLives;
}

class DeadTest : public ::testing::Test {
 protected:
  DeadTest() {
    files_.limit->looks = 1;
    EXPECT_EQ(files_.attach(dead_, process(1, &first_may_be_dead)), Ledger::Attached::kYes);
    EXPECT_EQ(files_.attach(ours_, process(2, &first_may_be_dead)), Ledger::Attached::kYes);
  }
  ~DeadTest() override { life_of_first = Life::kLives; }

  /// The other process charges so much, and dies.
  void leaves(std::uint64_t bytes) {
    if (bytes > 0) (void)dead_.charge(0, bytes);
    life_of_first = Life::kGone;
  }
  /// As the daemon does it, when the driver has freed it.
  void clear_slot_of_the_dead() {
    files_.use->slots[0][0].used = 0;
    files_.use->owners[0].namespaces = 0;
    files_.use->owners[0].identity = 0;
  }
  static WaitForDead::Patience patience() {
    return {
        .most = 60'000 * kMillisecond, .daemon = 60'000 * kMillisecond, .every = kMillisecond / 2};
  }
  bool charges_in_the_end(const WaitForDead::Patience& patience) {
    WaitForDead dead(ours_, 0, patience);
    do {
      if (ours_.try_charge(0, 5 * kMiB) == Ledger::Charged::kYes) return true;
    } while (dead.goes_on());
    return false;
  }

  Files files_{10 * kMiB};
  Ledger dead_;
  Ledger ours_;
};

TEST_F(DeadTest, StaysChargedUntilTheDaemonClearsIt) {
  leaves(7 * kMiB);
  EXPECT_EQ(ours_.charge(0, 5 * kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(ours_.sweep(), 0U);
  EXPECT_TRUE(ours_.has_dead(0));
  EXPECT_EQ(ours_.used(0), 7 * kMiB);
  clear_slot_of_the_dead();
  EXPECT_FALSE(ours_.has_dead(0));
  EXPECT_EQ(ours_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
}

TEST_F(DeadTest, IsForTheProcessThatNeedsItWhereNoDaemonLooksAfterIt) {
  files_.limit->looks = 0;
  leaves(7 * kMiB);
  EXPECT_EQ(ours_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
}

TEST_F(DeadTest, IsNothingWhereTheDeadHadNothing) {
  leaves(0);
  EXPECT_FALSE(ours_.has_dead(0));
  EXPECT_EQ(ours_.sweep(), 1U);
}

TEST_F(DeadTest, IsOfNoLivingProcess) {
  ASSERT_EQ(ours_.charge(0, 7 * kMiB), Ledger::Charged::kYes);
  Ledger third;
  ASSERT_EQ(files_.attach(third, process(3, &first_may_be_dead)), Ledger::Attached::kYes);
  EXPECT_FALSE(third.has_dead(0));
  EXPECT_EQ(third.sweep(Ledger::Sweep::kAll), 0U);
}

TEST_F(DeadTest, IsWaitedForWhereItWasKilledAndHasYetToDie) {
  for (const std::uint64_t looks : {0U, 1U}) {
    SCOPED_TRACE(looks);
    files_.limit->looks = looks;
    ASSERT_EQ(dead_.charge(0, 7 * kMiB), Ledger::Charged::kYes);
    life_of_first = Life::kEnding;
    EXPECT_TRUE(ours_.has_dead(0));
    EXPECT_EQ(ours_.sweep(Ledger::Sweep::kAll), 0U);
    std::thread dies([this] {
      while (files_.use->wanting.exchange(0) == 0) std::this_thread::yield();
      life_of_first = Life::kGone;
      if (files_.limit->looks > 0) clear_slot_of_the_dead();
    });
    EXPECT_TRUE(charges_in_the_end(patience()));
    dies.join();
    ours_.release(0, 5 * kMiB);
    life_of_first = Life::kLives;
    ASSERT_EQ(files_.attach(dead_, process(1, &first_may_be_dead)), Ledger::Attached::kYes);
  }
}

// The daemon may do it between a charge that is refused and the look at who is dead.
TEST_F(DeadTest, IsAskedForOnceMoreWhereItMayHaveBeenClearedSince) {
  leaves(7 * kMiB);
  WaitForDead dead(ours_, 0, patience());
  ASSERT_EQ(ours_.try_charge(0, 5 * kMiB), Ledger::Charged::kFull);
  clear_slot_of_the_dead();
  EXPECT_TRUE(dead.goes_on());
  EXPECT_EQ(ours_.try_charge(0, 5 * kMiB), Ledger::Charged::kYes);
  EXPECT_FALSE(dead.goes_on()) << "nobody had died since";
}

TEST_F(DeadTest, IsAskedForOnceMoreAfterEachWait) {
  leaves(7 * kMiB);
  WaitForDead dead(ours_, 0, patience());
  EXPECT_TRUE(dead.goes_on());
  clear_slot_of_the_dead();
  EXPECT_TRUE(dead.goes_on());
  EXPECT_FALSE(dead.goes_on());
}

TEST_F(DeadTest, GivesItsSlotToTheProcessThatFindsNoOther) {
  std::vector<std::unique_ptr<Ledger>> others;
  for (std::uint64_t i = 2; i < kSlotsMax; ++i) {
    others.push_back(std::make_unique<Ledger>());
    ASSERT_EQ(files_.attach(*others.back(), process(i + 1)), Ledger::Attached::kYes);
  }
  leaves(7 * kMiB);
  Ledger last;
  EXPECT_EQ(files_.attach(last, process(kSlotsMax + 1, &first_may_be_dead)),
            Ledger::Attached::kYes);
  EXPECT_EQ(last.used(0), 0U);
}

TEST_F(DeadTest, IsWaitedForUntilTheDaemonHasClearedIt) {
  leaves(7 * kMiB);
  std::thread daemon([this] {
    for (int i = 0; i < 5; ++i) {
      while (files_.use->wanting.exchange(0) == 0) std::this_thread::yield();
      ++files_.limit->looks;
    }
    clear_slot_of_the_dead();
  });
  EXPECT_TRUE(charges_in_the_end(patience()));
  daemon.join();
  EXPECT_EQ(files_.limit->looks, 6U);
}

TEST_F(DeadTest, IsNotWaitedForForEver) {
  leaves(7 * kMiB);
  auto short_one = patience();
  short_one.most = 20 * kMillisecond;
  const std::uint64_t began = monotonic_ns();
  EXPECT_FALSE(charges_in_the_end(short_one));
  EXPECT_GE(monotonic_ns() - began, short_one.most);
  EXPECT_TRUE(ours_.has_dead(0));
}

TEST_F(DeadTest, IsClearedByTheProcessThatNeedsItWhenTheDaemonIsAway) {
  leaves(7 * kMiB);
  auto impatient = patience();
  impatient.daemon = 20 * kMillisecond;
  const std::uint64_t began = monotonic_ns();
  EXPECT_TRUE(charges_in_the_end(impatient));
  EXPECT_GE(monotonic_ns() - began, impatient.daemon);
}

TEST_F(DeadTest, IsTakenForThereOnceTheDaemonHasAskedForIt) {
  leaves(7 * kMiB);
  auto curious = patience();
  curious.looks = 1;
  WaitForDead dead(ours_, 0, curious);
  EXPECT_TRUE(dead.goes_on());
  ++files_.limit->looks;  // It may have asked before.
  EXPECT_TRUE(dead.goes_on());
  ++files_.limit->looks;
  EXPECT_FALSE(dead.goes_on());
}

TEST_F(DeadTest, DoesNotHoldUpAThreadInAHurry) {
  leaves(7 * kMiB);
  hurry.captures = 1;
  WaitForDead dead(ours_, 0, patience());
  EXPECT_FALSE(dead.goes_on());
  hurry.captures = 0;
  EXPECT_TRUE(dead.goes_on());
}

}  // namespace
}  // namespace berth::guard
