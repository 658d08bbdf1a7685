// SPDX-License-Identifier: Apache-2.0
// The hooks of virtual memory. What is charged is physical memory, on the device where it lies,
// whatever context is current or whether there is one; addresses cost nothing. Memory that was
// imported from another process is charged to its owner, see Note [Who holds exported memory].
#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

// Of what was imported, which costs nothing here, the exports want to hear as well.
void give_back(Process& process, const Physical::Freed& freed) {
  if (freed.object == 0) return;
  const bool stays = process.exports().stays(freed);
  if (freed.bytes == 0) return;
  if (stays) {
    process.ledger().set_at_most(freed.device);  // Until the others let go of it.
  } else {
    process.cancel(freed.device, freed.bytes);
  }
}

void say_not_counted() {
  Process::say_once(Process::Once::kNoMemory,
                    "no memory to count allocations: some stay charged until the end");
}

}  // namespace

OURS cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                 const CUmemAllocationProp* what, unsigned long long flags) {
  Process* process = Process::current();
  const auto real = [&] { return REAL(cuMemCreate, handle, bytes, what, flags); };
  if (process == nullptr || handle == nullptr || what == nullptr || bytes == 0 ||
      what->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return real();
  }
  const int found = device_of(*process, what->location.id);
  if (found < 0) return real();
  const auto device = static_cast<std::uint32_t>(found);
  if (!reserve(*process, device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = real();
  if (result != CUDA_SUCCESS) {
    process->cancel(device, bytes);
  } else if (!process->physical().created(*handle, device, bytes)) {
    say_not_counted();
  }
  return result;
}

OURS cuMemRelease(CUmemGenericAllocationHandle handle) {
  Process* process = Process::current();
  const Physical::Object object =
      process == nullptr ? 0 : process->physical().begin_release(handle);
  const CUresult result = REAL(cuMemRelease, handle);
  if (object == 0) return result;
  if (result != CUDA_SUCCESS) {
    process->physical().not_released(object, handle);
    return result;
  }
  give_back(*process, process->physical().released(object));
  return result;
}

OURS cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const CUresult result = REAL(cuMemRetainAllocationHandle, handle, address);
  Process* process = Process::current();
  if (result == CUDA_SUCCESS && process != nullptr && handle != nullptr)
    process->physical().retained(*handle, handle_of(address));
  return result;
}

OURS cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle,
                                  CUmemAllocationHandleType type, unsigned long long flags) {
  const CUresult result = REAL(cuMemExportToShareableHandle, shared, handle, type, flags);
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return result;
  }
  const Physical::Object object = process->physical().object_of(handle);
  if (object != 0) process->exports().exported(object, *static_cast<int*>(shared), process->pid());
  return result;
}

OURS cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                    CUmemAllocationHandleType type) {
  const CUresult result = REAL(cuMemImportFromShareableHandle, handle, shared, type);
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return result;
  }
  const Physical::Object object = process->physical().imported(*handle);
  if (object != 0) process->exports().imported(object, static_cast<int>(handle_of(shared)));
  return result;
}

OURS cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t offset,
              CUmemGenericAllocationHandle handle, unsigned long long flags) {
  Process* process = Process::current();
  const Physical::Object object = process == nullptr ? 0 : process->physical().object_of(handle);
  const CUresult result = REAL(cuMemMap, pointer, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS && object != 0) process->physical().mapped(object, pointer, bytes);
  return result;
}

OURS cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  Process* process = Process::current();
  if (process == nullptr) return REAL(cuMemUnmap, pointer, bytes);
  CUresult result = CUDA_SUCCESS;
  const bool counted = process->physical().unmap(
      pointer, bytes,
      [&] {
        result = REAL(cuMemUnmap, pointer, bytes);
        return result == CUDA_SUCCESS;
      },
      [&](const Physical::Freed& freed) { give_back(*process, freed); });
  if (!counted) say_not_counted();
  return result;
}

}  // namespace berth::guard
