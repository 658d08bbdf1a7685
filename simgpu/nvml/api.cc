// SPDX-License-Identifier: Apache-2.0
// The simulated NVML. Utilisation is what was set; that, temperature and power are else not
// supported, and a caller shows them as unknown. Any thread may call these.
#include "simgpu/nvml/api.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "simgpu/cuda/abi.h"
#include "simgpu/nvml/state.h"
#include "simgpu/world/device_text.h"

namespace berth::simgpu {
namespace {

// Of the world's driver: the line of kCudaVersions that its text names.
const CudaVersion& version_of(const World& world) {
  const Result<WorldSpec> spec = parse_spec(world.place().spec_text);
  const int number = spec.ok() ? spec->cuda : WorldSpec{}.cuda;
  return *std::ranges::find(kCudaVersions, number, &CudaVersion::number);
}

nvml::Return copy_text(const std::string& text, char* to, unsigned int length) {
  if (to == nullptr) return nvml::kInvalidArgument;
  if (text.size() + 1 > length) return nvml::kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

// body(world, device).
template <class Body>
nvml::Return on_device(nvml::Device handle, const void* out, Body body) {
  const auto [result, world, device] = enter_nvml(handle);
  if (result != nvml::kSuccess) return result;
  if (out == nullptr) return nvml::kInvalidArgument;
  return body(*world, device);
}

void fill(nvml::ProcessInfoV1& entry, unsigned int pid, unsigned long long used) {
  entry = {pid, used};
}
void fill(nvml::ProcessInfoV2& entry, unsigned int pid, unsigned long long used) {
  entry = {pid, used, nvml::kNoInstance, nvml::kNoInstance};
}

struct Kind {
  bool graphics;
};

template <class Entry>
nvml::Return list_processes(Kind kind, nvml::Device handle, unsigned int* count, Entry* entries) {
  return on_device(handle, count, [&](World& world, std::uint32_t device) {
    std::vector<ProcessFigures> processes = world.processes(device);
    std::erase_if(processes,
                  [&](const ProcessFigures& process) { return process.graphics != kind.graphics; });
    const auto room = entries == nullptr ? 0 : *count;
    *count = static_cast<unsigned int>(processes.size());
    if (processes.size() > room) return nvml::kInsufficientSize;
    const bool figure_missing = world.file().faults.no_process_figures.load() != 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      fill(entries[i], static_cast<unsigned int>(processes[i].pid),
           figure_missing ? nvml::kValueNotAvailable : processes[i].used.value);
    }
    return nvml::kSuccess;
  });
}

}  // namespace

extern "C" {

nvml::Return nvmlInit_v2() {
  return initialise_nvml();
}
nvml::Return nvmlInit() {
  return initialise_nvml();
}
nvml::Return nvmlInitWithFlags(unsigned int /*flags*/) {
  return initialise_nvml();
}
nvml::Return nvmlShutdown() {
  return shut_nvml_down();
}

const char* nvmlErrorString(nvml::Return result) {
  const auto* found = std::ranges::find(nvml::kReturnTexts, result, &nvml::ReturnText::value);
  return found == std::end(nvml::kReturnTexts) ? "unknown error" : found->text;
}

const char* berthSimulatedWorld() {
  const auto [result, world] = enter_nvml();
  return world == nullptr ? "" : world->place().name.c_str();
}

nvml::Return nvmlSystemGetDriverVersion(char* text, unsigned int length) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return result;
  return copy_text(std::string(version_of(*world).driver) + ".00-simulated", text, length);
}

nvml::Return nvmlSystemGetNVMLVersion(char* text, unsigned int length) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return result;
  const CudaVersion& version = version_of(*world);
  const std::string cuda = std::to_string(version.number / 1000);
  return copy_text(cuda + "." + std::string(version.driver) + ".00-simulated", text, length);
}

nvml::Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return result;
  if (version == nullptr) return nvml::kInvalidArgument;
  *version = version_of(*world).number;
  return nvml::kSuccess;
}
nvml::Return nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvml::Return nvmlDeviceGetCount_v2(unsigned int* count) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return result;
  if (count == nullptr) return nvml::kInvalidArgument;
  *count = world->device_count();
  return nvml::kSuccess;
}
nvml::Return nvmlDeviceGetCount(unsigned int* count) {
  return nvmlDeviceGetCount_v2(count);
}

nvml::Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml::Device* device) {
  return on_device(handle_of(index), static_cast<const void*>(device),
                   [&](World&, std::uint32_t found) {
                     *device = handle_of(found);
                     return nvml::kSuccess;
                   });
}
nvml::Return nvmlDeviceGetHandleByIndex(unsigned int index, nvml::Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvml::Return nvmlDeviceGetHandleByUUID(const char* uuid, nvml::Device* device) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return result;
  if (uuid == nullptr) return nvml::kInvalidArgument;
  for (std::uint32_t i = 0; i < world->device_count(); ++i) {
    if (uuid_text(world->file().devices[i]) == uuid)
      return nvmlDeviceGetHandleByIndex_v2(i, device);
  }
  return nvml::kNotFound;
}

nvml::Return nvmlDeviceGetIndex(nvml::Device device, unsigned int* index) {
  return on_device(device, index, [&](World&, std::uint32_t found) {
    *index = found;
    return nvml::kSuccess;
  });
}

nvml::Return nvmlDeviceGetUUID(nvml::Device device, char* text, unsigned int length) {
  return on_device(device, text, [&](World& world, std::uint32_t index) {
    return copy_text(uuid_text(world.file().devices[index]), text, length);
  });
}

