// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for memory of other processes and other APIs: what an allocation
// or a pool gives to others by a handle or a descriptor, and files from elsewhere. Who made the
// memory is charged for it, until it is freed there. Any thread with a current context may call
// these.
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

// What the 64 bytes of a handle are: a part of another process's device memory.
struct Part {
  std::uint64_t magic;
  std::uint64_t offset;
  std::uint64_t bytes;
  Identity owner;
  std::uint32_t slot;
  std::int32_t file;
};
constexpr std::uint64_t kPart = 0x315f54524150;  // "PART_1"
constexpr std::uint64_t kPage = 4096;
static_assert(sizeof(Part) <= sizeof(CUipcMemHandle));
static_assert(sizeof(Part) <= sizeof(CUmemPoolPtrExportData));

template <class Handle>
CUresult write_part(Driver& driver, std::uint32_t device, Heap::Range range, Handle& handle) {
  const Heap& heap = driver.heap(device);
  if (heap.file() < 0) return CUDA_ERROR_NOT_SUPPORTED;
  const Part part{.magic = kPart,
                  .offset = range.at - heap.first(),
                  .bytes = range.bytes,
                  .owner = driver.process_slot().slot().owner.load(),
                  .slot = driver.process_slot().slot_number(),
                  .file = heap.file()};
  handle = {};
  std::memcpy(&handle, &part, sizeof part);
  driver.note_given_away();
  return CUDA_SUCCESS;
}

template <class Handle>
CUresult open_part(Driver& driver, const Handle& handle, bool freeable, DevicePointer& pointer) {
  Part part{};
  std::memcpy(&part, &handle, sizeof part);
  if (part.magic != kPart) return CUDA_ERROR_INVALID_VALUE;
  World& world = driver.process_slot().world();
  if (part.slot >= kSlotsMax || world.file().slots[part.slot].owner.load() != part.owner)
    return CUDA_ERROR_INVALID_VALUE;
  // It has that memory already.
  if (part.slot == driver.process_slot().slot_number()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::string path =
      "/proc/" + std::to_string(world.pid_of(part.slot)) + "/fd/" + std::to_string(part.file);
  const os::UniqueFd file = open_memory_file(path);
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  return driver.map_foreign(file.get(), part.offset, part.bytes, freeable, pointer);
}

CUresult open_handle(CUdeviceptr* pointer, const CUipcMemHandle& shared, unsigned int flags) {
  if (pointer == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    DevicePointer opened = 0;
    const CUresult result = open_part(driver, shared, false, opened);
    if (result == CUDA_SUCCESS) *pointer = opened;
    return result;
  });
}

// body(driver, the file of that memory)
template <class Body>
CUresult with_external(CUexternalMemory memory, Body body) {
  return with_context([&](Driver& driver, Context& context) {
    const auto found = driver.foreign_handles().find(std::bit_cast<std::uint64_t>(memory));
    if (found == driver.foreign_handles().end()) return CUDA_ERROR_INVALID_HANDLE;
    return body(driver, context, found->second.get());
  });
}

template <class Handle>
Handle keep_file(Driver& driver, os::UniqueFd file) {
  // As far apart as what is allocated, and no two alike as long as both are there.
  auto& handles = driver.foreign_handles();
  const std::uint64_t handle = handles.empty() ? 0x4000'0000 : handles.rbegin()->first + 16;
  handles.emplace(handle, std::move(file));
  return std::bit_cast<Handle>(handle);
}

}  // namespace

