// SPDX-License-Identifier: Apache-2.0
#include "guard/waiting.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "guard/ledger_files_for_test.h"
#include "guard/linux.h"

namespace berth::guard {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLong = 600 * kSecond;  // No test lasts that long.
constexpr std::uint64_t kShort = kSecond / 5;

/// As the hooks do it: whether it was charged.
bool charge_in_time(Ledger& ledger, const Waiting::What& what) {
  Waiting waiting(ledger, what);
  do {
    if (ledger.try_charge(what.device, what.bytes) == Ledger::Charged::kYes) return true;
  } while (waiting.goes_on());
  return false;
}

class WaitingTest : public ::testing::Test {
 protected:
  WaitingTest() {
    EXPECT_EQ(files_.attach(one_, process(1)), Ledger::Attached::kYes);
    EXPECT_EQ(files_.attach(two_, process(2)), Ledger::Attached::kYes);
  }
  static Waiting::What mebibytes(std::uint64_t count, std::uint64_t duration) {
    return {.device = 0, .bytes = count * kMiB, .beside = 0, .duration = duration};
  }
  /// Only who is woken goes on.
  static Waiting::What sleeping(std::uint64_t count) {
    Waiting::What what = mebibytes(count, kLong);
    what.look_every = kLong;
    return what;
  }
  bool anybody_waits() const {
    for (const SlotUse& slot : files_.use->slots[0]) {
      if (slot.wanted.load() > 0) return true;
    }
    return false;
  }
  void until_somebody_waits() const {
    while (!anybody_waits()) std::this_thread::yield();
  }

  const Files files_{10 * kMiB};
  Ledger one_;
  Ledger two_;
};

TEST_F(WaitingTest, TheVariableSaysHowLong) {
  EXPECT_EQ(wait_on_full(nullptr), 0U);
  EXPECT_EQ(wait_on_full("wait=30000ms"), 30 * kSecond);
  EXPECT_EQ(wait_on_full("wait=1ms"), 1'000'000U);
  EXPECT_EQ(wait_on_full("wait=0ms"), 0U);
  EXPECT_EQ(wait_on_full("fail"), 0U);
  EXPECT_EQ(wait_on_full("wait=30s"), 0U);
  EXPECT_EQ(wait_on_full("wait=-1ms"), 0U);
  EXPECT_EQ(wait_on_full("wait=99999999999999999999999999ms"), 0U);
  EXPECT_GT(wait_on_full("wait=99999999999999ms"), kLong);
}

TEST_F(WaitingTest, WithoutADurationItIsRefusedAtOnce) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_FALSE(charge_in_time(two_, mebibytes(1, 0)));
  EXPECT_EQ(files_.use->wanting.load(), 0U);
}

TEST_F(WaitingTest, ItEndsWithItsTime) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  const std::uint64_t began = monotonic_ns();
  EXPECT_FALSE(charge_in_time(two_, mebibytes(1, kShort)));
  EXPECT_GE(monotonic_ns() - began, kShort);
  EXPECT_FALSE(anybody_waits());
  EXPECT_EQ(two_.used(0), 10 * kMiB);
}

TEST_F(WaitingTest, ItGoesOnWhenAnotherProcessReleases) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  std::thread waiter([this] { EXPECT_TRUE(charge_in_time(two_, sleeping(6))); });
  until_somebody_waits();
  one_.release(0, 3 * kMiB);  // Not enough yet.
  one_.release(0, 3 * kMiB);
  waiter.join();
  EXPECT_EQ(two_.used(0), 10 * kMiB);
  EXPECT_FALSE(anybody_waits());
}

TEST_F(WaitingTest, ItGoesOnWhenTheBudgetGrows) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  std::thread waiter([this] { EXPECT_TRUE(charge_in_time(two_, mebibytes(6, kLong))); });
  until_somebody_waits();
  files_.limit->devices[0].budget = 16 * kMiB;
  waiter.join();
}

TEST_F(WaitingTest, ItGoesOnWhenTheHolderIsKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    Ledger holder;
    if (files_.attach(holder, real_process()) != Ledger::Attached::kYes ||
        holder.charge(0, 10 * kMiB) != Ledger::Charged::kYes) {
      ::_exit(1);
    }
    ::pause();
    ::_exit(2);
  }
  while (files_.use->peak[0].load() == 0) std::this_thread::yield();
  Ledger ledger;
  ASSERT_EQ(files_.attach(ledger, real_process()), Ledger::Attached::kYes);
  std::thread waiter([&] { EXPECT_TRUE(charge_in_time(ledger, mebibytes(6, kLong))); });
  until_somebody_waits();
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  waiter.join();
}

TEST_F(WaitingTest, WhatNeverFitsIsRefusedAtOnce) {
  EXPECT_FALSE(charge_in_time(two_, mebibytes(11, kLong)));
  // Beside what this process has and keeps.
  ASSERT_EQ(two_.charge(0, 4 * kMiB), Ledger::Charged::kYes);
  Waiting::What what = mebibytes(7, kLong);
  what.beside = 4 * kMiB;
  EXPECT_FALSE(charge_in_time(two_, what));
}

