// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for stream-ordered memory. All streams are as one whose work is
// done at once, so that memory can be used again when it is freed; it goes back to the device when
// somebody synchronises. Any thread with a current context may call these.
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

// body(driver, pool)
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body body) {
  return with_driver([&](Driver& driver) {
    Pool* pool = driver.pool(reinterpret_cast<Pool*>(handle));
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *pool);
  });
}

CUmemoryPool handle_of(Pool* pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}

}  // namespace

extern "C" {

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Pool* found = nullptr;
    const CUresult result = driver.default_pool(ordinal, found);
    if (result == CUDA_SUCCESS) *pool = handle_of(found);
    return result;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  return cuDeviceGetDefaultMemPool(pool, ordinal);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* what) {
  if (pool == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (what->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (what->location.type != CU_MEM_LOCATION_TYPE_DEVICE || what->handleTypes != 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return with_driver([&](Driver& driver) {
    Pool* made = nullptr;
    const CUresult result = driver.create_pool(what->location.id, made);
    if (result == CUDA_SUCCESS) *pool = handle_of(made);
    return result;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_pool(pool, [](Driver& driver, Pool& found) { return driver.destroy_pool(found); });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep_bytes) {
  return with_pool(pool, [&](Driver& driver, Pool& found) {
    driver.give_back(found.device(), found.trim(keep_bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_pool(pool, [&](Driver&, Pool& found) {
    auto& number = *static_cast<cuuint64_t*>(value);
    switch (attribute) {
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        number = found.release_threshold;
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        number = found.reserved_bytes();
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        number = found.used_bytes();
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr || attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    return CUDA_ERROR_INVALID_VALUE;
  return with_pool(pool, [&](Driver&, Pool& found) {
    found.release_threshold = *static_cast<cuuint64_t*>(value);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                 CUstream /*stream*/) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_pool(pool, [&](Driver& driver, Pool& found) {
    DevicePointer allocated = 0;
    const CUresult result = driver.allocate_from(found, bytes, allocated);
    if (result == CUDA_SUCCESS) *pointer = allocated;
    return result;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  CUmemoryPool pool = nullptr;
  const CUresult result = with_context([&](Driver& driver, Context& context) {
    Pool* found = nullptr;
    const CUresult missing = driver.default_pool(context.ordinal, found);
    pool = handle_of(found);
    return missing;
  });
  return result == CUDA_SUCCESS ? cuMemAllocFromPoolAsync(pointer, bytes, pool, stream) : result;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream /*stream*/) {
  return with_context([&](Driver& driver, Context&) { return driver.free(pointer); });
}

}  // extern "C"
}  // namespace berth::simgpu
