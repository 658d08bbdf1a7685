// SPDX-License-Identifier: Apache-2.0
// Checkpoint calls of newer drivers: restore on other devices, and jobs whose processes have memory
// in common.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "simgpu/cuda/checkpoint_testing.h"

namespace berth::simgpu {
namespace {

// The driver of a version, as a process that loads it sees it.
struct OtherDriver {
  explicit OtherDriver(const char* version)
      : library(
            ::dlopen((SIMGPU_LIBRARIES "/cuda-" + std::string(version) + "/libcuda.so.1").c_str(),
                     RTLD_NOW | RTLD_LOCAL)) {}
  template <class F>
  F find(const char* name, F /*type*/) const {
    void* found = library == nullptr ? nullptr : ::dlsym(library, name);
    require(found != nullptr, name);
    return reinterpret_cast<F>(found);
  }
  void* library;
};
#define OF(driver, function) (driver).find(#function, &(function))

void use_device_0(const OtherDriver& driver) {
  CUcontext context = nullptr;
  REQUIRE_OK(OF(driver, cuInit)(0));
  REQUIRE_OK(OF(driver, cuDevicePrimaryCtxRetain)(&context, 0));
  REQUIRE_OK(OF(driver, cuCtxSetCurrent)(context));
}

void as_caller_of(const char* version, const std::function<void(const OtherDriver&)>& calls) {
  EXPECT_EQ(0, in_child([&] {
              const OtherDriver driver(version);
              REQUIRE_OK(OF(driver, cuInit)(0));
              calls(driver);
            }));
}

void suspend_by(const OtherDriver& driver, int pid) {
  REQUIRE_OK(OF(driver, cuCheckpointProcessLock)(pid, nullptr));
  REQUIRE_OK(OF(driver, cuCheckpointProcessCheckpoint)(pid, nullptr));
}

CUuuid uuid_of(const World& world, std::uint32_t device) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, world.file().devices[device].uuid.data(), sizeof uuid.bytes);
  return uuid;
}

// Has a word in 100 MiB on device 0, and at its parent's word looks for it.
void hold_a_word(Child& self, const char* version) {
  const OtherDriver driver(version);
  use_device_0(driver);
  CUdeviceptr pointer = 0;
  std::uint64_t word = 4711;
  REQUIRE_OK(OF(driver, cuMemAlloc_v2)(&pointer, 100 * kMiB));
  REQUIRE_OK(OF(driver, cuMemcpyHtoD_v2)(pointer, &word, sizeof word));
  self.tell_parent();
  self.wait_for_parent();
  word = 0;
  REQUIRE_OK(OF(driver, cuMemcpyDtoH_v2)(&word, pointer, sizeof word));
  REQUIRE(word == 4711);
  REQUIRE_OK(OF(driver, cuMemFree_v2)(pointer));
  self.tell_parent();
  self.wait_for_parent();
}

TEST(CheckpointVersions, SinceCuda13AProcessIsRestoredOnAnotherDeviceOfItsKind) {
  const TemporaryWorld temporary("2x1GiB:A,1x1GiB:B,cuda=13.0,context=50MiB");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_word(self, "13.0"); });
  ASSERT_TRUE(victim.wait_for_child());
  as_caller_of("13.0", [&](const OtherDriver& driver) {
    suspend_by(driver, victim.pid());
    const auto restore = OF(driver, cuCheckpointProcessRestore);
    CUcheckpointGpuPair pair{.oldUuid = uuid_of(world, 0), .newUuid = uuid_of(world, 2)};
    CUcheckpointRestoreArgs arguments{
        .gpuPairs = &pair, .gpuPairsCount = 1, .reserved = {}, .reserved1 = 0};
    // Another kind; a device of no world; not all that it has.
    REQUIRE(restore(victim.pid(), &arguments) == CUDA_ERROR_INVALID_VALUE);
    pair.newUuid = CUuuid{};
    REQUIRE(restore(victim.pid(), &arguments) == CUDA_ERROR_INVALID_VALUE);
    pair = {.oldUuid = uuid_of(world, 1), .newUuid = uuid_of(world, 0)};
    REQUIRE(restore(victim.pid(), &arguments) == CUDA_ERROR_INVALID_VALUE);
    pair = {.oldUuid = uuid_of(world, 0), .newUuid = uuid_of(world, 1)};
    arguments.reserved[0] = 1;
    REQUIRE(restore(victim.pid(), &arguments) == CUDA_ERROR_INVALID_VALUE);
    arguments.reserved[0] = 0;
    REQUIRE_OK(restore(victim.pid(), &arguments));
    REQUIRE_OK(OF(driver, cuCheckpointProcessUnlock)(victim.pid(), nullptr));
  });
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_TRUE(world.processes(0).empty());
  ASSERT_EQ(world.processes(1).size(), 1U);
  EXPECT_EQ(world.processes(1)[0].used, mib(150));
  victim.tell_child();
  ASSERT_TRUE(victim.wait_for_child());
  EXPECT_EQ(world.figures(1).used, mib(50));  // It was freed where it was.
}

