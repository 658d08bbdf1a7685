// SPDX-License-Identifier: Apache-2.0
// Faults around the checkpoint calls: refusals, the ruined restore, and processes that are killed
// at each point.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/check.h"
#include "simgpu/cuda/checkpoint_testing.h"
#include "simgpu/world/clock.h"
#include "simgpu/world/fault.h"

namespace berth::simgpu {
namespace {

TEST(CheckpointFaults, ARestoreWithoutRoomRuinsTheProcessForGood) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  World world = temporary.open();
  Child victim([](Child& self) {
    use_device(0);
    const Pattern pattern(600 * kMiB);
    self.tell_parent();
    self.wait_for_parent();
    std::size_t free = 0;
    std::size_t total = 0;
    REQUIRE(cuMemGetInfo_v2(&free, &total) == CUDA_ERROR_UNKNOWN);
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { suspend(victim.pid()); });
  ASSERT_TRUE(world.set_unmanaged(0, mib(500).value / kBlockBytes));
  as_caller([&] {
    REQUIRE(cuCheckpointProcessRestore(victim.pid(), nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_FAILED));
  });
  EXPECT_EQ(world.figures(0).used, mib(500));
  EXPECT_TRUE(world.processes(0).size() == 0 || world.processes(0)[0].pid != victim.pid());
  ASSERT_TRUE(world.set_unmanaged(0, 0));
  as_caller([&] {
    const int pid = victim.pid();
    REQUIRE(cuCheckpointProcessRestore(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessUnlock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(cuCheckpointProcessLock(pid, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_FAILED));
  });
  victim.tell_child();
  EXPECT_TRUE(victim.wait_for_child());
}

TEST(CheckpointFaults, ARestoreThatFitsOnOneDeviceOfTwoTakesNothingOfEither) {
  const TemporaryWorld temporary("2x1GiB,context=0");
  World world = temporary.open();
  Child victim([](Child& self) {
    use_device(0);
    const Pattern first(600 * kMiB);
    use_device(1);
    const Pattern second(600 * kMiB);
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { suspend(victim.pid()); });
  EXPECT_EQ(world.figures(kHostMemory).used, mib(1200));
  ASSERT_TRUE(world.set_unmanaged(1, mib(500).value / kBlockBytes));
  as_caller([&] {
    REQUIRE(cuCheckpointProcessRestore(victim.pid(), nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  });
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_EQ(world.figures(1).used, mib(500));
}

TEST(CheckpointFaults, ARestoreWithJustEnoughRoomWorks) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { suspend(victim.pid()); });
  ASSERT_TRUE(world.set_unmanaged(0, mib(424).value / kBlockBytes));
  as_caller([&] { resume(victim.pid()); });
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(CheckpointFaults, ARestoreNeedsACallerWithADriver) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  EXPECT_EQ(
      0, in_child([&] {
        suspend(victim.pid());
        REQUIRE(cuCheckpointProcessRestore(victim.pid(), nullptr) == CUDA_ERROR_NOT_INITIALIZED);
        REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_CHECKPOINTED));
      }));
  as_caller([&] { resume(victim.pid()); });
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(CheckpointFaults, WithoutHostMemoryItIsRefusedAndTheProcessGoesOn) {
  const TemporaryWorld temporary("1x1GiB,context=0,checkpoint_memory=512MiB");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
    REQUIRE(cuCheckpointProcessCheckpoint(victim.pid(), nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessUnlock(victim.pid(), nullptr));
  });
  EXPECT_TRUE(still_has_its_pattern(victim));
  EXPECT_EQ(world.figures(kHostMemory).used, Bytes{});
  EXPECT_EQ(world.figures(0).used, mib(600));
  world.file().host_capacity_blocks = mib(600).value / kBlockBytes;
  as_caller([&] { suspend(victim.pid()); });
  EXPECT_EQ(world.figures(kHostMemory).used, mib(600));
}

// It locks the victim and is refused a checkpoint; the victim goes on.
void expect_not_supported(Child& victim) {
  as_caller([&] {
    REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
    REQUIRE(cuCheckpointProcessCheckpoint(victim.pid(), nullptr) == CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessUnlock(victim.pid(), nullptr));
  });
}

TEST(CheckpointFaults, ManagedMemoryIsNotSupported) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) {
    use_device(0);
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuMemAllocManaged(&pointer, kMiB, 1));
    self.tell_parent();
    self.wait_for_parent();
    REQUIRE_OK(cuMemFree_v2(pointer));
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  expect_not_supported(victim);
  victim.tell_child();
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { suspend(victim.pid()); });
}

