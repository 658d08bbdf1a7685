// SPDX-License-Identifier: Apache-2.0
// The checkpoint calls, made by real processes on real processes.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "simgpu/cuda/checkpoint_testing.h"
#include "simgpu/world/clock.h"
#include "simgpu/world/fault.h"

namespace berth::simgpu {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Checkpoint, WhatWasInMemoryComesBackAndOthersHaveTheDeviceMeanwhile) {
  const TemporaryWorld temporary("1x1GiB,context=100MiB");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_RUNNING));
    suspend(victim.pid());
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_CHECKPOINTED));
  });
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_TRUE(world.processes(0).empty());
  EXPECT_EQ(world.figures(kHostMemory).used, mib(700));
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUdeviceptr all = 0;
              REQUIRE_OK(cuMemAlloc_v2(&all, 924 * kMiB));
              REQUIRE_OK(cuMemsetD8_v2(all, 1, kMiB));
              REQUIRE_OK(cuMemFree_v2(all));
            }));
  as_caller([&] {
    REQUIRE_OK(cuCheckpointProcessRestore(victim.pid(), nullptr));
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessUnlock(victim.pid(), nullptr));
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_RUNNING));
  });
  EXPECT_EQ(world.figures(0).used, mib(700));
  EXPECT_EQ(world.processes(0).size(), 1U);
  EXPECT_EQ(world.figures(kHostMemory).used, Bytes{});
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(Checkpoint, EachCallNeedsItsStateAndLeavesAnotherAlone) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    const int pid = victim.pid();
    REQUIRE(cuCheckpointProcessCheckpoint(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessRestore(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessUnlock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_RUNNING));
    REQUIRE_OK(cuCheckpointProcessLock(pid, nullptr));
    REQUIRE(cuCheckpointProcessLock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessRestore(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessCheckpoint(pid, nullptr));
    REQUIRE(cuCheckpointProcessLock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessCheckpoint(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessUnlock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_CHECKPOINTED));
    resume(pid);
  });
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(Checkpoint, APidWithoutADriverIsAnInvalidValue) {
  const TemporaryWorld temporary("1x1GiB");
  Child unmanaged_memory([](Child& self) { self.wait_for_parent(); });
  as_caller([&] {
    CUprocessState state{};
    int thread = 0;
    for (const int pid : {unmanaged_memory.pid(), 0, -1, 1}) {
      REQUIRE(cuCheckpointProcessGetState(pid, &state) == CUDA_ERROR_INVALID_VALUE);
      REQUIRE(cuCheckpointProcessGetRestoreThreadId(pid, &thread) == CUDA_ERROR_INVALID_VALUE);
      REQUIRE(cuCheckpointProcessLock(pid, nullptr) == CUDA_ERROR_INVALID_VALUE);
    }
  });
}

TEST(Checkpoint, ReservedArgumentsAreZeroOrInvalid) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    const int pid = victim.pid();
    CUcheckpointLockArgs lock{};
    CUcheckpointCheckpointArgs checkpoint{};
    CUcheckpointRestoreArgs restore{};
    CUcheckpointUnlockArgs unlock{};
    lock.reserved1[6] = 1;
    REQUIRE(cuCheckpointProcessLock(pid, &lock) == CUDA_ERROR_INVALID_VALUE);
    lock.reserved1[6] = 0;
    lock.reserved0 = 1;
    REQUIRE(cuCheckpointProcessLock(pid, &lock) == CUDA_ERROR_INVALID_VALUE);
    lock.reserved0 = 0;
    REQUIRE_OK(cuCheckpointProcessLock(pid, &lock));
    checkpoint.reserved[7] = 1;
    REQUIRE(cuCheckpointProcessCheckpoint(pid, &checkpoint) == CUDA_ERROR_INVALID_VALUE);
    checkpoint.reserved[7] = 0;
    REQUIRE_OK(cuCheckpointProcessCheckpoint(pid, &checkpoint));
    restore.gpuPairsCount = 1;  // Reserved in CUDA 12.
    REQUIRE(cuCheckpointProcessRestore(pid, &restore) == CUDA_ERROR_INVALID_VALUE);
    restore.gpuPairsCount = 0;
    restore.reserved1 = 1;
    REQUIRE(cuCheckpointProcessRestore(pid, &restore) == CUDA_ERROR_INVALID_VALUE);
    restore.reserved1 = 0;
    REQUIRE_OK(cuCheckpointProcessRestore(pid, &restore));
    unlock.reserved[0] = 1;
    REQUIRE(cuCheckpointProcessUnlock(pid, &unlock) == CUDA_ERROR_INVALID_VALUE);
    unlock.reserved[0] = 0;
    REQUIRE_OK(cuCheckpointProcessUnlock(pid, &unlock));
  });
}

