// SPDX-License-Identifier: Apache-2.0
#include "guard/slot_locks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "guard/ledger.h"
#include "guard/ledger_files_for_test.h"

namespace berth::guard {
namespace {

namespace fs = std::filesystem;

/// A lease whose `use` is a file, as it is for a guard.
class Liveness : public ::testing::Test {
 protected:
  Liveness() {
    const int fd = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(fd, files_.use, offsetof(UseFile, owners)), offsetof(UseFile, owners));
    EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(use_file_size(1))), 0);
    ::close(fd);
  }
  ~Liveness() override { fs::remove_all(directory_); }

  std::string path() const { return directory_ + "/use"; }
  /// Of the file, in this process.
  std::vector<int> descriptors() const {
    std::vector<int> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      if (fs::read_symlink(entry, code) == path())
        found.push_back(std::stoi(entry.path().filename()));
    }
    return found;
  }

  /// A process with a guard: what is closed when it is gone is what the kernel closes then.
  struct Program {
    ~Program() { locks->close(); }
    Ledger::Attached attached = Ledger::Attached::kBadFile;
    std::unique_ptr<SlotLocks> locks = std::make_unique<SlotLocks>();
    UseFile* use = nullptr;
    Ledger ledger;
  };
  std::unique_ptr<Program> begin(Census census) const {
    auto program = std::make_unique<Program>();
    void* use = nullptr;
    std::size_t bytes = 0;
    EXPECT_TRUE(program->locks->open(directory_.c_str(), use, bytes));
    census.locks = program->locks.get();
    program->use = static_cast<UseFile*>(use);
    program->attached = program->ledger.attach(files_.limit, sizeof(LimitFile), use, bytes, census);
    EXPECT_EQ(program->attached, Ledger::Attached::kYes);
    return program;
  }
  static Census in_namespace(std::uint64_t pid_namespace, std::uint64_t pid,
                             Life (*life)(Identity) = &nobody_lives) {
    Census census = process(pid, life);
    census.pid_namespace = pid_namespace;
    return census;
  }

  static std::string make_directory() {
    std::string pattern = "/tmp/berth-slot-locks-XXXXXX";
    return ::mkdtemp(pattern.data());
  }

  const std::string directory_ = make_directory();
  const Files files_{10 * kMiB};
};

