// SPDX-License-Identifier: Apache-2.0
// Access of the simulated driver's functions to the host memory behind what programs have on a
// device. Any thread with a current context.
#pragma once

#include <cstddef>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {

struct DeviceRange {
  CUdeviceptr at;
  std::size_t bytes;
};

// body(host memory behind `to`, host memory behind `from`); of an empty range it is null. It runs
// without the lock, and no checkpoint begins before it is done. The memory stays mapped when the
// range is freed meanwhile, so that a program's own race costs that program its data and nothing
// else.
template <class Body>
CUresult with_memory(DeviceRange to, DeviceRange from, Body body) {
  Barrier::Residency residency;
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  const CUresult result = with_context([&](Driver& driver, Context&) {
    if (to.bytes > 0) target = driver.writable(to.at, to.bytes);
    if (from.bytes > 0) source = driver.readable(from.at, from.bytes);
    const bool found =
        (target != nullptr || to.bytes == 0) && (source != nullptr || from.bytes == 0);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    residency = Driver::residency();
    return CUDA_SUCCESS;
  });
  if (result == CUDA_SUCCESS) body(target, source);
  return result;
}

}  // namespace berth::simgpu