TEST(Checkpoint, TheRestoreThreadIsAThreadOfTheVictim) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    int thread = 0;
    REQUIRE_OK(cuCheckpointProcessGetRestoreThreadId(victim.pid(), &thread));
    const std::string path =
        "/proc/" + std::to_string(victim.pid()) + "/task/" + std::to_string(thread);
    REQUIRE(thread != victim.pid() && ::access(path.c_str(), F_OK) == 0);
  });
}

TEST(Checkpoint, TheFunctionsAreFoundByNameFromCuda12_8On) {
  for (const char* name : {"cuCheckpointProcessGetState", "cuCheckpointProcessGetRestoreThreadId",
                           "cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint",
                           "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock"}) {
    void* function = nullptr;
    EXPECT_EQ(cuGetProcAddress(name, &function, 12080, 0), CUDA_SUCCESS);
    EXPECT_NE(function, nullptr);
    EXPECT_EQ(cuGetProcAddress(name, &function, 12070, 0), CUDA_ERROR_NOT_FOUND);
  }
}

// Calls of the driver by a thread of the victim, one after another.
struct Calls {
  std::atomic<std::uint64_t> done;
};

TEST(Checkpoint, EachThreadOfALockedProcessWaits) {
  const TemporaryWorld temporary("1x1GiB");
  Calls& calls = shared_with_children<Calls>();
  Child victim([&](Child& self) {
    use_device(0);
    CUcontext context = nullptr;
    REQUIRE_OK(cuCtxGetCurrent(&context));
    std::thread second([&] {
      REQUIRE_OK(cuCtxSetCurrent(context));
      for (;; calls.done.fetch_add(1)) (void)free_bytes();
    });
    self.tell_parent();
    second.join();
  });
  ASSERT_TRUE(victim.wait_for_child());
  while (calls.done.load() == 0) ::sched_yield();
  as_caller([&] {
    REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
    const std::uint64_t before = calls.done.load();
    for (int i = 0; i < 300; ++i) REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_LOCKED));
    // It may have been on its way out of a call.
    REQUIRE(calls.done.load() <= before + 1);
    REQUIRE_OK(cuCheckpointProcessCheckpoint(victim.pid(), nullptr));
    for (int i = 0; i < 300; ++i) REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_CHECKPOINTED));
    REQUIRE(calls.done.load() <= before + 1);
    resume(victim.pid());
    while (calls.done.load() < before + 10) ::sched_yield();
  });
}

TEST(Checkpoint, ALockWaitsForThoseInsideAndGivesUpInTime) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  set_hang(world.file().faults.busy, now_ns() + 3'600'000'000'000);
  Child victim([&](Child& self) {
    use_device(0);
    self.tell_parent();
    REQUIRE_OK(cuCtxSynchronize());  // Until the work is done.
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    // It may not be inside yet.
    while (lock_within(victim.pid(), 20) != CUDA_ERROR_NOT_READY)
      REQUIRE_OK(cuCheckpointProcessUnlock(victim.pid(), nullptr));
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_RUNNING));
    REQUIRE(lock_within(victim.pid(), 20) == CUDA_ERROR_NOT_READY);
  });
  Child caller([&](Child& self) {
    self.tell_parent();
    REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
  });
  ASSERT_TRUE(caller.wait_for_child());
  set_hang(world.file().faults.busy, 0);
  EXPECT_EQ(caller.wait(), 0);
  EXPECT_TRUE(victim.wait_for_child());  // The call that was inside is done.
}