TEST_F(Liveness, AProcessOfAnotherNamespaceCountsAsLongAsItLives) {
  auto one = begin(in_namespace(8, 1));
  auto two = begin(in_namespace(9, 1));  // The same pid and start time as the first one.
  ASSERT_EQ(one->ledger.charge(0, 6 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two->ledger.charge(0, 5 * kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(two->ledger.charge(0, 4 * kMiB), Ledger::Charged::kYes);
  one.reset();
  EXPECT_EQ(two->ledger.charge(0, 6 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two->ledger.used(0), 10 * kMiB);
}

TEST_F(Liveness, WhatAnotherIsClearingIsWaitedFor) {
  auto one = begin(in_namespace(8, 1));
  auto two = begin(in_namespace(9, 1));
  auto clearer = begin(in_namespace(10, 1));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_FALSE(clearer->locks->take_to_clear(0)) << "its owner lives";
  one.reset();
  ASSERT_TRUE(clearer->locks->take_to_clear(0));
  EXPECT_EQ(two->locks->holder(0), SlotLocks::Holder::kClearing);
  EXPECT_FALSE(two->locks->take(0));
  EXPECT_TRUE(two->ledger.has_dead(0));
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(two->ledger.used(0), 10 * kMiB);
  clearer->locks->drop(0);
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kYes);
}

TEST_F(Liveness, NobodyIsTakenForDeadByAPidOfAnotherProc) {
  Census census = in_namespace(8, 1);
  census.sees_pids = false;
  auto one = begin(census);
  census.self = make_identity(2, 1);
  auto two = begin(census);
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  one.reset();
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kYes);
}

TEST_F(Liveness, NobodyIsTakenForDeadByAStartTimeOfAnotherTimeNamespace) {
  Census census = in_namespace(8, 1);
  census.time_namespace = 3;
  auto one = begin(census);
  auto two = begin(in_namespace(8, 2));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  one.reset();
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kYes);
}

TEST_F(Liveness, AProgramThatClosesAllDescriptorsLivesByItsPid) {
  auto one = begin(in_namespace(8, 1));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  for (const int fd : descriptors()) ::close(fd);
  auto two = begin(in_namespace(8, 2, &everybody_lives));
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
}

TEST_F(Liveness, ALostLockIsTakenAgainWhenTheLedgerSweeps) {
  auto one = begin(in_namespace(8, 1));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  for (const int fd : descriptors()) ::close(fd);
  EXPECT_EQ(one->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  EXPECT_EQ(descriptors().size(), 1U);
  auto two = begin(in_namespace(9, 1));
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
}

TEST_F(Liveness, AFileOfTheProgramsOnOurNumberIsNeitherClosedNorBelieved) {
  auto one = begin(in_namespace(8, 1));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  auto two = begin(in_namespace(9, 1));
  const int other = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const std::vector<int> both = descriptors();
  ASSERT_EQ(both.size(), 2U);
  const int number = both[1];  // The second one has the higher number.
  ASSERT_EQ(::dup2(other, number), number);
  EXPECT_EQ(two->locks->holder(0), SlotLocks::Holder::kOwner);
  EXPECT_EQ(two->locks->holder(7), SlotLocks::Holder::kOwner);
  EXPECT_FALSE(two->locks->take(7));
  two->locks->close();
  EXPECT_EQ(::fcntl(number, F_GETFD), 0);
  ::close(number);
  ::close(other);
}

TEST_F(Liveness, AChildThatInheritedTheLockDoesNotKeepADeadParentsMemory) {
  auto one = begin(in_namespace(8, 1));
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  const int inherited = ::dup(descriptors().at(0));
  one.reset();
  auto two = begin(in_namespace(8, 2));
  EXPECT_EQ(two->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  EXPECT_EQ(two->use->slots[0][0].used.load(), 0U);
  ::close(inherited);
}

TEST_F(Liveness, AGuardInAChildOfForkClosesWhatItInherited) {
  auto one = begin(in_namespace(8, 1));
  std::memset(static_cast<void*>(one->locks.get()), 0, sizeof(SlotLocks));  // As the kernel does.
  void* use = nullptr;
  std::size_t bytes = 0;
  EXPECT_TRUE(one->locks->open(directory_.c_str(), use, bytes));
  EXPECT_EQ(descriptors().size(), 1U);
  EXPECT_TRUE(one->locks->take(0)) << "its parent's lock";
}

TEST_F(Liveness, AProgramThatReplacedItselfBeginsWithNothing) {
  auto before = begin(in_namespace(8, 1, &everybody_lives));
  ASSERT_EQ(before->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  const int inherited = ::dup(descriptors().at(0));  // By a child that it leaves.
  before.reset();
  auto after = begin(in_namespace(8, 1, &everybody_lives));
  EXPECT_EQ(after->ledger.used(0), 0U);
  ASSERT_EQ(after->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  ::close(inherited);
  after.reset();
  auto once_more = begin(in_namespace(8, 1, &everybody_lives));
  EXPECT_EQ(once_more->ledger.used(0), 0U);
}

TEST_F(Liveness, WhatAHidingProcDoesNotShowLivesAsLongAsItsLockOrPid) {
  Census hidden = in_namespace(8, 1, &nobody_is_seen);
  auto one = begin(hidden);
  ASSERT_EQ(one->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  Census census = in_namespace(8, 2, &nobody_is_seen);
  census.has_pid = &there_is;
  auto two = begin(census);
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  one.reset();
  EXPECT_EQ(two->ledger.charge(0, kMiB), Ledger::Charged::kYes);
}

// A guard of the release before has no locks, and writes its PID namespace alone.
TEST_F(Liveness, AnEarlierGuardIsKnownByPidAndStartTime) {
  EXPECT_NE(namespaces_of(kNamespace, 3), kNamespace) << "it would judge our pid by its own";
  auto earlier = begin(in_namespace(8, 1));
  Census census = in_namespace(8, 5, &everybody_lives);
  Ledger without;
  ASSERT_EQ(without.attach(files_.limit, sizeof(LimitFile), earlier->use, use_file_size(1), census),
            Ledger::Attached::kYes);
  EXPECT_EQ(earlier->use->owners[1].namespaces.load(), 8U);
  ASSERT_EQ(without.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  auto elsewhere = begin(in_namespace(9, 2));
  EXPECT_EQ(elsewhere->ledger.charge(0, kMiB), Ledger::Charged::kFull);
  auto beside = begin(in_namespace(8, 3));
  EXPECT_EQ(beside->ledger.charge(0, kMiB), Ledger::Charged::kYes);
}

TEST_F(Liveness, AllSlotsTakenByTheLivingOfManyNamespacesIsAnAnswer) {
  std::vector<std::unique_ptr<Program>> programs;
  for (std::uint64_t i = 1; i <= kSlotsMax; ++i) programs.push_back(begin(in_namespace(i, 1)));
  void* use = nullptr;
  std::size_t bytes = 0;
  auto locks = std::make_unique<SlotLocks>();
  ASSERT_TRUE(locks->open(directory_.c_str(), use, bytes));
  Census census = in_namespace(7'000, 1);
  census.locks = locks.get();
  Ledger late;
  EXPECT_EQ(late.attach(files_.limit, sizeof(LimitFile), use, bytes, census),
            Ledger::Attached::kNoSlot);
  programs.erase(programs.begin() + 300);
  EXPECT_EQ(late.attach(files_.limit, sizeof(LimitFile), use, bytes, census),
            Ledger::Attached::kYes);
  locks->close();
}

// Many look for the dead at the same time, from namespaces of which none can judge another's pid.
TEST_F(Liveness, AProcessKilledAtAnyPointIsClearedOnceAndNoLivingOne) {
  auto* held = static_cast<Word*>(Files::map(sizeof(Word)));
  std::vector<pid_t> children;
  for (std::uint64_t i = 0; i < 3; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    auto program = begin(in_namespace(20 + i, 1));
    for (int round = 0; round < 4'000; ++round) {
      if (program->ledger.charge(0, 6 * kMiB) != Ledger::Charged::kYes) continue;
      if (held->fetch_add(1) != 0) ::_exit(2);
      held->fetch_sub(1);
      program->ledger.release(0, 6 * kMiB);
    }
    ::_exit(0);
  }
  for (std::uint64_t round = 0; round < 30; ++round) {
    const pid_t victim = ::fork();
    if (victim == 0) {
      auto program = begin(in_namespace(50 + round, 1));
      for (;;) (void)program->ledger.charge(0, kMiB / 4);
    }
    std::this_thread::yield();
    ::kill(victim, SIGKILL);
    ASSERT_EQ(::waitpid(victim, nullptr, 0), victim);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);  // 2: two at once, so the slot of one who lives was cleared.
  }
  auto last = begin(in_namespace(90, 1));
  EXPECT_EQ(last->ledger.charge(0, 10 * kMiB), Ledger::Charged::kYes);
  ::munmap(held, sizeof(Word));
}

}  // namespace
}  // namespace berth::guard
