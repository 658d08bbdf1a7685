// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/nvml.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "guard/process.h"
#include "guard/text.h"

namespace berth::guard {

// The part of NVML's public ABI that is used here, as nvml.h has it since driver 510.

enum nvmlReturn_t : std::uint32_t {
  NVML_SUCCESS = 0,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
};
using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;  // What the driver keeps for itself included.
};
struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(nvmlMemory_t) == 24 && sizeof(nvmlMemory_v2_t) == 40);

#define OURS_OF_NVML extern "C" [[gnu::visibility("default")]] nvmlReturn_t
#define NVML_HOOK(symbol, parameters) OURS_OF_NVML symbol parameters;
#include "guard/preload/nvml.def"
#undef NVML_HOOK

namespace {

struct Named {
  const char* symbol;
  void* ours;
};
const Named kFunctions[] = {
#define NVML_HOOK(symbol, parameters) {#symbol, reinterpret_cast<void*>(&(symbol))},
#include "guard/preload/nvml.def"
#undef NVML_HOOK
};

// Looked up each time: these calls are rare, and take longer than that in the driver.
template <class... Arguments>
nvmlReturn_t call(const char* symbol, Arguments... arguments) {
  const Object nvml = loaded_nvml();
  void* const real = nvml.found() ? symbol_in(nvml, symbol) : nullptr;
  if (real == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
  return std::bit_cast<nvmlReturn_t (*)(Arguments...)>(real)(arguments...);
}

/// The device of the lease that this is; -1 if it is none.
int device_of(Process& process, nvmlDevice_t device) {
  char text[96] = {};
  std::uint8_t uuid[16];
  if (call("nvmlDeviceGetUUID", device, &text[0], static_cast<unsigned int>(sizeof text)) !=
          NVML_SUCCESS ||
      !read_uuid(text, uuid)) {
    return -1;
  }
  return process.device_of(uuid);
}

struct Card {
  bool is_shown = false;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

// What is shown of a device that has so much, instead of that.
Card card(nvmlDevice_t handle, std::uint64_t total, std::uint64_t free) {
  if (!Process::shows_budget_by_nvml()) return {};
  Process* process = Process::current();
  const int found = process == nullptr ? -1 : device_of(*process, handle);
  if (found < 0) return {};
  const auto device = static_cast<std::uint32_t>(found);
  const std::uint64_t shown = process->ledger().total_shown(device, total);
  const std::uint64_t left = process->bytes_free(device);
  return {.is_shown = true, .total = shown, .free = left < free ? left : free};
}

}  // namespace

OURS_OF_NVML nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t result = call("nvmlDeviceGetMemoryInfo", device, memory);
  if (result != NVML_SUCCESS || memory == nullptr) return result;
  if (const Card shown = card(device, memory->total, memory->free); shown.is_shown)
    *memory = {.total = shown.total, .free = shown.free, .used = shown.total - shown.free};
  return result;
}

// A budget is a card of which the driver keeps nothing for itself.
OURS_OF_NVML nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t result = call("nvmlDeviceGetMemoryInfo_v2", device, memory);
  if (result != NVML_SUCCESS || memory == nullptr) return result;
  const Card shown = card(device, memory->total, memory->free);
  if (!shown.is_shown) return result;
  const std::uint64_t reserved = shown.total < memory->total ? 0 : memory->reserved;
  *memory = {.version = memory->version,
             .total = shown.total,
             .reserved = reserved,
             .free = shown.free,
             .used = shown.total - reserved - shown.free};
  return result;
}

bool is_hooked_of_nvml(const char* symbol) {
  if (symbol[0] != 'n' || symbol[1] != 'v') return false;
  for (const Named& function : kFunctions) {
    if (equal(function.symbol, symbol)) return true;
  }
  return false;
}

bool is_nvml(const Object& object) {
  return is_named(object, "libnvidia-ml.so");
}

Object loaded_nvml() {
  return object_named("libnvidia-ml.so");
}

void* in_place_of_nvml(const Object& nvml, const char* name, void* found) {
  for (const Named& function : kFunctions) {
    if (equal(function.symbol, name) && symbol_in(nvml, name) == found) return function.ours;
  }
  return found;
}

}  // namespace berth::guard
