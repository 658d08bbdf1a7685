// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/nvml.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "abi/nvml.h"
#include "guard/linux.h"
#include "guard/preload/driver.h"
#include "guard/process.h"
#include "guard/text.h"

namespace berth::guard {

#define OURS_OF_NVML extern "C" [[gnu::visibility("default")]] nvml::Return

namespace {

// One in another namespace of the dynamic linker: the first of which we hear. The address of its
// dynamic section is written last, and never again.
std::atomic<std::uintptr_t> other_base;
std::atomic<const void*> other_dynamic;

Object other_nvml() {
  const void* const dynamic = other_dynamic.load(std::memory_order_acquire);
  return {
      .base = other_base.load(std::memory_order_relaxed), .low = 0, .high = 0, .dynamic = dynamic};
}

bool is_other_nvml(const Object& nvml) {
  static Mutex mutex;
  if (other_dynamic.load(std::memory_order_acquire) == nullptr) {
    const Lock lock(mutex);
    if (other_dynamic.load() == nullptr) {
      other_base.store(nvml.base);
      other_dynamic.store(nvml.dynamic, std::memory_order_release);
    }
  }
  return other_dynamic.load(std::memory_order_relaxed) == nvml.dynamic;
}

// Looked up each time: these calls are rare, and take longer than that in the driver.
template <Side kSide, class... Arguments>
nvml::Return call(const char* symbol, Arguments... arguments) {
  const Object library = kSide == Side::kOwn ? loaded_nvml() : other_nvml();
  void* const real = library.found() ? symbol_in(library, symbol) : function_after_ours(symbol);
  if (real == nullptr) return nvml::kFunctionNotFound;
  return std::bit_cast<nvml::Return (*)(Arguments...)>(real)(arguments...);
}

/// The device of the lease that this is; -1 if it is none.
template <Side kSide>
int device_of(Process& process, nvml::Device device) {
  char text[nvml::kTextMax] = {};
  std::uint8_t uuid[16];
  if (call<kSide>("nvmlDeviceGetUUID", device, &text[0], static_cast<unsigned int>(sizeof text)) !=
          nvml::kSuccess ||
      !read_uuid(text, uuid)) {
    return -1;
  }
  return process.device_of(uuid);
}

// Whichever NVML is asked, what is counted is what this process has of the driver that is.
Process* counted_process() {
  const Side before = side;
  side = counted_side.load(std::memory_order_relaxed);
  Process* const process = Process::current();
  side = before;
  return process;
}

struct Card {
  bool is_shown = false;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

// What is shown of a device that has so much, instead of that.
template <Side kSide>
Card card(nvml::Device handle, std::uint64_t total, std::uint64_t free) {
  if (!Process::shows_budget_by_nvml()) return {};
  Process* const process = counted_process();
  const int found = process == nullptr ? -1 : device_of<kSide>(*process, handle);
  if (found < 0) return {};
  const auto device = static_cast<std::uint32_t>(found);
  const std::uint64_t shown = process->ledger().total_shown(device, total);
  const std::uint64_t left = process->bytes_free(device);
  return {.is_shown = true, .total = shown, .free = left < free ? left : free};
}

template <Side kSide>
nvml::Return memory_info(nvml::Device device, nvml::Memory* memory) {
  const nvml::Return result = call<kSide>("nvmlDeviceGetMemoryInfo", device, memory);
  if (result != nvml::kSuccess || memory == nullptr) return result;
  if (const Card shown = card<kSide>(device, memory->total, memory->free); shown.is_shown)
    *memory = {.total = shown.total, .free = shown.free, .used = shown.total - shown.free};
  return result;
}

// A budget is a card of which the driver keeps nothing for itself.
template <Side kSide>
nvml::Return memory_info_v2(nvml::Device device, nvml::MemoryV2* memory) {
  const nvml::Return result = call<kSide>("nvmlDeviceGetMemoryInfo_v2", device, memory);
  if (result != nvml::kSuccess || memory == nullptr) return result;
  const Card shown = card<kSide>(device, memory->total, memory->free);
  if (!shown.is_shown) return result;
  const std::uint64_t reserved = shown.total < memory->total ? 0 : memory->reserved;
  *memory = {.version = memory->version,
             .total = shown.total,
             .reserved = reserved,
             .free = shown.free,
             .used = shown.total - reserved - shown.free};
  return result;
}

// On the budget's card there are the processes of the lease, and no others: one of those may have
// more than such a card holds.
template <Side kSide, class Info>
nvml::Return processes_of(const char* symbol, nvml::Device handle, unsigned int* count,
                          Info* processes) {
  const nvml::Return result = call<kSide>(symbol, handle, count, processes);
  if (result != nvml::kSuccess || count == nullptr || processes == nullptr) return result;
  if (!Process::shows_budget_by_nvml()) return result;
  Process* const process = counted_process();
  if (process == nullptr || device_of<kSide>(*process, handle) < 0) return result;
  unsigned int kept = 0;
  for (unsigned int i = 0; i < *count; ++i) {
    if (process->ledger().has_process(processes[i].pid)) processes[kept++] = processes[i];
  }
  *count = kept;
  return result;
}

}  // namespace

OURS_OF_NVML nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  return memory_info<Side::kOwn>(device, memory);
}

OURS_OF_NVML nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryV2* memory) {
  return memory_info_v2<Side::kOwn>(device, memory);
}

#define PROCESSES(symbol, ours, Info)                                              \
  template <Side kSide>                                                            \
  static nvml::Return ours(nvml::Device device, unsigned int* count, Info* list) { \
    return processes_of<kSide>(#symbol, device, count, list);                      \
  }                                                                                \
  OURS_OF_NVML symbol(nvml::Device device, unsigned int* count, Info* list) {      \
    return ours<Side::kOwn>(device, count, list);                                  \
  }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, compute_processes, nvml::ProcessInfoV1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, compute_processes_v2, nvml::ProcessInfoV2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, compute_processes_v3, nvml::ProcessInfoV2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, graphics_processes, nvml::ProcessInfoV1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, graphics_processes_v2, nvml::ProcessInfoV2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, graphics_processes_v3, nvml::ProcessInfoV2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, mps_processes, nvml::ProcessInfoV1)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, mps_processes_v2, nvml::ProcessInfoV2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, mps_processes_v3, nvml::ProcessInfoV2)
#undef PROCESSES

namespace {

struct Named {
  const char* symbol;
  void* ours[kSides];  // For calls of the program's own NVML, and of the other one.
};
const Named kFunctions[] = {
#define NVML_HOOK(symbol, ours) \
  {#symbol, {reinterpret_cast<void*>(&(symbol)), reinterpret_cast<void*>(&ours<Side::kOther>)}},
#include "guard/preload/nvml.def"
#undef NVML_HOOK
};

}  // namespace

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

bool is_for_another_nvml(const void* address) {
  for (const Named& function : kFunctions) {
    if (function.ours[static_cast<std::size_t>(Side::kOther)] == address) return true;
  }
  return false;
}

void* in_place_of_nvml(Side of, const Object& nvml, void* found) {
  for (const Named& function : kFunctions) {
    if (symbol_in(nvml, function.symbol) != found) continue;
    return of == Side::kOwn || is_other_nvml(nvml) ? function.ours[static_cast<std::size_t>(of)]
                                                   : found;
  }
  return found;
}

}  // namespace berth::guard