TEST(CheckpointFaults, MemoryOfSeveralProcessesIsNotSupported) {
  const TemporaryWorld temporary("1x1GiB");
  CUipcMemHandle& handle = shared_with_children<CUipcMemHandle>();
  Child owner([&](Child& self) {
    use_device(0);
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuMemAlloc_v2(&pointer, kMiB));
    REQUIRE_OK(cuIpcGetMemHandle(&handle, pointer));
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(owner.wait_for_child());
  Child user([&](Child& self) {
    use_device(0);
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuIpcOpenMemHandle_v2(&pointer, handle, 1));
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(user.wait_for_child());
  expect_not_supported(owner);
  expect_not_supported(user);
}

TEST(CheckpointFaults, MemoryThatCanBeExportedIsNotSupported) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) {
    use_device(0);
    CUmemAllocationProp what{};
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE_OK(cuMemCreate(&handle, 2 * kMiB, &what, 0));
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  expect_not_supported(victim);
}

TEST(CheckpointFaults, OnADeviceSharedByMigOrMpsItIsNotSupported) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  for (const DeviceMode mode : {DeviceMode::kMig, DeviceMode::kMps}) {
    world.file().devices[0].mode = mode;
    expect_not_supported(victim);
  }
  world.file().devices[0].mode = DeviceMode::kUsual;
  as_caller([&] { suspend(victim.pid()); });
}

TEST(CheckpointFaults, AnErrorThatWasSetComesAndChangesNothing) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  auto& errors = world.file().faults.checkpoint_errors;
  for (ErrorState& error : errors) set_error(error, CUDA_ERROR_OPERATING_SYSTEM, 1);
  Child victim([](Child& self) { hold_a_pattern(self, kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] {
    const int pid = victim.pid();
    REQUIRE(cuCheckpointProcessLock(pid, nullptr) == CUDA_ERROR_OPERATING_SYSTEM);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_RUNNING));
    REQUIRE_OK(cuCheckpointProcessLock(pid, nullptr));
    REQUIRE(cuCheckpointProcessCheckpoint(pid, nullptr) == CUDA_ERROR_OPERATING_SYSTEM);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessCheckpoint(pid, nullptr));
    REQUIRE(cuCheckpointProcessRestore(pid, nullptr) == CUDA_ERROR_OPERATING_SYSTEM);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_CHECKPOINTED));
    REQUIRE_OK(cuCheckpointProcessRestore(pid, nullptr));
    REQUIRE(cuCheckpointProcessUnlock(pid, nullptr) == CUDA_ERROR_OPERATING_SYSTEM);
    REQUIRE(has_state(pid, CU_PROCESS_STATE_LOCKED));
    REQUIRE_OK(cuCheckpointProcessUnlock(pid, nullptr));
  });
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(CheckpointFaults, AVictimKilledInAnyStateLeavesNothing) {
  const TemporaryWorld temporary("1x1GiB,context=100MiB");
  World world = temporary.open();
  for (const CUprocessState state : {CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED,
                                     CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_FAILED}) {
    Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
    ASSERT_TRUE(victim.wait_for_child());
    const int pid = victim.pid();
    as_caller([&] {
      if (state == CU_PROCESS_STATE_LOCKED) REQUIRE_OK(cuCheckpointProcessLock(pid, nullptr));
      if (state >= CU_PROCESS_STATE_CHECKPOINTED) suspend(pid);
    });
    if (state == CU_PROCESS_STATE_FAILED) {
      ASSERT_TRUE(world.set_unmanaged(0, 512));
      as_caller(
          [&] { REQUIRE(cuCheckpointProcessRestore(pid, nullptr) == CUDA_ERROR_OUT_OF_MEMORY); });
      ASSERT_TRUE(world.set_unmanaged(0, 0));
    }
    as_caller([&] { REQUIRE(has_state(pid, state)); });
    victim.kill();
    EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    EXPECT_EQ(world.figures(0).used, Bytes{});
    EXPECT_EQ(world.figures(kHostMemory).used, Bytes{});
    as_caller([&] {
      CUprocessState gone{};
      REQUIRE(cuCheckpointProcessGetState(pid, &gone) == CUDA_ERROR_INVALID_VALUE);
      REQUIRE(cuCheckpointProcessUnlock(pid, nullptr) == CUDA_ERROR_INVALID_VALUE);
    });
  }
}

