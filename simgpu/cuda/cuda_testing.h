// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of the simulated driver's functions. Each test is a process of its own
// (in_child), because a driver's state is its process's.
#pragma once

#include "simgpu/cuda/abi.h"
#include "simgpu/testing.h"

#define REQUIRE(condition) require(condition, #condition)
#define REQUIRE_OK(call) require((call) == CUDA_SUCCESS, #call)

namespace berth::simgpu {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kGiB = std::size_t{1} << 30U;

inline void use_device(CUdevice device) {
  CUcontext context = nullptr;
  REQUIRE_OK(cuInit(0));
  REQUIRE_OK(cuDevicePrimaryCtxRetain(&context, device));
  REQUIRE_OK(cuCtxSetCurrent(context));
}

inline std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE_OK(cuMemGetInfo_v2(&free, &total));
  return free;
}

}  // namespace berth::simgpu