TEST_F(WaitingTest, ABudgetThatShrinksBelowItEndsTheWait) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  std::thread waiter([this] { EXPECT_FALSE(charge_in_time(two_, mebibytes(6, kLong))); });
  until_somebody_waits();
  files_.limit->devices[0].budget = 5 * kMiB;
  waiter.join();
}

TEST_F(WaitingTest, AThreadInAHurryIsRefusedAtOnce) {
  ASSERT_EQ(one_.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  for (std::uint32_t Hurry::* cause : {&Hurry::captures, &Hurry::callbacks, &Hurry::parts}) {
    ++(hurry.*cause);
    EXPECT_FALSE(charge_in_time(two_, mebibytes(1, kLong)));
    --(hurry.*cause);
  }
}

// Each wants what the other has: the one which began last is refused before its time, and the other
// is not.
TEST_F(WaitingTest, OfProcessesThatWaitForEachOtherTheLastGivesWay) {
  ASSERT_EQ(one_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
  ASSERT_EQ(two_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
  std::thread first([this] { EXPECT_TRUE(charge_in_time(one_, mebibytes(2, kLong))); });
  until_somebody_waits();
  Waiting::What what = mebibytes(2, kLong);
  what.stuck_after = kSecond / 1000;
  EXPECT_FALSE(charge_in_time(two_, what));
  two_.release(0, 5 * kMiB);
  first.join();
}

class Circle : public WaitingTest {
 protected:
  Circle() {
    EXPECT_EQ(one_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
    EXPECT_EQ(two_.charge(0, 5 * kMiB), Ledger::Charged::kYes);
    one_.begin_wait({.device = 0, .bytes = kMiB, .since = 100});
    two_.begin_wait({.device = 0, .bytes = kMiB, .since = 200});
  }
};

TEST_F(Circle, IsOfAllThatHoldSomething) {
  EXPECT_TRUE(two_.is_last_of_a_circle());
  EXPECT_FALSE(one_.is_last_of_a_circle());
}

TEST_F(Circle, IsNoneWhileAHolderDoesNotWait) {
  one_.end_wait({.device = 0, .bytes = kMiB});
  EXPECT_FALSE(two_.is_last_of_a_circle());
}

TEST_F(Circle, IsNotOfOneAlone) {
  one_.end_wait({.device = 0, .bytes = kMiB});
  one_.release(0, 5 * kMiB);
  EXPECT_FALSE(two_.is_last_of_a_circle());
}

TEST_F(Circle, LeavesOutAProcessThatHoldsNothing) {
  Ledger three;
  ASSERT_EQ(files_.attach(three, process(3)), Ledger::Attached::kYes);
  three.begin_wait({.device = 0, .bytes = kMiB, .since = 300});
  EXPECT_FALSE(three.is_last_of_a_circle());
  EXPECT_TRUE(two_.is_last_of_a_circle());
}

TEST_F(Circle, CountsTheFirstThreadOfAProcess) {
  one_.begin_wait({.device = 0, .bytes = kMiB, .since = 300});
  EXPECT_TRUE(two_.is_last_of_a_circle());
  one_.end_wait({.device = 0, .bytes = kMiB});
  EXPECT_TRUE(two_.is_last_of_a_circle());
}

TEST_F(Circle, HasOneLastWhenAllBeganAtOnce) {
  one_.end_wait({.device = 0, .bytes = kMiB});
  one_.begin_wait({.device = 0, .bytes = kMiB, .since = 200});
  EXPECT_FALSE(one_.is_last_of_a_circle());
  EXPECT_TRUE(two_.is_last_of_a_circle());
}

TEST(CircleOverDevices, IsOneToo) {
  const Files files(10 * kMiB, 2);
  Ledger one;
  Ledger two;
  ASSERT_EQ(files.attach(one, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(files.attach(two, process(2)), Ledger::Attached::kYes);
  ASSERT_EQ(one.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  ASSERT_EQ(two.charge(1, 10 * kMiB), Ledger::Charged::kYes);
  one.begin_wait({.device = 1, .bytes = kMiB, .since = 100});
  EXPECT_FALSE(one.is_last_of_a_circle());  // The other one does not wait.
  two.begin_wait({.device = 0, .bytes = kMiB, .since = 200});
  EXPECT_FALSE(one.is_last_of_a_circle());
  EXPECT_TRUE(two.is_last_of_a_circle());
}

// Waiters and those who give back, in a race: one that is not woken stays behind for ever.
TEST_F(WaitingTest, NobodyMissesWhatComesFree) {
  constexpr int kRounds = 300;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (Ledger* ledger : {&one_, &two_}) {
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, ledger] {
        for (int round = 0; round < kRounds; ++round) {
          if (!charge_in_time(*ledger, sleeping(6))) ++refused;
          std::this_thread::yield();
          ledger->release(0, 6 * kMiB);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(files_.charged(), 0U);
  EXPECT_FALSE(anybody_waits());
}

}  // namespace
}  // namespace berth::guard
