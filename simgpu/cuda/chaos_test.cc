// SPDX-License-Identifier: Apache-2.0
// Processes that use the simulated driver in every way at once and are killed anywhere in it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <random>
#include <vector>

#include "simgpu/cuda/abi.h"
#include "simgpu/testing.h"

namespace berth::simgpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

// Allocates, frees, makes and destroys contexts on two devices, until it is killed.
void use_the_driver(Child& self) {
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  require(cuInit(0) == CUDA_SUCCESS, "cuInit");
  self.tell_parent();
  for (;;) {
    CUcontext context = nullptr;
    const CUresult made = cuCtxCreate_v2(&context, 0, static_cast<CUdevice>(random() % 2));
    if (made == CUDA_ERROR_OUT_OF_MEMORY) continue;
    require(made == CUDA_SUCCESS, "cuCtxCreate");
    std::vector<CUdeviceptr> held;
    for (int round = 0; round < 40; ++round) {
      CUdeviceptr pointer = 0;
      const std::size_t bytes = 1 + random() % (random() % 2 == 0 ? 4096 : 200 * kMiB);
      const CUresult allocated = cuMemAlloc_v2(&pointer, bytes);
      require(allocated == CUDA_SUCCESS || allocated == CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc");
      if (allocated == CUDA_SUCCESS) held.push_back(pointer);
      if (held.empty() || random() % 2 == 0) continue;
      require(cuMemFree_v2(held.back()) == CUDA_SUCCESS, "cuMemFree");
      held.pop_back();
    }
    require(cuCtxDestroy_v2(context) == CUDA_SUCCESS, "cuCtxDestroy");
  }
}

TEST(CudaChaos, ProcessesKilledAnywhereInTheDriverLeaveNothingAndNeverExceedCapacity) {
  const TemporaryWorld temporary("2x1GiB,context=100MiB");
  World world = temporary.open();
  for (int round = 0; round < 6; ++round) {
    std::deque<Child> children;
    for (int i = 0; i < 3; ++i) children.emplace_back(&use_the_driver);
    for (Child& child : children) ASSERT_TRUE(child.wait_for_child());
    for (int look = 0; look < 5 * round; ++look) {
      ASSERT_LE(world.figures(0).used, gib(1));
      ASSERT_LE(world.figures(1).used, gib(1));
    }
    for (Child& child : children) child.kill();
    for (Child& child : children) ASSERT_EQ(child.wait(), 128 + 9);
    for (const std::uint32_t device : {0U, 1U}) {
      ASSERT_EQ(world.figures(device).used, Bytes{});
      ASSERT_TRUE(world.processes(device).empty());
    }
  }
  for (const std::uint32_t device : {0U, 1U}) {
    EXPECT_LE(world.figures(device).used_max, gib(1));
    EXPECT_EQ(0, in_child([device] {
                CUcontext context = nullptr;
                CUdeviceptr pointer = 0;
                require(cuInit(0) == CUDA_SUCCESS, "cuInit");
                require(cuCtxCreate_v2(&context, 0, static_cast<CUdevice>(device)) == CUDA_SUCCESS,
                        "cuCtxCreate");
                require(cuMemAlloc_v2(&pointer, (1024 - 100) * kMiB) == CUDA_SUCCESS,
                        "all that is left of the device");
                require(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_OUT_OF_MEMORY, "and no more");
              }));
  }
}

}  // namespace
}  // namespace berth::simgpu
