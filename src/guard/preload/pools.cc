// SPDX-License-Identifier: Apache-2.0
// The hooks of stream-ordered memory. Before an allocation the most is charged that its pool may
// take for it; afterwards the pool is asked what it has reserved, and that is what stays charged.
// Nothing is done while a stream is captured: what is captured allocates nothing yet.
#include <bit>

#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{32}
                                      << 20U;  // What pools have been seen to take.
constexpr int kLooksMax = 4;

std::uint64_t chunks_of(std::size_t bytes) {
  if (bytes > UINT64_MAX - kChunkBytes) return UINT64_MAX;
  return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
}

CUmemoryPool pool_of(Pools::Handle handle) {
  return std::bit_cast<CUmemoryPool>(handle);
}

// What stays charged for the pool is what it has reserved.
void settle(Process& process, Pools::Handle pool) {
  const int device = process.pools().device_of(pool);
  for (int looks = 0; looks < kLooksMax && device >= 0; ++looks) {
    const std::uint64_t look = process.pools().look(pool);
    cuuint64_t reserved = 0;
    if (REAL(cuMemPoolGetAttribute, pool_of(pool), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
             &reserved) != CUDA_SUCCESS)
      return;
    const Pools::Settled settled = process.pools().settle(pool, look, pages_of(reserved));
    if (settled.excess > 0) process.cancel(static_cast<std::uint32_t>(device), settled.excess);
    if (settled.done) return;
  }
}

template <class Each>
void for_each_pool(Process& process, Each each) {
  std::size_t place = 0;
  for (Pools::Handle pool = process.pools().next(place); pool != 0;
       pool = process.pools().next(++place)) {
    each(pool);
  }
}

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status{};
  const CUresult result = REAL(cuStreamIsCapturing, stream, &status);
  return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

template <class Allocate>
CUresult allocate(Process* process, CUmemoryPool pool, std::size_t bytes, CUstream stream,
                  Allocate allocate) {
  const Pools::Handle handle = handle_of(pool);
  const int found = process == nullptr || bytes == 0 ? -1 : process->pools().device_of(handle);
  if (found < 0 || is_capturing(stream)) return allocate();
  const auto device = static_cast<std::uint32_t>(found);
  const std::uint64_t most = chunks_of(bytes);
  if (!reserve(*process, device, most)) return CUDA_ERROR_OUT_OF_MEMORY;
  process->pools().begin(handle, most);
  const CUresult result = allocate();
  process->pools().end(handle, most);
  settle(*process, handle);
  return result;
}

// The pool that this thread's device allocates from, made known; null where there is none.
CUmemoryPool current_pool(Process& process) {
  CUdevice ordinal = -1;
  CUmemoryPool pool = nullptr;
  if (REAL(cuCtxGetDevice, &ordinal) != CUDA_SUCCESS ||
      REAL(cuDeviceGetMemPool, &pool, ordinal) != CUDA_SUCCESS) {
    return nullptr;
  }
  const int device = device_of(process, ordinal);
  if (device < 0 || !process.pools().know(handle_of(pool), static_cast<std::uint32_t>(device)))
    return nullptr;
  return pool;
}

CUmemoryPool current_pool(Process* process) {
  return process == nullptr ? nullptr : current_pool(*process);
}

template <class Free>
CUresult free_async(CUdeviceptr pointer, Free free) {
  Process* process = Process::current();
  const Entry entry = process == nullptr ? Entry{} : process->begin_free(pointer);
  const CUresult result = free();
  if (process == nullptr) return result;
  if (entry.key == 0) {
    process->pools().freed();
  } else {
    settle_free(*process, entry, result, CUDA_ERROR_INVALID_VALUE);
  }
  return result;
}

// Synchronising gives back what pools hold beyond their thresholds.
CUresult synchronised(CUresult result) {
  Process* process = Process::current();
  if (process != nullptr && process->pools().take_dirty())
    for_each_pool(*process, [&](Pools::Handle pool) { settle(*process, pool); });
  return result;
}

}  // namespace

