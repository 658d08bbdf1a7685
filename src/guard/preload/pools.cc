// SPDX-License-Identifier: Apache-2.0
// The hooks of stream-ordered memory. Before an allocation the most is charged that its pool may
// take for it; afterwards the pool is asked what it has reserved, and that is what stays charged.
// Nothing is done while a stream is captured: what is captured allocates nothing yet.
#include <atomic>
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

// How many the program sees; that does not change while it runs.
int devices_seen() {
  static std::atomic<int> seen = 0;
  int count = seen.load(std::memory_order_relaxed);
  if (count == 0 && REAL(cuDeviceGetCount, &count) == CUDA_SUCCESS)
    seen.store(count, std::memory_order_relaxed);
  return count;
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

// It is gone, and what was charged for it.
void forget(Process& process, Pools::Handle pool) {
  const int device = process.pools().device_of(pool);
  const std::uint64_t charged = process.pools().forget(pool);
  if (charged > 0) process.cancel(static_cast<std::uint32_t>(device), charged);
}

// The context of a stream, where that is another one than this thread's; null if not.
CUcontext foreign_context(CUstream stream, Default meant) {
  CUcontext its = nullptr;
  CUcontext current = nullptr;
  const CUresult result = meant == Default::kOwn ? REAL(cuStreamGetCtx_ptsz, stream, &its)
                                                 : REAL(cuStreamGetCtx, stream, &its);
  if (result != CUDA_SUCCESS || REAL(cuCtxGetCurrent, &current) != CUDA_SUCCESS) return nullptr;
  return its == current ? nullptr : its;
}

// The pool that the stream's device allocates from; 0 where there is none.
Pools::Handle current_pool(CUstream stream, Default meant) {
  CUcontext context = devices_seen() > 1 ? foreign_context(stream, meant) : nullptr;
  const bool entered = context != nullptr && REAL(cuCtxPushCurrent_v2, context) == CUDA_SUCCESS;
  CUdevice ordinal = -1;
  CUmemoryPool pool = nullptr;
  const bool found = REAL(cuCtxGetDevice, &ordinal) == CUDA_SUCCESS &&
                     REAL(cuDeviceGetMemPool, &pool, ordinal) == CUDA_SUCCESS;
  if (entered) (void)REAL(cuCtxPopCurrent_v2, &context);
  return found ? handle_of(pool) : 0;
}

// Note [Pools that were not seen]
//
// A pool is known from when it is made, or from the first allocation from it: each device has one
// of its own, and programs come to others by functions that are not known here. If it is not that
// of a device, its memory is expected where the context is; the first allocation tells where it
// really lies.
Pools::Home home_of(Process& process, Pools::Handle pool, std::uint32_t otherwise) {
  const int count = devices_seen();
  for (CUdevice ordinal = 0; ordinal < count; ++ordinal) {
    CUmemoryPool own = nullptr;
    CUmemoryPool current = nullptr;
    (void)REAL(cuDeviceGetDefaultMemPool, &own, ordinal);
    (void)REAL(cuDeviceGetMemPool, &current, ordinal);
    if (pool == handle_of(own) || pool == handle_of(current))
      return {.device = device_of(process, ordinal), .is_created = false, .is_guess = false};
  }
  return {.device = static_cast<int>(otherwise), .is_created = false, .is_guess = true};
}

// Where what was allocated lies; where nobody says so, as was expected.
int device_of_pointer(Process& process, CUdeviceptr pointer, int expected) {
  unsigned int type = CU_MEMORYTYPE_DEVICE;
  CUdevice ordinal = -1;
  (void)REAL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (type != CU_MEMORYTYPE_DEVICE) return -1;
  const bool told = REAL(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                         pointer) == CUDA_SUCCESS;
  return told ? device_of(process, ordinal) : expected;
}

struct Request {
  CUdeviceptr* pointer;
  CUmemoryPool pool;  // None: the current one.
  std::size_t bytes;
  CUstream stream;
  Default meant;
};

// From a pool that is known. What was allocated from one that turns out to be elsewhere goes back.
template <class Allocate>
CUresult allocate_in(Process& process, Pools::Handle pool, const Pools::Home& home,
                     const Request& asked, bool& elsewhere, Allocate allocate) {
  const std::uint64_t most = chunks_of(asked.bytes);
  if (!begin_in_pool(process, pool, most)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate();
  end_in_pool(process, pool, most);
  if (!home.is_guess) return result;
  if (result != CUDA_SUCCESS) {  // Perhaps there is no such pool.
    forget(process, pool);
    return result;
  }
  const int device = device_of_pointer(process, *asked.pointer, home.device);
  elsewhere = device != home.device;
  if (!elsewhere) {
    process.pools().is_home(pool);
    return result;
  }
  (void)(asked.meant == Default::kOwn ? REAL(cuMemFreeAsync_ptsz, *asked.pointer, asked.stream)
                                      : REAL(cuMemFreeAsync, *asked.pointer, asked.stream));
  forget(process, pool);
  (void)process.pools().know(pool, {.device = device, .is_created = false, .is_guess = false});
  return result;
}

template <class Allocate>
CUresult allocate(const Request& asked, Allocate allocate) {
  Process* process = Process::current();
  if (process == nullptr || asked.pointer == nullptr || asked.bytes == 0 ||
      is_capturing(asked.stream, asked.meant)) {
    return allocate();
  }
  Pools& pools = process->pools();
  const Pools::Handle pool =
      asked.pool == nullptr ? current_pool(asked.stream, asked.meant) : handle_of(asked.pool);
  if (Place place; !pools.known(pool).is_known) {
    if (pool == 0 || !current_place(*process, place)) return allocate();
    if (!pools.know(pool, home_of(*process, pool, place.device))) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUresult result = CUDA_SUCCESS;
  for (bool elsewhere = true; elsewhere;) {
    const Pools::Known known = pools.known(pool);
    if (known.is_dying) return CUDA_ERROR_INVALID_VALUE;
    if (!known.is_charged()) return allocate();
    elsewhere = false;
    result = allocate_in(*process, pool, known.home, asked, elsewhere, allocate);
  }
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

// Synchronising gives back what pools hold beyond their thresholds. Of many, a few are asked at
// once, so that nobody waits for that.
CUresult synchronised(CUresult result) {
  constexpr int kAtOnce = 8;
  if (Process* process = Process::current(); process != nullptr) {
    process->pools().synchronised();
    if (process->pools().any_is_due()) settle_due(*process, kAtOnce);
  }
  return result;
}

// Note [Destroyed pools]
//
// Memory of a pool that is in use lives on when the pool is destroyed, until the last of it is
// freed. Nobody can be asked of it then, so the driver destroys a pool not before nothing of it is
// reserved any more. Until then it gives back what it can, is no device's current one, and is not
// there to the program.
CUresult make_an_end(Process& process, Pools::Handle pool, const Pools::Home& home) {
  forget(process, pool);
  const CUresult result = REAL(cuMemPoolDestroy, pool_of(pool));
  if (result != CUDA_SUCCESS) (void)process.pools().know(pool, home);
  return result;
}

void let_die(Pools::Handle pool) {
  cuuint64_t threshold = 0;
  (void)REAL(cuMemPoolSetAttribute, pool_of(pool), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  const int count = devices_seen();
  for (CUdevice ordinal = 0; ordinal < count; ++ordinal) {
    CUmemoryPool current = nullptr;
    CUmemoryPool own = nullptr;
    (void)REAL(cuDeviceGetMemPool, &current, ordinal);
    if (handle_of(current) == pool &&
        REAL(cuDeviceGetDefaultMemPool, &own, ordinal) == CUDA_SUCCESS)
      (void)REAL(cuDeviceSetMemPool, ordinal, own);
  }
}

// What the driver said, if an end was made of it.
CUresult settle(Process& process, Pools::Handle pool) {
  const Pools::Known known = process.pools().known(pool);
  for (int looks = 0; looks < kLooksMax && known.is_charged(); ++looks) {
    if (known.is_dying) {
      const Relaxed relaxed;
      (void)REAL(cuMemPoolTrimTo, pool_of(pool), 0);
    }
    const std::uint64_t look = process.pools().look(pool);
    cuuint64_t reserved = 0;
    if (ask_reserved(pool, reserved) != CUDA_SUCCESS) break;
    const Pools::Settled settled = process.pools().settle(pool, look, pages_of(reserved));
    if (settled.excess > 0)
      process.cancel(static_cast<std::uint32_t>(known.home.device), settled.excess);
    if (!settled.done) continue;
    const bool ends = known.is_dying && reserved == 0 && process.pools().take_dead(pool, look);
    return ends ? make_an_end(process, pool, known.home) : CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}

}  // namespace

void settle_pool(Process& process, Pools::Handle pool) {
  (void)settle(process, pool);
}

void settle_due(Process& process, int most) {
  for (int i = 0; i < most; ++i) {
    const Pools::Handle pool = process.pools().take_due();
    if (pool == 0) return;
    settle_pool(process, pool);
  }
}

bool begin_in_pool(Process& process, Pools::Handle pool, std::uint64_t bytes) {
  const auto device = static_cast<std::uint32_t>(process.pools().device_of(pool));
  if (!reserve(process, device, bytes)) return false;
  process.ledger().set_at_most(device);  // What a pool gives back by itself is seen later.
  if (process.pools().begin(pool, bytes)) return true;
  process.cancel(device, bytes);
  return false;
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
  return allocate({pointer, nullptr, bytes, stream, Default::kLegacy},
                  [&] { return REAL(cuMemAllocAsync, pointer, bytes, stream); });
}
OURS cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate({pointer, nullptr, bytes, stream, Default::kOwn},
                  [&] { return REAL(cuMemAllocAsync_ptsz, pointer, bytes, stream); });
}
OURS cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                             CUstream stream) {
  return allocate({pointer, pool, bytes, stream, Default::kLegacy},
                  [&] { return REAL(cuMemAllocFromPoolAsync, pointer, bytes, pool, stream); });
}
OURS cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                  CUstream stream) {
  return allocate({pointer, pool, bytes, stream, Default::kOwn},
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

// What was known by that handle is gone: the driver has given it anew.
OURS cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* what) {
  const CUresult result = REAL(cuMemPoolCreate, pool, what);
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr) return result;
  forget(*process, handle_of(*pool));
  // One of the host, or of a device that the lease does not have, is known too: so that it is not
  // taken for one that was not seen.
  const bool on_device = what->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  (void)process->pools().know(handle_of(*pool),
                              {.device = on_device ? device_of(*process, what->location.id) : -1,
                               .is_created = true,
                               .is_guess = false});
  return result;
}

OURS cuMemPoolDestroy(CUmemoryPool pool) {
  Process* process = Process::current();
  if (process == nullptr) return REAL(cuMemPoolDestroy, pool);
  const Pools::Handle handle = handle_of(pool);
  if (process->pools().begin_destroy(handle)) {
    let_die(handle);
    return settle(*process, handle);
  }
  if (process->pools().known(handle).is_dying) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = REAL(cuMemPoolDestroy, pool);
  if (result == CUDA_SUCCESS) forget(*process, handle);
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
