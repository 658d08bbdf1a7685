// SPDX-License-Identifier: Apache-2.0
// The hooks of stream-ordered memory. Before an allocation the most is charged that its pool may
// take for it; afterwards the pool is asked what it has reserved, and that is what stays charged.
// Nothing is done while a stream is captured: what is captured allocates nothing yet.
#include <bit>

#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

constexpr int kLooksMax = 4;

CUmemoryPool pool_of(Pools::Handle handle) {
  return std::bit_cast<CUmemoryPool>(handle);
}

bool is_graph_pool(Pools::Handle pool) {
  return pool <= graph_pool(Graphs::kOrdinalsMax);
}
CUdevice ordinal_of(Pools::Handle graph_pool) {
  return static_cast<CUdevice>(graph_pool - 1);
}

CUresult ask_reserved(Pools::Handle pool, cuuint64_t& bytes) {
  return is_graph_pool(pool) ? REAL(cuDeviceGetGraphMemAttribute, ordinal_of(pool),
                                    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes)
                             : REAL(cuMemPoolGetAttribute, pool_of(pool),
                                    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes);
}

template <class Each>
void for_each_pool(Process& process, Each each) {
  std::size_t place = 0;
  for (Pools::Handle pool = process.pools().next(place); pool != 0;
       pool = process.pools().next(++place)) {
    each(pool);
  }
}

// As long as it lives, what this thread does disturbs no capture of a stream.
class Relaxed {
 public:
  Relaxed() { exchange(); }
  ~Relaxed() { exchange(); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  void exchange() { (void)REAL(cuThreadExchangeStreamCaptureMode, &mode_); }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// What a pool keeps for later goes back to the device.
void empty(Process& process, Pools::Handle pool) {
  const Relaxed relaxed;
  if (is_graph_pool(pool)) {
    (void)trim_graphs(process, ordinal_of(pool), Trim::kIfSafe);
  } else {
    (void)REAL(cuMemPoolTrimTo, pool_of(pool), 0);
    settle_pool(process, pool);
  }
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

// From this pool; from none: from the current one.
template <class Allocate>
CUresult allocate(CUmemoryPool pool, std::size_t bytes, CUstream stream, Default meant,
                  Allocate allocate) {
  Process* process = Process::current();
  if (process == nullptr || bytes == 0 || is_capturing(stream, meant)) return allocate();
  CUmemoryPool current = current_pool(*process);  // It may be that one, and not known yet.
  const Pools::Handle handle = handle_of(pool == nullptr ? current : pool);
  if (process->pools().device_of(handle) < 0) return allocate();
  const std::uint64_t most = chunks_of(bytes);
  if (!begin_in_pool(*process, handle, most)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate();
  end_in_pool(*process, handle, most);
  return result;
}

// What is freed in a captured stream is not freed yet.
template <class Free>
CUresult free_async(CUdeviceptr pointer, CUstream stream, Default meant, Free free) {
  Process* process = Process::current();
  const Entry entry = process == nullptr ? Entry{} : process->begin_free(pointer);
  const bool captured = entry.key != 0 && is_capturing(stream, meant);
  const CUresult result = free();
  if (process == nullptr) return result;
  if (entry.key == 0) {
    process->pools().freed();
  } else if (captured) {
    process->not_freed(entry);
  } else {
    settle_free(*process, entry, result, CUDA_ERROR_INVALID_VALUE);
  }
  return result;
}

// Synchronising gives back what pools hold beyond their thresholds.
CUresult synchronised(CUresult result) {
  Process* process = Process::current();
  if (process != nullptr && process->pools().take_dirty())
    for_each_pool(*process, [&](Pools::Handle pool) { settle_pool(*process, pool); });
  return result;
}

}  // namespace

void settle_pool(Process& process, Pools::Handle pool) {
  const int device = process.pools().device_of(pool);
  for (int looks = 0; looks < kLooksMax && device >= 0; ++looks) {
    const std::uint64_t look = process.pools().look(pool);
    cuuint64_t reserved = 0;
    if (ask_reserved(pool, reserved) != CUDA_SUCCESS) return;
    const Pools::Settled settled = process.pools().settle(pool, look, pages_of(reserved));
    if (settled.excess > 0) process.cancel(static_cast<std::uint32_t>(device), settled.excess);
    if (settled.done) return;
  }
}

bool begin_in_pool(Process& process, Pools::Handle pool, std::uint64_t bytes) {
  const auto device = static_cast<std::uint32_t>(process.pools().device_of(pool));
  if (!reserve(process, device, bytes)) return false;
  process.ledger().set_at_most(device);  // What a pool gives back by itself is seen later.
  process.pools().begin(pool, bytes);
  return true;
}

void end_in_pool(Process& process, Pools::Handle pool, std::uint64_t bytes) {
  process.pools().end(pool, bytes);
  settle_pool(process, pool);
}

bool is_capturing(CUstream stream, Default meant) {
  CUstreamCaptureStatus status{};
  const CUresult result = meant == Default::kOwn ? REAL(cuStreamIsCapturing_ptsz, stream, &status)
                                                 : REAL(cuStreamIsCapturing, stream, &status);
  return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void give_up_unused(Process& process, std::uint32_t device) {
  process.collect();
  for_each_pool(process, [&](Pools::Handle pool) {
    if (process.pools().device_of(pool) == static_cast<int>(device)) empty(process, pool);
  });
}

OURS cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate(nullptr, bytes, stream, Default::kLegacy,
                  [&] { return REAL(cuMemAllocAsync, pointer, bytes, stream); });
}
OURS cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate(nullptr, bytes, stream, Default::kOwn,
                  [&] { return REAL(cuMemAllocAsync_ptsz, pointer, bytes, stream); });
}
OURS cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                             CUstream stream) {
  return allocate(pool, bytes, stream, Default::kLegacy,
                  [&] { return REAL(cuMemAllocFromPoolAsync, pointer, bytes, pool, stream); });
}
OURS cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                  CUstream stream) {
  return allocate(pool, bytes, stream, Default::kOwn,
                  [&] { return REAL(cuMemAllocFromPoolAsync_ptsz, pointer, bytes, pool, stream); });
}

OURS cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return free_async(pointer, stream, Default::kLegacy,
                    [&] { return REAL(cuMemFreeAsync, pointer, stream); });
}
OURS cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return free_async(pointer, stream, Default::kOwn,
                    [&] { return REAL(cuMemFreeAsync_ptsz, pointer, stream); });
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
    settle_pool(*process, handle_of(pool));
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
  if (process != nullptr) settle_pool(*process, handle_of(pool));
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
