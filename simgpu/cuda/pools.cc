// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for stream-ordered memory. All streams are as one whose work is
// done at once, so that memory can be used again when it is freed; it goes back to the device when
// the program synchronises. Any thread with a current context may call these.
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

// body(driver, pool)
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body body) {
  return with_driver([&](Driver& driver) {
    Pool* pool = driver.pools().find(reinterpret_cast<Pool*>(handle));
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *pool);
  });
}

CUmemoryPool handle_of(Pool* pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}

// The pool of that handle; of none: the one that the stream's device has at present.
CUresult pool_of(Driver& driver, const Context& context, CUmemoryPool handle, Pool*& pool) {
  if (handle == nullptr) return driver.current_pool(context.ordinal, pool);
  pool = driver.pools().find(reinterpret_cast<Pool*>(handle));
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Now, or by the graph that is captured in the stream.
CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool handle,
                  Streams::Key stream) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& current) {
    Graphs::Handle graph = 0;
    if (const CUresult result = driver.streams().enter(stream, graph); result != CUDA_SUCCESS)
      return result;
    Context* const its = driver.living(driver.streams().context_of(stream));
    const Context& context = its == nullptr ? current : *its;
    DevicePointer allocated = 0;
    Pool* pool = nullptr;
    CUresult result = pool_of(driver, context, handle, pool);
    if (result != CUDA_SUCCESS) return result;
    if (graph == 0) {
      result = driver.allocate_from(*pool, bytes, allocated);
    } else {
      Graphs::Handle node = 0;
      result = driver.add_to_graph(graph, context.ordinal, bytes, node, allocated);
    }
    if (result == CUDA_SUCCESS) *pointer = allocated;
    return result;
  });
}

CUresult free(CUdeviceptr pointer, Streams::Key stream) {
  return with_context([&](Driver& driver, Context&) {
    Graphs::Handle graph = 0;
    if (const CUresult result = driver.streams().enter(stream, graph); result != CUDA_SUCCESS)
      return result;
    if (graph == 0) return driver.free(pointer);
    if (driver.graphs().add_free(graph, pointer) != 0) return CUDA_SUCCESS;
    driver.streams().spoil(stream);
    return CUDA_ERROR_INVALID_VALUE;
  });
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
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Pool* found = nullptr;
    const CUresult result = driver.current_pool(ordinal, found);
    if (result == CUDA_SUCCESS) *pool = handle_of(found);
    return result;
  });
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  return with_pool(
      pool, [&](Driver& driver, Pool& found) { return driver.set_current_pool(ordinal, found); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* what) {
  if (pool == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (what->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = what->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (what->location.type != CU_MEM_LOCATION_TYPE_DEVICE || (!shared && what->handleTypes != 0))
    return CUDA_ERROR_NOT_SUPPORTED;
  return with_driver([&](Driver& driver) {
    Pool* made = nullptr;
    const CUresult result = driver.create_pool(what->location.id, made);
    if (result != CUDA_SUCCESS) return result;
    made->shared = shared;
    *pool = handle_of(made);
    return result;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  const auto imported = [&](Driver& driver) {
    const bool was = driver.foreign_handles().erase(reinterpret_cast<std::uint64_t>(pool)) == 1;
    return was ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  if (with_driver(imported) == CUDA_SUCCESS) return CUDA_SUCCESS;
  return with_pool(pool, [](Driver& driver, Pool& found) {
    return driver.pools().destroy(found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep_bytes) {
  return with_pool(pool, [&](Driver& driver, Pool& found) {
    const CUresult result = driver.streams().check_safe();
    if (result == CUDA_SUCCESS) driver.give_back(found.device(), found.trim(keep_bytes));
    return result;
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
                                 CUstream stream) {
  return allocate(pointer, bytes, pool, Streams::key_of(stream, Streams::Default::kLegacy));
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  return allocate(pointer, bytes, pool, Streams::key_of(stream, Streams::Default::kOwn));
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate(pointer, bytes, nullptr, Streams::key_of(stream, Streams::Default::kLegacy));
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate(pointer, bytes, nullptr, Streams::key_of(stream, Streams::Default::kOwn));
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return free(pointer, Streams::key_of(stream, Streams::Default::kLegacy));
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return free(pointer, Streams::key_of(stream, Streams::Default::kOwn));
}

}  // extern "C"
}  // namespace berth::simgpu
