// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/hooks.h"

#include <atomic>

#include "guard/text.h"

namespace berth::guard {
namespace {

constexpr int kOrdinalsMax = Graphs::kOrdinalsMax;
constexpr std::uint8_t kUnknown = 0;
constexpr std::uint8_t kOutside = 255;

// What ordinals mean does not change while a process runs. Of a child of fork neither: CUDA reads
// its environment once.
std::atomic<std::uint8_t> devices[kOrdinalsMax];

int ask_device(Process& process, CUdevice ordinal) {
  CUuuid uuid{};
  CUresult result = REAL(cuDeviceGetUuid_v2, &uuid, ordinal);
  if (result == CUDA_ERROR_NOT_SUPPORTED) result = REAL(cuDeviceGetUuid, &uuid, ordinal);
  if (result != CUDA_SUCCESS) return -1;
  const int device = process.device_of(uuid.bytes);
  if (device < 0) {
    Process::say_once(Process::Once::kOtherDevice,
                      "this program uses a device that its lease does not have");
  }
  devices[ordinal].store(device < 0 ? kOutside : static_cast<std::uint8_t>(device + 1));
  return device;
}

}  // namespace

int device_of(Process& process, CUdevice ordinal) {
  if (ordinal < 0 || ordinal >= kOrdinalsMax) return -1;
  const std::uint8_t known = devices[ordinal].load(std::memory_order_relaxed);
  if (known == kOutside) return -1;
  return known == kUnknown ? ask_device(process, ordinal) : known - 1;
}

bool current_place(Process& process, Place& place) {
  CUcontext context = nullptr;
  if (REAL(cuCtxGetCurrent, &context) != CUDA_SUCCESS || context == nullptr) return false;
  place.context = handle_of(context);
  int device = process.device_of_context(place.context);
  if (device < 0) {
    CUdevice ordinal = -1;
    if (REAL(cuCtxGetDevice, &ordinal) != CUDA_SUCCESS) return false;
    device = device_of(process, ordinal);
  }
  if (device < 0) return false;
  place.device = static_cast<std::uint32_t>(device);
  return true;
}

// Looking functions up.

namespace {

// The driver's answer stands, but for addresses in whose place we stand.
void replace(const char* name, void** function) {
  if (*function == nullptr || Process::current() == nullptr) return;
  void* ours = in_place_of(*function);
  if (ours == *function && is_hooked_name(name) && !is_ours(ours)) {
    Process::say_once(Process::Once::kUnknownFunction, "this driver has a ", name,
                      " that is not known here: what it allocates is not held to the budget");
  }
  *function = ours;
}

}  // namespace

OURS cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  const CUresult result = REAL(cuGetProcAddress, name, function, version, flags);
  if (result == CUDA_SUCCESS && name != nullptr && function != nullptr) replace(name, function);
  return result;
}

OURS cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status) {
  const CUresult result = REAL(cuGetProcAddress_v2, name, function, version, flags, status);
  if (result == CUDA_SUCCESS && name != nullptr && function != nullptr) replace(name, function);
  return result;
}

// What a program is told.

OURS cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const CUresult result = REAL(cuMemGetInfo_v2, free, total);
  Process* process = Process::current();
  Place place;
  if (result != CUDA_SUCCESS || process == nullptr || !current_place(*process, place))
    return result;
  const std::uint64_t budget = process->ledger().budget(place.device);
  const std::uint64_t left = process->bytes_free(place.device);
  if (left < *free) *free = left;
  if (budget < *total) *total = budget;
  return result;
}

OURS cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice ordinal) {
  const CUresult result = REAL(cuDeviceTotalMem_v2, bytes, ordinal);
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr) return result;
  const int device = device_of(*process, ordinal);
  if (device < 0) return result;
  const std::uint64_t budget = process->ledger().budget(static_cast<std::uint32_t>(device));
  if (budget < *bytes) *bytes = budget;
  return result;
}

// Memory.

namespace {

template <class Allocate>
CUresult allocate(Kind kind, CUdeviceptr* pointer, std::size_t bytes, Allocate allocate) {
  Process* process = Process::current();
  Place place;
  if (process == nullptr || pointer == nullptr || bytes == 0 || !current_place(*process, place))
    return allocate();
  return make_charged(*process, place, kind, bytes, allocate, [&] { return *pointer; });
}

// Rows of this width, as the driver has been seen to make them; it has the last word.
std::size_t pitched(std::size_t width, std::size_t height) {
  constexpr std::size_t kPitch = 512;
  if (width > SIZE_MAX - kPitch) return SIZE_MAX;
  const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
  return row != 0 && height > SIZE_MAX / row ? SIZE_MAX : row * height;
}

}  // namespace

OURS cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate(Kind::kMemory, pointer, bytes,
                  [&] { return REAL(cuMemAlloc_v2, pointer, bytes); });
}

// It is charged whole: where it lies is the driver's business, and all of it may come to the
// device.
OURS cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned int flags) {
  return allocate(Kind::kManaged, pointer, bytes,
                  [&] { return REAL(cuMemAllocManaged, pointer, bytes, flags); });
}

OURS cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                        std::size_t height, unsigned int element_bytes) {
  const auto real = [&] {
    return REAL(cuMemAllocPitch_v2, pointer, pitch, width, height, element_bytes);
  };
  Process* process = Process::current();
  Place place;
  const std::size_t guess = pitched(width, height);
  if (process == nullptr || pointer == nullptr || pitch == nullptr || guess == 0 ||
      !current_place(*process, place)) {
    return real();
  }
  if (!reserve(*process, place.device, guess)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUdeviceptr before = *pointer;
  const CUresult result = real();
  if (result != CUDA_SUCCESS) {
    process->cancel(place.device, guess);
    return result;
  }
  const std::size_t bytes = *pitch * height;
  if (!process->correct(place.device, guess, bytes)) {
    (void)REAL(cuMemFree_v2, *pointer);
    process->cancel(place.device, guess);
    *pointer = before;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  process->made(place, Kind::kMemory, *pointer, bytes);
  return result;
}

OURS cuMemFree_v2(CUdeviceptr pointer) {
  Process* process = Process::current();
  if (process == nullptr || pointer == 0) return REAL(cuMemFree_v2, pointer);
  // Taken out first: once it is free, another thread may be given the same address.
  const Entry entry = process->begin_free(pointer);
  const CUresult result = REAL(cuMemFree_v2, pointer);
  if (entry.key == 0) {
    process->pools().freed();  // Perhaps a pool's.
  } else {
    settle_free(*process, entry, result, CUDA_ERROR_INVALID_VALUE);
  }
  return result;
}

}  // namespace berth::guard
