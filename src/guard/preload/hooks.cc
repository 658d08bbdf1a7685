// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/hooks.h"

#include <atomic>
#include <climits>

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
  const int device = process.device_of(reinterpret_cast<const std::uint8_t(&)[16]>(uuid.bytes));
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
  if (process.place_of_context(handle_of(context), place)) return true;
  CUdevice ordinal = -1;
  if (REAL(cuCtxGetDevice, &ordinal) != CUDA_SUCCESS) return false;
  const int device = device_of(process, ordinal);
  if (device < 0) return false;
  place = {.device = static_cast<std::uint32_t>(device), .context = handle_of(context)};
  return true;
}

// Looking functions up.

namespace {

// The driver's answer stands, but for addresses in whose place we stand.
void replace(const char* name, void** function) {
  if (*function == nullptr || Process::current() == nullptr) return;
  void* ours = in_place_of(*function);
  const bool is_known = ours != *function || !is_hooked_name(name) || is_ours(ours);
  if (!is_known) {
    ask_for_addresses();
    ours = in_place_of(*function);
  }
  if (!is_known && ours == *function) {
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

namespace {

template <class Bytes>
CUresult tell_memory(CUresult result, Bytes* free, Bytes* total) {
  Process* process = Process::current();
  Place place;
  if (result != CUDA_SUCCESS || process == nullptr || !current_place(*process, place))
    return result;
  if (process->pools().any_is_due()) settle_due(*process, INT_MAX);
  const std::uint64_t left = process->bytes_free(place.device);
  if (left < *free) *free = static_cast<Bytes>(left);
  *total = static_cast<Bytes>(process->ledger().total_shown(place.device, *total));
  return result;
}

template <class Bytes>
CUresult tell_total(CUresult result, Bytes* bytes, CUdevice ordinal) {
  Process* process = Process::current();
  if (result != CUDA_SUCCESS || process == nullptr) return result;
  const int device = device_of(*process, ordinal);
  if (device < 0) return result;
  const auto found = static_cast<std::uint32_t>(device);
  *bytes = static_cast<Bytes>(process->ledger().total_shown(found, *bytes));
  return result;
}

}  // namespace

OURS cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return tell_memory(REAL(cuMemGetInfo_v2, free, total), free, total);
}
OURS cuMemGetInfo(unsigned int* free, unsigned int* total) {
  return tell_memory(REAL(cuMemGetInfo, free, total), free, total);
}

OURS cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice ordinal) {
  return tell_total(REAL(cuDeviceTotalMem_v2, bytes, ordinal), bytes, ordinal);
}
OURS cuDeviceTotalMem(unsigned int* bytes, CUdevice ordinal) {
  return tell_total(REAL(cuDeviceTotalMem, bytes, ordinal), bytes, ordinal);
}

// Memory.

namespace {

// By what an allocation is known. An address of 32 bits is its device's alone, and told from the
// others by bits that no address has.
std::uint64_t key_of(const Place& /*place*/, CUdeviceptr pointer) {
  return pointer;
}
std::uint64_t key_of(const Place& place, CUdeviceptr_v1 pointer) {
  constexpr std::uint64_t kOld = std::uint64_t{1} << 62U;
  return kOld | std::uint64_t{place.device} << 32U | pointer;
}

template <class Pointer, class Allocate>
CUresult allocate(Kind kind, Pointer* pointer, std::size_t bytes, Allocate allocate) {
  Process* process = Process::current();
  Place place;
  if (process == nullptr || pointer == nullptr || bytes == 0 || !current_place(*process, place))
    return allocate();
  return make_charged(*process, place, kind, bytes, allocate,
                      [&] { return key_of(place, *pointer); });
}

// Rows of this width, as the driver has been seen to make them; it has the last word.
std::size_t pitched(std::size_t width, std::size_t height) {
  constexpr std::size_t kPitch = 512;
  if (width > SIZE_MAX - kPitch) return SIZE_MAX;
  const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
  return row != 0 && height > SIZE_MAX / row ? SIZE_MAX : row * height;
}

template <class Pointer, class Bytes, class Allocate, class Free>
CUresult allocate_rows(Pointer* pointer, Bytes* pitch, std::size_t width, std::size_t height,
                       Allocate allocate, Free free) {
  Process* process = Process::current();
  Place place;
  const std::size_t guess = pitched(width, height);
  if (process == nullptr || pointer == nullptr || pitch == nullptr || guess == 0 ||
      !current_place(*process, place)) {
    return allocate();
  }
  if (!reserve(*process, place.device, guess)) return CUDA_ERROR_OUT_OF_MEMORY;
  const Pointer before = *pointer;
  const CUresult result = allocate();
  if (result != CUDA_SUCCESS) {
    process->cancel(place.device, guess);
    return result;
  }
  const std::size_t bytes = *pitch * height;
  if (!process->correct(place.device, guess, bytes)) {
    (void)free(*pointer);
    process->cancel(place.device, guess);
    *pointer = before;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  process->made(place, Kind::kMemory, key_of(place, *pointer), bytes);
  return result;
}

// Taken out first: once it is free, another thread may be given the same address.
template <class Free>
CUresult free_known(Process& process, std::uint64_t key, Free free) {
  const Entry entry = process.begin_free(key);
  const CUresult result = free();
  if (entry.key == 0) {
    process.pools().freed();  // Perhaps a pool's.
  } else {
    settle_free(process, entry, result, CUDA_ERROR_INVALID_VALUE);
  }
  return result;
}

}  // namespace

OURS cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate(Kind::kMemory, pointer, bytes,
                  [&] { return REAL(cuMemAlloc_v2, pointer, bytes); });
}
OURS cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
  return allocate(Kind::kMemory, pointer, bytes, [&] { return REAL(cuMemAlloc, pointer, bytes); });
}

// It is charged whole: where it lies is the driver's business, and all of it may come to the
// device.
OURS cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned int flags) {
  return allocate(Kind::kManaged, pointer, bytes,
                  [&] { return REAL(cuMemAllocManaged, pointer, bytes, flags); });
}

OURS cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                        std::size_t height, unsigned int element_bytes) {
  return allocate_rows(
      pointer, pitch, width, height,
      [&] { return REAL(cuMemAllocPitch_v2, pointer, pitch, width, height, element_bytes); },
      [](CUdeviceptr made) { return REAL(cuMemFree_v2, made); });
}
OURS cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch, unsigned int width,
                     unsigned int height, unsigned int element_bytes) {
  return allocate_rows(
      pointer, pitch, width, height,
      [&] { return REAL(cuMemAllocPitch, pointer, pitch, width, height, element_bytes); },
      [](CUdeviceptr_v1 made) { return REAL(cuMemFree, made); });
}

OURS cuMemFree_v2(CUdeviceptr pointer) {
  Process* process = Process::current();
  const auto real = [&] { return REAL(cuMemFree_v2, pointer); };
  return process == nullptr || pointer == 0 ? real() : free_known(*process, pointer, real);
}
OURS cuMemFree(CUdeviceptr_v1 pointer) {
  Process* process = Process::current();
  Place place;
  const auto real = [&] { return REAL(cuMemFree, pointer); };
  if (process == nullptr || pointer == 0 || !current_place(*process, place)) return real();
  return free_known(*process, key_of(place, pointer), real);
}

}  // namespace berth::guard
