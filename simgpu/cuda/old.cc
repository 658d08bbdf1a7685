// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions of CUDA 2 and 3.0, whose addresses and sizes have 32 bits: an
// address is how far one lies within the device's own, and what lies further than they reach is
// refused. Any thread with a current context may call these.
#include <algorithm>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kReach = std::uint64_t{1} << 32U;

unsigned int cut(std::size_t bytes) {
  return static_cast<unsigned int>(std::min<std::size_t>(bytes, kReach - 1));
}

// No address is 0.
DevicePointer first_address(Driver& driver, const Context& context) {
  return driver.heap(context.device).first() - kBlockBytes;
}

CUdeviceptr widened(CUdeviceptr_v1 pointer) {
  CUdeviceptr wide = pointer;
  if (pointer == 0) return wide;
  (void)with_context([&](Driver& driver, Context& context) {
    wide += first_address(driver, context);
    return CUDA_SUCCESS;
  });
  return wide;
}

// What was allocated there, if its address can be told; else it is freed again.
CUresult narrowed(CUdeviceptr wide, std::size_t bytes, CUdeviceptr_v1* pointer) {
  const CUresult result = with_context([&](Driver& driver, Context& context) {
    const DevicePointer narrow = wide - first_address(driver, context);
    if (narrow + bytes > kReach) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = static_cast<CUdeviceptr_v1>(narrow);
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) (void)cuMemFree_v2(wide);
  return result;
}

}  // namespace

extern "C" {

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
  std::size_t all = 0;
  const CUresult result = cuDeviceTotalMem_v2(bytes == nullptr ? nullptr : &all, device);
  if (result == CUDA_SUCCESS) *bytes = cut(all);
  return result;
}

CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const CUresult result = cuMemGetInfo_v2(&free_bytes, &total_bytes);
  if (result != CUDA_SUCCESS) return result;
  *free = cut(free_bytes);
  *total = cut(total_bytes);
  return result;
}

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr wide = 0;
  const CUresult result = cuMemAlloc_v2(&wide, bytes);
  return result == CUDA_SUCCESS ? narrowed(wide, bytes, pointer) : result;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch, unsigned int width,
                         unsigned int height, unsigned int element_bytes) {
  if (pointer == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr wide = 0;
  std::size_t row = 0;
  CUresult result = cuMemAllocPitch_v2(&wide, &row, width, height, element_bytes);
  if (result == CUDA_SUCCESS) result = narrowed(wide, row * height, pointer);
  if (result == CUDA_SUCCESS) *pitch = static_cast<unsigned int>(row);
  return result;
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
  return cuMemFree_v2(widened(pointer));
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr pointer) {
  return with_context([&](Driver& driver, Context& context) {
    const std::optional<Heap::Range> found = driver.heap(context.device).range(pointer);
    if (!found) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = found->at;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1* base, unsigned int* bytes, CUdeviceptr_v1 pointer) {
  CUdeviceptr wide = 0;
  std::size_t length = 0;
  const CUdeviceptr asked = widened(pointer);
  const CUresult result = cuMemGetAddressRange_v2(&wide, &length, asked);
  if (result != CUDA_SUCCESS) return result;
  if (base != nullptr) *base = static_cast<CUdeviceptr_v1>(pointer - (asked - wide));
  if (bytes != nullptr) *bytes = cut(length);
  return result;
}

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR wide = in_three_dimensions(*what);
  return cuArray3DCreate_v2(array, &wide);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR wide = in_three_dimensions(*what);
  return cuArray3DCreate_v2(array, &wide);
}

}  // extern "C"
}  // namespace berth::simgpu