TEST(CheckpointFaults, ACallerKilledBetweenTwoCallsLeavesWhatAnotherGoesOnFrom) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  const int pid = victim.pid();
  struct Step {
    CUprocessState before;
    std::function<CUresult()> call;
  };
  const Step steps[] = {
      {CU_PROCESS_STATE_RUNNING, [&] { return cuCheckpointProcessLock(pid, nullptr); }},
      {CU_PROCESS_STATE_LOCKED, [&] { return cuCheckpointProcessCheckpoint(pid, nullptr); }},
      {CU_PROCESS_STATE_CHECKPOINTED, [&] { return cuCheckpointProcessRestore(pid, nullptr); }},
      {CU_PROCESS_STATE_LOCKED, [&] { return cuCheckpointProcessUnlock(pid, nullptr); }}};
  for (const Step& step : steps) {
    Child caller([&](Child& self) {
      REQUIRE_OK(cuInit(0));
      REQUIRE(has_state(pid, step.before));
      REQUIRE_OK(step.call());
      self.tell_parent();
      self.wait_for_parent();
    });
    ASSERT_TRUE(caller.wait_for_child());
    caller.kill();
    EXPECT_EQ(caller.wait(), 128 + SIGKILL);
  }
  EXPECT_TRUE(still_has_its_pattern(victim));
}

// Until a call on that process was made and is not done.
void wait_until_asked(const World& world, int pid) {
  const std::optional<std::uint32_t> slot = world.slot_of(pid);
  CHECK(slot.has_value());
  const CheckpointState& state = world.file().slots[*slot].checkpoint;
  while (state.asked.load() == state.answered.load()) ::sched_yield();
}

// A caller who hangs in the checkpoint of a locked process.
std::unique_ptr<Child> caller_in_a_checkpoint(const World& world, int pid) {
  auto caller = std::make_unique<Child>([pid](Child& self) {
    REQUIRE_OK(cuCheckpointProcessLock(pid, nullptr));
    self.tell_parent();
    self.wait_for_parent();
    const CUresult result = cuCheckpointProcessCheckpoint(pid, nullptr);
    REQUIRE(result == CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_TRUE(caller->wait_for_child());
  set_hang(world.file().faults.checkpoint_hang, now_ns() + 3'600'000'000'000);
  caller->tell_child();
  wait_until_asked(world, pid);
  return caller;
}

TEST(CheckpointFaults, WhatACallerKilledInACallAskedForIsDoneBeforeTheNextCall) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  const auto killed = caller_in_a_checkpoint(world, victim.pid());
  killed->kill();
  EXPECT_EQ(killed->wait(), 128 + SIGKILL);
  Child next([&](Child& self) {
    REQUIRE_OK(cuInit(0));
    REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_LOCKED));
    self.tell_parent();
    resume(victim.pid());  // It is checkpointed by then.
  });
  ASSERT_TRUE(next.wait_for_child());
  set_hang(world.file().faults.checkpoint_hang, 0);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(CheckpointFaults, AStoppedProcessIsServedWhenItGoesOnEachCallInItsTurn) {
  const TemporaryWorld temporary("1x1GiB");
  const World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  const int pid = victim.pid();
  as_caller([&] { REQUIRE_OK(cuCheckpointProcessLock(pid, nullptr)); });
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, WUNTRACED), pid);
  Child killed([&](Child&) { (void)cuCheckpointProcessCheckpoint(pid, nullptr); });
  wait_until_asked(world, pid);
  killed.kill();
  EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  Child next([&](Child& self) {
    REQUIRE_OK(cuInit(0));
    REQUIRE(has_state(pid, CU_PROCESS_STATE_LOCKED));
    self.tell_parent();
    resume(pid);
  });
  ASSERT_TRUE(next.wait_for_child());
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_TRUE(still_has_its_pattern(victim));
}

