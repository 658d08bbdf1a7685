// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for virtual memory. Memory of devices only, in blocks of 2 MiB,
// given to other processes by descriptors. Any thread may call these, with or without a context.
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

bool is_whole(std::size_t bytes) {
  return bytes > 0 && bytes % kBlockBytes == 0;
}

CUresult checked(bool fits) {
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* what,
                                       CUmemAllocationGranularity_flags /*option*/) {
  if (granularity == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kBlockBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* what, unsigned long long flags) {
  if (handle == nullptr || what == nullptr || flags != 0 || !is_whole(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (what->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = what->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (what->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      (!shared && what->requestedHandleTypes != 0)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return with_driver([&](Driver& driver) {
    using Sharing = VirtualMemory::Sharing;
    VirtualMemory::Handle made = 0;
    const CUresult result = driver.create_memory(
        what->location.id, bytes, shared ? Sharing::kByDescriptor : Sharing::kNone, made);
    if (result == CUDA_SUCCESS) *handle = made;
    return result;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_driver([&](Driver& driver) {
    const auto freed = driver.virtual_memory().release(handle);
    if (freed) driver.give_back(freed->device, freed->blocks);
    return checked(freed.has_value());
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const auto found = driver.virtual_memory().retain(reinterpret_cast<DevicePointer>(address));
    if (found) *handle = *found;
    return checked(found.has_value());
  });
}

CUresult cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  if (shared == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const int fd = driver.virtual_memory().share(handle);
    if (fd >= 0) *static_cast<int*>(shared) = fd;
    return checked(fd >= 0);
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                        CUmemAllocationHandleType type) {
  if (handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const auto adopted =
        driver.virtual_memory().adopt(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)));
    if (adopted) *handle = *adopted;
    return checked(adopted.has_value());
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr /*wish*/, unsigned long long flags) {
  if (pointer == nullptr || flags != 0 || !is_whole(bytes) || alignment > kBlockBytes)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const auto reserved = driver.virtual_memory().reserve(bytes);
    if (!reserved) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = *reserved;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, std::size_t bytes) {
  return with_driver([&](Driver& driver) {
    return checked(driver.virtual_memory().free_addresses(pointer, bytes));
  });
}

CUresult cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (offset != 0 || flags != 0 || !is_whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  return with_driver(
      [&](Driver& driver) { return checked(driver.virtual_memory().map(pointer, bytes, handle)); });
}

CUresult cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  return with_driver([&](Driver& driver) {
    return checked(driver.virtual_memory().unmap(pointer, bytes, [&](VirtualMemory::Freed freed) {
      driver.give_back(freed.device, freed.blocks);
    }));
  });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const bool allowed = access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return checked(driver.virtual_memory().set_access(pointer, bytes, allowed));
  });
}

}  // extern "C"
}  // namespace berth::simgpu