nvml::Return nvmlDeviceGetName(nvml::Device device, char* text, unsigned int length) {
  return on_device(device, text, [&](World& world, std::uint32_t index) {
    return copy_text(name_text(world.file().devices[index]), text, length);
  });
}

nvml::Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  return on_device(device, info, [&](World&, std::uint32_t index) {
    *info = {};
    info->bus = index + 1;
    (void)copy_text(pci_text(index, 4), info->bus_id_legacy, sizeof(info->bus_id_legacy));
    return copy_text(pci_text(index, 8), info->bus_id, sizeof(info->bus_id));
  });
}

nvml::Return nvmlDeviceGetPciInfo(nvml::Device device, nvml::PciInfoV1* info) {
  return on_device(device, info, [&](World&, std::uint32_t index) {
    *info = {};
    info->bus = index + 1;
    return copy_text(pci_text(index, 4), info->bus_id, sizeof(info->bus_id));
  });
}
nvml::Return nvmlDeviceGetPciInfo_v2(nvml::Device device, nvml::PciInfoV2* info) {
  return on_device(device, info, [&](World&, std::uint32_t index) {
    *info = {};
    info->bus = index + 1;
    return copy_text(pci_text(index, 4), info->bus_id, sizeof(info->bus_id));
  });
}

nvml::Return nvmlDeviceGetMinorNumber(nvml::Device device, unsigned int* number) {
  return nvmlDeviceGetIndex(device, number);
}

nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  return on_device(device, memory, [&](World& world, std::uint32_t index) {
    const DeviceFigures figures = world.figures(index);
    *memory = {.total = figures.capacity.value,
               .free = figures.free.value,
               .used = figures.capacity.value - figures.free.value};
    return nvml::kSuccess;
  });
}

nvml::Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryV2* memory) {
  return on_device(device, memory, [&](World& world, std::uint32_t index) {
    if (memory->version != nvml::kMemoryVersion2) return nvml::kArgumentVersion;
    const DeviceFigures figures = world.figures(index);
    *memory = {.version = nvml::kMemoryVersion2,
               .total = figures.capacity.value,
               .reserved = figures.reserved.value,
               .free = figures.free.value,
               .used = figures.used.value};
    return nvml::kSuccess;
  });
}

nvml::Return nvmlDeviceGetComputeRunningProcesses(nvml::Device device, unsigned int* count,
                                                  nvml::ProcessInfoV1* processes) {
  return list_processes(Kind{.graphics = false}, device, count, processes);
}
nvml::Return nvmlDeviceGetComputeRunningProcesses_v2(nvml::Device device, unsigned int* count,
                                                     nvml::ProcessInfoV2* processes) {
  return list_processes(Kind{.graphics = false}, device, count, processes);
}
nvml::Return nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, unsigned int* count,
                                                     nvml::ProcessInfoV2* processes) {
  return list_processes(Kind{.graphics = false}, device, count, processes);
}
nvml::Return nvmlDeviceGetGraphicsRunningProcesses(nvml::Device device, unsigned int* count,
                                                   nvml::ProcessInfoV1* processes) {
  return list_processes(Kind{.graphics = true}, device, count, processes);
}
nvml::Return nvmlDeviceGetGraphicsRunningProcesses_v2(nvml::Device device, unsigned int* count,
                                                      nvml::ProcessInfoV2* processes) {
  return list_processes(Kind{.graphics = true}, device, count, processes);
}
nvml::Return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml::Device device, unsigned int* count,
                                                      nvml::ProcessInfoV2* processes) {
  return list_processes(Kind{.graphics = true}, device, count, processes);
}

// No process comes to a device by MPS.
nvml::Return nvmlDeviceGetMPSComputeRunningProcesses(nvml::Device device, unsigned int* count,
                                                     nvml::ProcessInfoV1* /*processes*/) {
  return on_device(device, count, [&](World&, std::uint32_t) {
    *count = 0;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMPSComputeRunningProcesses_v2(nvml::Device device, unsigned int* count,
                                                        nvml::ProcessInfoV2* /*processes*/) {
  return nvmlDeviceGetMPSComputeRunningProcesses(device, count, nullptr);
}
nvml::Return nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml::Device device, unsigned int* count,
                                                        nvml::ProcessInfoV2* /*processes*/) {
  return nvmlDeviceGetMPSComputeRunningProcesses(device, count, nullptr);
}

nvml::Return nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* rates) {
  return on_device(device, rates, [&](World& world, std::uint32_t index) {
    const UtilizationRates set = world.file().devices[index].utilization;
    if (!set.is_told) return nvml::kNotSupported;
    *rates = {.gpu = set.computing, .memory = set.copying};
    return nvml::kSuccess;
  });
}

nvml::Return nvmlDeviceGetTemperature(nvml::Device device, unsigned int /*sensor*/,
                                      unsigned int* celsius) {
  return on_device(device, celsius, [](World&, std::uint32_t) { return nvml::kNotSupported; });
}

nvml::Return nvmlDeviceGetPowerUsage(nvml::Device /*device*/, unsigned int* /*milliwatts*/) {
  return nvml::kNotSupported;
}

#define NVML_UNSUPPORTED(symbol) \
  nvml::Return symbol() {        \
    return nvml::kNotSupported;  \
  }
#include "abi/nvml_functions.def"

}  // extern "C"
}  // namespace berth::simgpu