bool reserve(Process& process, std::uint32_t device, std::uint64_t bytes) {
  if (process.reserve(device, bytes)) return true;
  // What pools keep for later is given up before an allocation is refused.
  for_each_pool(process, [&](Pools::Handle pool) {
    (void)REAL(cuMemPoolTrimTo, pool_of(pool), 0);
    settle(process, pool);
  });
  return process.reserve(device, bytes);
}

OURS cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  Process* process = Process::current();
  return allocate(process, current_pool(process), bytes, stream,
                  [&] { return REAL(cuMemAllocAsync, pointer, bytes, stream); });
}
OURS cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  Process* process = Process::current();
  return allocate(process, current_pool(process), bytes, stream,
                  [&] { return REAL(cuMemAllocAsync_ptsz, pointer, bytes, stream); });
}
OURS cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                             CUstream stream) {
  Process* process = Process::current();
  (void)current_pool(process);  // It may be that one, and not known yet.
  return allocate(process, pool, bytes, stream,
                  [&] { return REAL(cuMemAllocFromPoolAsync, pointer, bytes, pool, stream); });
}
OURS cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                  CUstream stream) {
  Process* process = Process::current();
  (void)current_pool(process);
  return allocate(process, pool, bytes, stream,
                  [&] { return REAL(cuMemAllocFromPoolAsync_ptsz, pointer, bytes, pool, stream); });
}

OURS cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return free_async(pointer, [&] { return REAL(cuMemFreeAsync, pointer, stream); });
}
OURS cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return free_async(pointer, [&] { return REAL(cuMemFreeAsync_ptsz, pointer, stream); });
}

OURS cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* what) {
  const CUresult result = REAL(cuMemPoolCreate, pool, what);
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr ||
      what->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return result;
  }
  const int device = device_of(*process, what->location.id);
  if (device >= 0)
    (void)process->pools().know(handle_of(*pool), static_cast<std::uint32_t>(device));
  return result;
}

// Memory of it that is in use lives on, and stays charged: nobody tells when it is freed.
OURS cuMemPoolDestroy(CUmemoryPool pool) {
  Process* process = Process::current();
  const int device = process == nullptr ? -1 : process->pools().device_of(handle_of(pool));
  if (device >= 0) {
    (void)REAL(cuMemPoolTrimTo, pool, 0);
    settle(*process, handle_of(pool));
  }
  cuuint64_t reserved = 1;
  if (device >= 0)
    (void)REAL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  const CUresult result = REAL(cuMemPoolDestroy, pool);
  if (device < 0 || result != CUDA_SUCCESS) return result;
  const std::uint64_t charged = process->pools().forget(handle_of(pool));
  if (reserved == 0 && charged > 0) process->cancel(static_cast<std::uint32_t>(device), charged);
  return result;
}

// Another threshold: the next synchronisation may give back what this one kept.
OURS cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  Process* process = Process::current();
  if (process != nullptr) process->pools().freed();
  return REAL(cuMemPoolSetAttribute, pool, attribute, value);
}

OURS cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep_bytes) {
  const CUresult result = REAL(cuMemPoolTrimTo, pool, keep_bytes);
  Process* process = Process::current();
  if (process != nullptr) settle(*process, handle_of(pool));
  return result;
}

OURS cuCtxSynchronize() {
  return synchronised(REAL(cuCtxSynchronize));
}
OURS cuCtxSynchronize_v2(CUcontext context) {
  return synchronised(REAL(cuCtxSynchronize_v2, context));
}
OURS cuStreamSynchronize(CUstream stream) {
  return synchronised(REAL(cuStreamSynchronize, stream));
}
OURS cuStreamSynchronize_ptsz(CUstream stream) {
  return synchronised(REAL(cuStreamSynchronize_ptsz, stream));
}
OURS cuEventSynchronize(CUevent event) {
  return synchronised(REAL(cuEventSynchronize, event));
}

}  // namespace berth::guard