// A copy from a page that cannot be read yet: it stays where it touches that.
struct Copy {
  std::atomic<bool> is_under_way;
  std::atomic<bool> may_go_on;
  void* page;
};
Copy* the_copy = nullptr;

void let_it_stay(int /*signal*/) {
  the_copy->is_under_way.store(true);
  while (!the_copy->may_go_on.load()) ::sched_yield();
  ::mprotect(the_copy->page, 4096, PROT_READ);
}

TEST(Checkpoint, ALockWaitsForACopyThatIsUnderWay) {
  const TemporaryWorld temporary("1x1GiB");
  the_copy = &shared_with_children<Copy>();
  Child victim([](Child& self) {
    use_device(0);
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuMemAlloc_v2(&pointer, kMiB));
    the_copy->page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(::signal(SIGSEGV, &let_it_stay) != SIG_ERR);
    REQUIRE_OK(cuMemcpyHtoD_v2(pointer, the_copy->page, 4096));
    self.tell_parent();
    self.wait_for_parent();
  });
  while (!the_copy->is_under_way.load()) ::sched_yield();
  as_caller([&] { REQUIRE(lock_within(victim.pid(), 20) == CUDA_ERROR_NOT_READY); });
  the_copy->may_go_on.store(true);
  as_caller([&] { suspend(victim.pid()); });
  EXPECT_TRUE(victim.wait_for_child());  // The copy is done.
}

TEST(Checkpoint, ACheckpointWaitsForWorkThatWasSubmitted) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  const Clock::time_point start = Clock::now();
  set_hang(world.file().faults.busy, now_ns() + 300'000'000);
  as_caller([&] { suspend(victim.pid()); });
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(300));
}

TEST(Checkpoint, ItTakesAFixedTimeAndThatOfTheBytes) {
  const TemporaryWorld temporary(
      "1x1GiB,context=0,checkpoint_bandwidth=1GiB/s,checkpoint_cost=100ms");
  Child victim([](Child& self) { hold_a_pattern(self, 256 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
    const Clock::time_point start = Clock::now();
    REQUIRE_OK(cuCheckpointProcessCheckpoint(victim.pid(), nullptr));
    const Clock::time_point half = Clock::now();
    REQUIRE(half - start >= std::chrono::milliseconds(350));
    REQUIRE_OK(cuCheckpointProcessRestore(victim.pid(), nullptr));
    REQUIRE(Clock::now() - half >= std::chrono::milliseconds(350));
  });
}

std::uint64_t resident_pages(int pid) {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/statm") >> all >> resident;
  return resident;
}

TEST(Checkpoint, WhatWasNeverWrittenIsNotCopied) {
  const TemporaryWorld temporary("1x16GiB");
  Child victim([](Child& self) { hold_a_pattern(self, 8 * kGiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { suspend(victim.pid()); });
  EXPECT_EQ(temporary.open().figures(kHostMemory).used, gib(8) + mib(300));
  EXPECT_LT(resident_pages(victim.pid()) * 4096, gib(1).value);
  as_caller([&] { resume(victim.pid()); });
  EXPECT_TRUE(still_has_its_pattern(victim));
  EXPECT_LT(resident_pages(victim.pid()) * 4096, gib(1).value);
}

TEST(Checkpoint, AProcessCanSuspendItself) {
  const TemporaryWorld temporary("1x1GiB");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const Pattern pattern(kMiB);
              suspend(::getpid());
              REQUIRE(has_state(::getpid(), CU_PROCESS_STATE_CHECKPOINTED));
              resume(::getpid());
              REQUIRE(pattern.is_there());
            }));
}

}  // namespace
}  // namespace berth::simgpu
