// SPDX-License-Identifier: Apache-2.0
#include "guard/ledger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "guard/ledger_files_for_test.h"
#include "guard/linux.h"

namespace berth::guard {
namespace {

TEST(Ledger, ChargesUpToTheBudgetAndNotAByteMore) {
  const Files files(10 * kMiB);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
  EXPECT_EQ(ledger.charge(0, 4 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(ledger.charge(0, 6 * kMiB + 1), Ledger::Charged::kFull);
  EXPECT_EQ(ledger.charge(0, 6 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(ledger.charge(0, 1), Ledger::Charged::kFull);
  EXPECT_EQ(ledger.used(0), 10 * kMiB);
  ledger.release(0, 1);
  EXPECT_EQ(ledger.charge(0, 1), Ledger::Charged::kYes);
}

TEST(Ledger, AProgramThatReplacedAnotherHasNoneOfItsContexts) {
  const Files files(10 * kMiB);
  Ledger before;
  ASSERT_EQ(files.attach(before, process(1)), Ledger::Attached::kYes);
  before.set_context(0, kMiB);
  before.set_at_most(0);
  EXPECT_TRUE(before.has_context(0));
  Ledger after;
  ASSERT_EQ(files.attach(after, process(1)), Ledger::Attached::kYes);
  EXPECT_FALSE(after.has_context(0));
  EXPECT_EQ(files.use->slots[0][0].at_most.load(), 0U);
}

TEST(Ledger, ARequestThatNoNumberHoldsIsRefused) {
  const Files files(10 * kMiB);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
  EXPECT_EQ(ledger.charge(0, 2 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(ledger.charge(0, UINT64_MAX), Ledger::Charged::kFull);
  EXPECT_EQ(ledger.used(0), 2 * kMiB);
}

TEST(Ledger, ProcessesShareABudgetOnEachDevice) {
  const Files files(10 * kMiB, 2);
  Ledger one;
  Ledger two;
  ASSERT_EQ(files.attach(one, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(files.attach(two, process(2)), Ledger::Attached::kYes);
  EXPECT_EQ(one.charge(0, 7 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two.charge(0, 4 * kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(two.charge(0, 3 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two.charge(1, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two.used(1), 10 * kMiB);
}

TEST(Ledger, AnotherBudgetHoldsFromTheNextChargeOn) {
  const Files files(10 * kMiB);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
  EXPECT_EQ(ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  files.limit->devices[0].budget = 12 * kMiB;
  EXPECT_EQ(ledger.charge(0, 2 * kMiB), Ledger::Charged::kYes);
  files.limit->devices[0].budget = 4 * kMiB;  // Below what is used: that stays.
  EXPECT_EQ(ledger.charge(0, 1), Ledger::Charged::kFull);
  EXPECT_EQ(ledger.used(0), 12 * kMiB);
}

TEST(Ledger, WhatWasMeasuredBeyondTheChargesCounts) {
  const Files files(10 * kMiB);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
  files.limit->devices[0].unaccounted = 3 * kMiB;
  EXPECT_EQ(ledger.charge(0, 8 * kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(ledger.charge(0, 7 * kMiB), Ledger::Charged::kYes);
}

TEST(Ledger, WhatADeadProcessHadIsThereForTheNextOne) {
  const Files files(10 * kMiB);
  Ledger dead;
  Ledger living;
  static bool it_lives = true;
  const auto alive = [](Identity) { return it_lives ? Life::kLives : Life::kGone; };
  ASSERT_EQ(files.attach(dead, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(files.attach(living, process(2, alive)), Ledger::Attached::kYes);
  ASSERT_EQ(dead.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(living.charge(0, 10 * kMiB), Ledger::Charged::kFull);
  it_lives = false;
  EXPECT_EQ(living.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(living.used(0), 10 * kMiB);
}

TEST(Ledger, APidOfAnotherNamespaceIsNotJudged) {
  const Files files(10 * kMiB);
  Ledger elsewhere;
  Census other = process(1);
  other.pid_namespace = kNamespace + 1;
  ASSERT_EQ(files.attach(elsewhere, other), Ledger::Attached::kYes);
  ASSERT_EQ(elsewhere.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  Ledger ledger;
  ASSERT_EQ(files.attach(ledger, process(2, &nobody_lives)), Ledger::Attached::kYes);
  EXPECT_EQ(ledger.charge(0, kMiB), Ledger::Charged::kFull);
}

TEST(Ledger, AProgramThatReplacedItselfBeginsWithNothing) {
  const Files files(10 * kMiB);
  Ledger before;
  ASSERT_EQ(files.attach(before, process(1)), Ledger::Attached::kYes);
  ASSERT_EQ(before.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  Ledger after;
  ASSERT_EQ(files.attach(after, process(1)), Ledger::Attached::kYes);
  EXPECT_EQ(after.used(0), 0U);
}

TEST(Ledger, AllSlotsTakenByTheLivingIsAnAnswer) {
  const Files files(10 * kMiB);
  for (std::uint64_t pid = 1; pid <= kSlotsMax; ++pid) {
    Ledger ledger;
    ASSERT_EQ(files.attach(ledger, process(pid)), Ledger::Attached::kYes);
  }
  Ledger late;
  EXPECT_EQ(files.attach(late, process(kSlotsMax + 1)), Ledger::Attached::kNoSlot);
  EXPECT_EQ(files.attach(late, process(kSlotsMax + 1, &nobody_lives)), Ledger::Attached::kYes);
}

TEST(Ledger, FilesThatAreNotOursAreRefused) {
  for (int what = 0; what < 5; ++what) {
    const Files files(10 * kMiB);
    std::size_t bytes = use_file_size(1);
    if (what == 0) files.limit->magic = 1;
    if (what == 1) files.use->magic = 1;
    if (what == 2) files.limit->layout = kLayout + 1;
    if (what == 3) bytes = 100;
    if (what == 4) files.limit->device_count = 2;
    Ledger ledger;
    EXPECT_EQ(ledger.attach(files.limit, sizeof(LimitFile), files.use, bytes, process(1)),
              Ledger::Attached::kBadFile)
        << what;
  }
}

TEST(Ledger, FilesThatWereScribbledOnAreNotHeldAgainstTheProgram) {
  for (int what = 0; what < 4; ++what) {
    const Files files(10 * kMiB);
    Ledger ledger;
    ASSERT_EQ(files.attach(ledger, process(1)), Ledger::Attached::kYes);
    if (what == 0) std::memset(static_cast<void*>(files.use), 0xff, use_file_size(1));
    if (what == 1) std::memset(static_cast<void*>(files.use), 0, use_file_size(1));
    if (what == 2) files.use->slots[0][300].used = UINT64_MAX;
    if (what == 2) files.use->slots_seen = 400;
    if (what == 3) std::memset(static_cast<void*>(files.limit), 0, sizeof(LimitFile));
    EXPECT_EQ(ledger.charge(0, 20 * kMiB), Ledger::Charged::kBroken) << what;
  }
}

// Charges and releases at random, as long as it lives, and keeps a count of its own of what it
// surely has: raised after a charge, lowered before a release.
void use_at_random(const Files& files, Word& held, std::uint64_t seed, int rounds) {
  Ledger ledger;
  if (files.attach(ledger, real_process()) != Ledger::Attached::kYes) ::_exit(1);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed * 31 + t);
      std::vector<std::uint64_t> mine;
      for (int round = 0; round < rounds; ++round) {
        const std::uint64_t bytes = (random() % 8 + 1) * kMiB;
        if (ledger.charge(0, bytes) == Ledger::Charged::kYes) {
          mine.push_back(bytes);
          if (held.fetch_add(bytes) + bytes > files.limit->devices[0].budget) ::_exit(2);
        } else if (!mine.empty()) {
          held.fetch_sub(mine.back());
          ledger.release(0, mine.back());
          mine.pop_back();
        }
      }
      for (const std::uint64_t bytes : mine) {
        held.fetch_sub(bytes);
        ledger.release(0, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

TEST(Ledger, NoRaceOfProcessesAndThreadsExceedsTheBudget) {
  const Files files(40 * kMiB);
  auto* held = static_cast<Word*>(Files::map(sizeof(Word)));
  std::vector<pid_t> children;
  for (std::uint64_t i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) use_at_random(files, *held, i, 3000);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);  // 2: above the budget.
  }
  EXPECT_EQ(files.charged(), 0U);
  EXPECT_LE(files.use->peak[0].load(), 40 * kMiB);
  EXPECT_GE(files.use->peak[0].load(), 32 * kMiB);  // It was a race for the last of it.
  ::munmap(held, sizeof(Word));
}

// The narrowest race there is, often enough that a sum made before the charge would be caught.
TEST(Ledger, OfTwoThatWantTheLastByteNeverBothHaveIt) {
  const Files files(1);
  auto* held = static_cast<Word*>(Files::map(sizeof(Word)));
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    Ledger ledger;
    if (files.attach(ledger, real_process()) != Ledger::Attached::kYes) ::_exit(1);
    for (int round = 0; round < 300'000; ++round) {
      if (ledger.charge(0, 1) != Ledger::Charged::kYes) continue;
      if (held->fetch_add(1) != 0) ::_exit(2);
      held->fetch_sub(1);
      ledger.release(0, 1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::munmap(held, sizeof(Word));
}

TEST(Ledger, AProcessThatIsKilledAtAnyPointLeavesNothing) {
  const Files files(40 * kMiB);
  auto* held = static_cast<Word*>(Files::map(sizeof(Word)));
  std::mt19937_64 random(42);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) use_at_random(files, *held, static_cast<std::uint64_t>(round), 1 << 30);
    // It has begun; how far it gets is up to chance, and to this loop.
    while (files.use->peak[0].load() == 0) std::this_thread::yield();
    for (std::uint64_t spins = random() % 20; spins > 0; --spins) std::this_thread::yield();
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    Ledger ledger;
    ASSERT_EQ(files.attach(ledger, real_process()), Ledger::Attached::kYes);
    ledger.sweep();
    ASSERT_EQ(files.charged(), 0U) << round;
    ASSERT_EQ(ledger.charge(0, 40 * kMiB), Ledger::Charged::kYes) << round;
    ledger.release(0, 40 * kMiB);
    held->store(0);
    files.use->peak[0].store(0);
  }
  ::munmap(held, sizeof(Word));
}

// A program has it mapped: to touch what is behind the end of the file would end the program.
TEST(Ledger, AFileThatShrinksHoldsNobodyAnyMoreAndEndsNobody) {
  const Files files(100 * kMiB);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file);
  const auto size = static_cast<off_t>(Files::use_bytes(1));
  ASSERT_EQ(::ftruncate(fd, size), 0);
  void* use = ::mmap(nullptr, Files::use_bytes(1), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(use, MAP_FAILED);
  std::memcpy(use, files.use, offsetof(UseFile, owners));
  Ledger ledger;
  ASSERT_EQ(ledger.attach(files.limit, sizeof(LimitFile), use, Files::use_bytes(1), process(1)),
            Ledger::Attached::kYes);
  ASSERT_EQ(ledger.charge(0, kMiB), Ledger::Charged::kYes);
  for (const off_t shorter : {size - 5'000, off_t{5'000}, off_t{0}}) {
    ASSERT_EQ(::ftruncate(fd, shorter), 0);
    for (const std::uint64_t cut_at = ticks(); ticks() - cut_at <= Backing::kGood;) {
    }
    EXPECT_EQ(ledger.charge(0, kMiB), Ledger::Charged::kBroken) << shorter;
    ledger.count_refusal(0, kMiB);
    ledger.release(0, kMiB);
    ledger.set_context(0, 1);
    ledger.set_at_most(0);
    ledger.begin_wait({.device = 0, .bytes = 1, .since = 1});
    ledger.end_wait({.device = 0, .bytes = 1});
    ledger.wait(ledger.before_try(), 1);
    EXPECT_FALSE(ledger.has_context(0) || ledger.is_last_of_a_circle());
    EXPECT_EQ(ledger.used(0) + ledger.used_by_us(0) + ledger.sweep() + ledger.movement(), 0U);
    Ledger late;
    EXPECT_EQ(late.attach(files.limit, sizeof(LimitFile), use, Files::use_bytes(1), process(2)),
              Ledger::Attached::kBadFile);
  }
  ::munmap(use, Files::use_bytes(1));
  (void)std::fclose(file);
}

}  // namespace
}  // namespace berth::guard