TEST(CheckpointFaults, ACallerOfAProcessThatIsKilledMeanwhileIsToldSo) {
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_pattern(self, 600 * kMiB); });
  ASSERT_TRUE(victim.wait_for_child());
  const auto caller = caller_in_a_checkpoint(world, victim.pid());
  victim.kill();
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
  EXPECT_EQ(caller->wait(), 0);
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_EQ(world.figures(kHostMemory).used, Bytes{});
}

TEST(CheckpointFaults, AProcessThatReplacedItsProgramHasNoDriverAnyMore) {
  const TemporaryWorld temporary("1x1GiB");
  Child victim([](Child& self) {
    use_device(0);
    self.tell_parent();
    self.wait_for_parent();
    ::execlp("sleep", "sleep", "1000", nullptr);
  });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller([&] { REQUIRE(has_state(victim.pid(), CU_PROCESS_STATE_RUNNING)); });
  victim.tell_child();
  as_caller([&] {
    CUprocessState state{};
    while (cuCheckpointProcessGetState(victim.pid(), &state) == CUDA_SUCCESS) ::sched_yield();
    REQUIRE(cuCheckpointProcessLock(victim.pid(), nullptr) == CUDA_ERROR_INVALID_VALUE);
  });
}

// Allocates, writes, checks and frees, until it is killed.
void work(Child& self) {
  use_device(0);
  self.tell_parent();
  for (;;) {
    CUdeviceptr pointer = 0;
    std::uint64_t word = 0;
    const CUresult allocated = cuMemAlloc_v2(&pointer, 100 * kMiB);
    if (allocated != CUDA_SUCCESS) {
      // Ruined ones stay so.
      REQUIRE(allocated == CUDA_ERROR_OUT_OF_MEMORY || allocated == CUDA_ERROR_UNKNOWN);
      ::sched_yield();
      continue;
    }
    const CUresult written = cuMemcpyHtoD_v2(pointer, &pointer, sizeof pointer);
    const CUresult read = cuMemcpyDtoH_v2(&word, pointer, sizeof word);
    REQUIRE(written == CUDA_SUCCESS || written == CUDA_ERROR_UNKNOWN);
    REQUIRE(read == CUDA_SUCCESS ? word == pointer : read == CUDA_ERROR_UNKNOWN);
    (void)cuMemFree_v2(pointer);
  }
}

// Any call on any of them, until it is killed.
void disturb(const std::vector<int>& pids) {
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  REQUIRE_OK(cuInit(0));
  for (;;) {
    const int pid = pids[random() % pids.size()];
    switch (random() % 4) {
      case 0:
        (void)lock_within(pid, 5);
        break;
      case 1:
        (void)cuCheckpointProcessCheckpoint(pid, nullptr);
        break;
      case 2:
        (void)cuCheckpointProcessRestore(pid, nullptr);
        break;
      default:
        (void)cuCheckpointProcessUnlock(pid, nullptr);
    }
  }
}

TEST(CheckpointFaults, ProcessesKilledAnywhereInThisLeaveNothingAndNeverExceedCapacity) {
  const TemporaryWorld temporary("1x512MiB,context=50MiB");
  World world = temporary.open();
  for (int round = 0; round < 4; ++round) {
    std::deque<Child> victims;
    std::vector<int> pids;
    pids.reserve(3);
    for (int i = 0; i < 3; ++i) pids.push_back(victims.emplace_back(&work).pid());
    for (Child& victim : victims) ASSERT_TRUE(victim.wait_for_child());
    std::deque<Child> callers;
    for (int i = 0; i < 2; ++i) callers.emplace_back([&](Child&) { disturb(pids); });
    for (int look = 0; look < 40 * round; ++look) {
      ASSERT_LE(world.figures(0).used, mib(512));
      if (look == 20 * round) callers[0].kill();
      if (look == 30 * round) victims[0].kill();
    }
    for (Child& child : callers) child.kill();
    for (Child& child : victims) child.kill();
    for (Child& child : callers) ASSERT_EQ(child.wait(), 128 + SIGKILL);
    for (Child& child : victims) ASSERT_EQ(child.wait(), 128 + SIGKILL);
    ASSERT_EQ(world.figures(0).used, Bytes{});
    ASSERT_EQ(world.figures(kHostMemory).used, Bytes{});
    ASSERT_TRUE(world.processes(0).empty());
    ASSERT_TRUE(world.checkpointables().empty());
  }
}

}  // namespace
}  // namespace berth::simgpu
