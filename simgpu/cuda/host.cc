// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for pinned memory of the host. It takes nothing of a device. Any
// thread with a current context may call these.
#include <bit>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

constexpr unsigned int kAllocationFlags = 7;  // Portable, for devices, write-combined.
constexpr unsigned int kRegistrationFlags = 15;

}  // namespace

extern "C" {

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0 || (flags & ~kAllocationFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return with_safe_context([&](Driver& driver, Context&) {
    void* const made = driver.host_pages().allocate(bytes);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = made;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}
CUresult cuMemAllocHost(void** pointer, unsigned int bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemFreeHost(void* pointer) {
  return with_safe_context([&](Driver& driver, Context&) {
    return driver.host_pages().free(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0 || (flags & ~kRegistrationFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    return driver.host_pages().pin(pointer, bytes) ? CUDA_SUCCESS
                                                   : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuMemHostUnregister(void* pointer) {
  return with_context([&](Driver& driver, Context&) {
    return driver.host_pages().unpin(pointer) ? CUDA_SUCCESS
                                              : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned int flags) {
  if (device == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    const auto at = std::bit_cast<std::uint64_t>(pointer);
    if (driver.host_pages().find(at, 1) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = at;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
