// SPDX-License-Identifier: Apache-2.0
// The simulated driver's memory: allocation, copies, fills. Copies run without the lock. A launch
// does nothing and succeeds. Any thread with a current context may call these.
#include <algorithm>
#include <cstring>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/device_memory.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
extern "C" {

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& context) {
    const DeviceFigures figures = driver.process_slot().figures(context.device);
    *free = figures.free.value;
    *total = figures.capacity.value;
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const std::optional<std::uint32_t> device = driver.device_at(pointer);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
      *static_cast<unsigned int*>(value) = CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    }
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return CUDA_ERROR_INVALID_VALUE;
    CUdevice ordinal = 0;
    while (driver.device(ordinal) && driver.device(ordinal) != device) ++ordinal;
    *static_cast<CUdevice*>(value) = ordinal;
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

// What nobody knows yet who stands in front of the driver.
CUresult cuMemAlloc_v3(CUdeviceptr* pointer, std::size_t bytes) {
  return cuMemAlloc_v2(pointer, bytes);
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
  return with_memory({to, bytes}, {}, [&](std::byte* target, const std::byte*) {
    std::memcpy(target, from, bytes);
  });
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_memory({}, {from, bytes},
                     [&](std::byte*, const std::byte* source) { std::memcpy(to, source, bytes); });
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  return with_memory({to, bytes}, {from, bytes}, [&](std::byte* target, const std::byte* source) {
    std::memmove(target, source, bytes);
  });
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  if (count == 0) return CUDA_SUCCESS;
  return with_memory({to, count}, {}, [&](std::byte* target, const std::byte*) {
    std::memset(target, value, count);
  });
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, std::size_t count) {
  if (count == 0) return CUDA_SUCCESS;
  if (count > SIZE_MAX / sizeof(value) || to % sizeof(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_memory({to, count * sizeof(value)}, {}, [&](std::byte* target, const std::byte*) {
    std::fill_n(reinterpret_cast<unsigned int*>(target), count, value);
  });
}

CUresult cuLaunchKernel(CUfunction /*function*/, unsigned int /*grid_x*/, unsigned int /*grid_y*/,
                        unsigned int /*grid_z*/, unsigned int /*block_x*/, unsigned int /*block_y*/,
                        unsigned int /*block_z*/, unsigned int /*shared_bytes*/,
                        CUstream /*stream*/, void** /*parameters*/, void** /*extra*/) {
  return with_context([](Driver&, Context&) { return CUDA_SUCCESS; });
}

}  // extern "C"
}  // namespace berth::simgpu
