// SPDX-License-Identifier: Apache-2.0
// The simulated driver's memory: allocation, copies, fills. Copies run without the lock. A launch
// does nothing and succeeds. Any thread with a current context may call these.
#include <algorithm>
#include <cstring>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

struct DeviceRange {
  CUdeviceptr at;
  std::size_t bytes;
};

// Host memory behind a device range. It stays mapped when the range is freed meanwhile, so that a
// program's own race costs that program its data and nothing else.
CUresult find_writable(DeviceRange range, std::byte*& memory) {
  return with_context([&](Driver& driver, Context&) {
    memory = driver.writable(range.at, range.bytes);
    return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

CUresult find_readable(DeviceRange range, const std::byte*& memory) {
  return with_context([&](Driver& driver, Context&) {
    memory = driver.readable(range.at, range.bytes);
    return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& context) {
    const DeviceFigures figures = driver.world().figures(context.device);
    *free = figures.free.value;
    *total = figures.capacity.value;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_safe_context([&](Driver& driver, Context& context) {
    DevicePointer allocated = 0;
    const CUresult result = driver.allocate(context, bytes, allocated);
    if (result == CUDA_SUCCESS) *pointer = allocated;
    return result;
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned int element_bytes) {
  const bool known = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (pointer == nullptr || pitch == nullptr || width == 0 || height == 0 || !known)
    return CUDA_ERROR_INVALID_VALUE;
  if (width > SIZE_MAX - kGranuleBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t row = (width + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
  if (height > SIZE_MAX / row) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = cuMemAlloc_v2(pointer, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0 || flags < 1 || flags > 2) return CUDA_ERROR_INVALID_VALUE;
  return with_safe_context([&](Driver& driver, Context& context) {
    DevicePointer allocated = 0;
    const CUresult result = driver.allocate_managed(context, bytes, allocated);
    if (result == CUDA_SUCCESS) *pointer = allocated;
    return result;
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return with_safe_context(
      [&](Driver& driver, Context&) { return pointer == 0 ? CUDA_SUCCESS : driver.free(pointer); });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::byte* memory = nullptr;
  if (const CUresult result = find_writable({to, bytes}, memory); result != CUDA_SUCCESS)
    return result;
  std::memcpy(memory, from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::byte* memory = nullptr;
  if (const CUresult result = find_readable({from, bytes}, memory); result != CUDA_SUCCESS)
    return result;
  std::memcpy(to, memory, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  if (const CUresult result = find_readable({from, bytes}, source); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = find_writable({to, bytes}, target); result != CUDA_SUCCESS)
    return result;
  std::memmove(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  if (count == 0) return CUDA_SUCCESS;
  std::byte* memory = nullptr;
  if (const CUresult result = find_writable({to, count}, memory); result != CUDA_SUCCESS)
    return result;
  std::memset(memory, value, count);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, std::size_t count) {
  if (count == 0) return CUDA_SUCCESS;
  if (count > SIZE_MAX / sizeof(value) || to % sizeof(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::byte* memory = nullptr;
  if (const CUresult result = find_writable({to, count * sizeof(value)}, memory);
      result != CUDA_SUCCESS)
    return result;
  std::fill_n(reinterpret_cast<unsigned int*>(memory), count, value);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction /*function*/, unsigned int /*grid_x*/, unsigned int /*grid_y*/,
                        unsigned int /*grid_z*/, unsigned int /*block_x*/, unsigned int /*block_y*/,
                        unsigned int /*block_z*/, unsigned int /*shared_bytes*/,
                        CUstream /*stream*/, void** /*parameters*/, void** /*extra*/) {
  return with_context([](Driver&, Context&) { return CUDA_SUCCESS; });
}

}  // extern "C"
}  // namespace berth::simgpu
