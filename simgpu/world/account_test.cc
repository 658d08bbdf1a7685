// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/account.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kLimit = 100;

// An account as it lies in a world's file, with a word for the tests beside it.
struct Memory {
  Account account;
  std::array<Share, 8> shares;
  std::atomic<bool> done;

  AccountView view() { return {account, shares[0], sizeof(Share)}; }
  std::uint64_t sum() {
    std::uint64_t blocks = 0;
    for (std::uint32_t slot = 0; slot < shares.size(); ++slot) blocks += view().used_by(slot);
    return blocks;
  }
};

TEST(Account, ChargesUpToTheLimitAndNotABlockMore) {
  Memory memory{};
  EXPECT_EQ(memory.view().charge(1, 60, kLimit), 60U);
  EXPECT_EQ(memory.view().charge(2, 40, kLimit), 100U);
  EXPECT_EQ(memory.view().charge(2, 1, kLimit), std::nullopt);
  EXPECT_EQ(memory.view().charge(3, ~std::uint64_t{0}, kLimit), std::nullopt);
  EXPECT_EQ(memory.view().release(1, 10), 90U);
  EXPECT_EQ(memory.view().charge(2, 10, kLimit), 100U);
  EXPECT_EQ(memory.view().used_by(1), 50U);
  EXPECT_EQ(memory.view().used_by(2), 50U);
}

TEST(Account, TheHighWaterMarkStaysWhenMemoryIsGivenBack) {
  Memory memory{};
  ASSERT_TRUE(memory.view().charge(1, 70, kLimit));
  (void)memory.view().release(1, 70);
  ASSERT_TRUE(memory.view().charge(1, 5, kLimit));
  EXPECT_EQ(memory.view().used_max(), 70U);
}

TEST(Account, OneOfSeveralThatClearADeadSlotTakesItAll) {
  Memory memory{};
  ASSERT_TRUE(memory.view().charge(1, 30, kLimit));
  ASSERT_TRUE(memory.view().charge(2, 30, kLimit));
  const std::uint64_t seen = memory.view().settle();
  EXPECT_EQ(memory.view().clear_dead(1, seen).blocks, 30U);
  EXPECT_EQ(memory.view().clear_dead(1, seen).blocks, 0U);
  EXPECT_EQ(memory.view().used(), 30U);
}

TEST(Account, ClearingWithAnOldWordTakesNothingFromTheNextOwner) {
  Memory memory{};
  ASSERT_TRUE(memory.view().charge(1, 30, kLimit));
  const std::uint64_t seen = memory.view().settle();
  (void)memory.view().release(1, 30);
  ASSERT_TRUE(memory.view().charge(1, 30, kLimit));
  EXPECT_EQ(memory.view().clear_dead(1, seen).blocks, 0U);
  EXPECT_EQ(memory.view().used_by(1), 30U);
}

TEST(Account, RacingThreadsNeverExceedTheLimitAndLeaveNothing) {
  Memory memory{};
  std::atomic<bool> exceeded = false;
  const auto run = [&](std::uint32_t slot) {
    for (int round = 0; round < 20'000; ++round) {
      const auto used = memory.view().charge(slot, 30 + slot, kLimit);
      if (!used) continue;
      if (*used > kLimit || memory.view().used() > kLimit) exceeded = true;
      (void)memory.view().release(slot, 30 + slot);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t slot = 1; slot <= 4; ++slot) threads.emplace_back(run, slot);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(memory.view().used(), 0U);
  EXPECT_EQ(memory.sum(), 0U);
  EXPECT_LE(memory.view().used_max(), kLimit);
  EXPECT_GT(memory.view().used_max(), 0U);
}

// What another process finds if the owner of slot 1 was killed just now, or is stopped: a copy of
// the memory as it stands between two instructions.
void expect_whole(const Memory& memory, std::uint64_t instruction) {
  Memory copy{};
  std::memcpy(static_cast<void*>(&copy), &memory, sizeof(Memory));
  AccountView view = copy.view();
  const std::uint64_t seen = view.settle();
  ASSERT_EQ(view.used(), copy.sum()) << "after instruction " << instruction;
  ASSERT_LE(view.used(), kLimit);
  const std::uint64_t others = view.used_by(2);
  (void)view.clear_dead(1, seen);
  ASSERT_EQ(view.used(), others) << "after instruction " << instruction;
  ASSERT_EQ(view.charge(3, kLimit - others, kLimit), kLimit) << "after instruction " << instruction;
  ASSERT_TRUE(view.charge(1, 0, kLimit)) << "the slot's next owner, " << instruction;
}

TEST(Account, ADeathAtAnyInstructionLeavesExactSums) {
  void* shared =
      ::mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& memory = *new (shared) Memory{};
  ASSERT_TRUE(memory.view().charge(2, 30, kLimit));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    (void)memory.view().charge(1, 20, kLimit);
    (void)memory.view().charge(1, 60, kLimit);  // Does not fit.
    (void)memory.view().release(1, 5);
    memory.done = true;
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) {
    std::cout << "SKIPPED: this machine does not let a process trace its child\n";
    GTEST_SKIP();
  }
  std::uint64_t instructions = 0;
  while (!memory.done.load() && !HasFatalFailure()) {
    ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    expect_whole(memory, ++instructions);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_GT(instructions, 100U);
  EXPECT_EQ(memory.view().used_by(1), 15U);
  ::munmap(shared, sizeof(Memory));
}

}  // namespace
}  // namespace berth::simgpu