CUresult Driver::map_foreign(int fd, std::uint64_t offset, std::uint64_t bytes, bool freeable,
                             DevicePointer& pointer) {
  const std::uint64_t into = offset % kPage;
  struct stat found{};
  if (::fstat(fd, &found) != 0 || bytes == 0 ||
      offset + bytes > static_cast<std::uint64_t>(found.st_size) || offset + bytes < offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Foreign made{.addresses = map_host_memory(bytes, Access::kNone),
               .memory = map_file_memory(fd, offset - into, bytes + into),
               .bytes = bytes,
               .into = into,
               .freeable = freeable};
  if (!made.addresses || !made.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  pointer = reinterpret_cast<DevicePointer>(made.addresses.get());
  foreign_.emplace(pointer, std::move(made));
  return CUDA_SUCCESS;
}

bool Driver::unmap_foreign(DevicePointer pointer) {
  const auto found = foreign_.find(pointer);
  if (found == foreign_.end() || found->second.freeable) return false;
  foreign_.erase(found);
  return true;
}

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* shared, CUdeviceptr pointer) {
  if (shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& context) {
    const std::optional<Heap::Range> range = driver.heap(context.device).range(pointer);
    if (!range || range->at != pointer) return CUDA_ERROR_INVALID_VALUE;
    return write_part(driver, context.device, *range, *shared);
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle shared, unsigned int flags) {
  return open_handle(pointer, shared, flags);
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle shared, unsigned int flags) {
  return open_handle(pointer, shared, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return with_context([&](Driver& driver, Context&) {
    return driver.unmap_foreign(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// A pool that another process has; nothing can be allocated from it here.
CUresult cuMemPoolExportToShareableHandle(void* shared, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  if (shared == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Pool* found = driver.pools().find(reinterpret_cast<Pool*>(pool));
    if (found == nullptr || !found->shared) return CUDA_ERROR_INVALID_VALUE;
    os::UniqueFd file = make_memory_file("simulated pool", kPage);
    if (!file) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(shared) = file.release();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* shared,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  if (pool == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    os::UniqueFd file = open_again(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)));
    if (!file) return CUDA_ERROR_INVALID_VALUE;
    *pool = keep_file<CUmemoryPool>(driver, std::move(file));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shared, CUdeviceptr pointer) {
  if (shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Pool* pool = driver.pools().with(pointer);
    if (pool == nullptr || !pool->shared) return CUDA_ERROR_INVALID_VALUE;
    return write_part(driver, pool->device(), {.at = pointer, .bytes = pool->bytes_at(pointer)},
                      *shared);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shared) {
  if (pointer == nullptr || shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    if (!driver.foreign_handles().contains(std::bit_cast<std::uint64_t>(pool)))
      return CUDA_ERROR_INVALID_VALUE;
    DevicePointer opened = 0;
    const CUresult result = open_part(driver, *shared, true, opened);
    if (result == CUDA_SUCCESS) *pointer = opened;
    return result;
  });
}

// Memory of another API. The descriptor is the driver's once it was taken.
CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  if (memory == nullptr || what == nullptr || what->size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (what->type != kOpaqueDescriptor) return CUDA_ERROR_NOT_SUPPORTED;
  return with_context([&](Driver& driver, Context&) {
    struct stat found{};
    if (::fstat(what->handle.fd, &found) != 0 ||
        static_cast<std::uint64_t>(found.st_size) < what->size) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *memory = keep_file<CUexternalMemory>(driver, os::UniqueFd(what->handle.fd));
    return CUDA_SUCCESS;
  });
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return with_external(memory, [&](Driver& driver, Context&, int) {
    driver.foreign_handles().erase(std::bit_cast<std::uint64_t>(memory));
    return CUDA_SUCCESS;
  });
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* pointer, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* what) {
  if (pointer == nullptr || what == nullptr || what->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_external(memory, [&](Driver& driver, Context&, int file) {
    DevicePointer mapped = 0;
    const CUresult result = driver.map_foreign(file, what->offset, what->size, true, mapped);
    if (result == CUDA_SUCCESS) *pointer = mapped;
    return result;
  });
}

CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* array, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* what) {
  if (array == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_external(memory, [&](Driver& driver, Context& context, int) {
    std::uint64_t handle = 0;
    const CUresult result =
        driver.make_array(context, {.bytes = 0, .mipmapped = true, .deferred = true}, handle);
    if (result == CUDA_SUCCESS) *array = std::bit_cast<CUmipmappedArray>(handle);
    return result;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