TEST(CheckpointVersions, AMoveToADeviceWithoutRoomRuinsTheProcessAsAnyRestoreDoes) {
  const TemporaryWorld temporary("2x1GiB,cuda=13.0,context=0");
  World world = temporary.open();
  Child victim([](Child& self) { hold_a_word(self, "13.0"); });
  ASSERT_TRUE(victim.wait_for_child());
  ASSERT_TRUE(world.charge(kUnmanagedSlot, 1, mib(1000).value / kBlockBytes));
  as_caller_of("13.0", [&](const OtherDriver& driver) {
    suspend_by(driver, victim.pid());
    CUcheckpointGpuPair pair{.oldUuid = uuid_of(world, 0), .newUuid = uuid_of(world, 1)};
    CUcheckpointRestoreArgs arguments{
        .gpuPairs = &pair, .gpuPairsCount = 1, .reserved = {}, .reserved1 = 0};
    REQUIRE(OF(driver, cuCheckpointProcessRestore)(victim.pid(), &arguments) ==
            CUDA_ERROR_OUT_OF_MEMORY);
    CUprocessState state{};
    REQUIRE_OK(OF(driver, cuCheckpointProcessGetState)(victim.pid(), &state));
    REQUIRE(state == CU_PROCESS_STATE_FAILED);
  });
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_EQ(world.figures(1).used, mib(1000));
}

// Gives an allocation away by a handle, and waits.
void give_memory_away(Child& self, const char* version) {
  const OtherDriver driver(version);
  use_device_0(driver);
  CUdeviceptr pointer = 0;
  CUipcMemHandle handle{};
  REQUIRE_OK(OF(driver, cuMemAlloc_v2)(&pointer, kMiB));
  REQUIRE_OK(OF(driver, cuIpcGetMemHandle)(&handle, pointer));
  self.tell_parent();
  self.wait_for_parent();
}

CUresult checkpoint_of_one_who_gave_memory_away(const char* version) {
  CUresult& result = shared_with_children<CUresult>();
  Child victim([&](Child& self) { give_memory_away(self, version); });
  EXPECT_TRUE(victim.wait_for_child());
  as_caller_of(version, [&](const OtherDriver& driver) {
    REQUIRE_OK(OF(driver, cuCheckpointProcessLock)(victim.pid(), nullptr));
    result = OF(driver, cuCheckpointProcessCheckpoint)(victim.pid(), nullptr);
  });
  return result;
}

TEST(CheckpointVersions, MemoryOfSeveralIsSavedSinceDriver610AndInAJob) {
  for (const char* version : {"13.0", "13.3"}) {
    const bool new_enough = std::string(version) == "13.3";
    const TemporaryWorld temporary("1x1GiB,cuda=" + std::string(version));
    ::unsetenv("CUDA_CHECKPOINT_JOB_FILE");
    EXPECT_EQ(checkpoint_of_one_who_gave_memory_away(version), CUDA_ERROR_NOT_SUPPORTED);
    ::setenv("CUDA_CHECKPOINT_JOB_FILE", "/proc/self/fd/3", 1);
    EXPECT_EQ(checkpoint_of_one_who_gave_memory_away(version),
              new_enough ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
    ::unsetenv("CUDA_CHECKPOINT_JOB_FILE");
  }
}

TEST(CheckpointVersions, ADriverBeforeCuda12_8HasNoneOfThem) {
  const TemporaryWorld temporary("1x1GiB,cuda=12.0");
  EXPECT_EQ(0, in_child([] {
              const OtherDriver driver("12.0");
              use_device_0(driver);
              REQUIRE(::dlsym(driver.library, "cuCheckpointProcessLock") == nullptr);
            }));
}

}  // namespace
}  // namespace berth::simgpu
