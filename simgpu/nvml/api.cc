// SPDX-License-Identifier: Apache-2.0
// The simulated NVML. How busy and how warm a device is follows from what was set and from what
// programs say (gauges.h); else that is not supported, and a caller shows it as unknown. Any thread
// may call these.
#include "simgpu/nvml/api.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "os/clock.h"
#include "simgpu/cuda/abi.h"
#include "simgpu/nvml/state.h"
#include "simgpu/world/device_text.h"
#include "simgpu/world/gauges.h"

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

template <class Number>
nvml::Return tell_gauge(nvml::Device handle, Gauge gauge, Number* figure) {
  return on_device(handle, figure, [&](World& world, std::uint32_t device) {
    const std::optional<std::uint32_t> told = gauge_of(world, device, gauge);
    if (!told) return nvml::kNotSupported;
    *figure = *told;
    return nvml::kSuccess;
  });
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
    const std::optional<UtilizationRates> told = utilization_of(world, index);
    if (!told) return nvml::kNotSupported;
    *rates = {.gpu = told->computing, .memory = told->copying};
    return nvml::kSuccess;
  });
}

nvml::Return nvmlDeviceGetTemperature(nvml::Device device, unsigned int sensor,
                                      unsigned int* celsius) {
  if (sensor != 0) return nvml::kInvalidArgument;
  return tell_gauge(device, Gauge::kTemperature, celsius);
}
nvml::Return nvmlDeviceGetPowerUsage(nvml::Device device, unsigned int* milliwatts) {
  return tell_gauge(device, Gauge::kPower, milliwatts);
}
nvml::Return nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, unsigned int* milliwatts) {
  return tell_gauge(device, Gauge::kPowerLimit, milliwatts);
}
nvml::Return nvmlDeviceGetClockInfo(nvml::Device device, unsigned int clock,
                                    unsigned int* megahertz) {
  if (clock > nvml::kClockMemory) return nvml::kNotSupported;
  return tell_gauge(device, clock == nvml::kClockMemory ? Gauge::kMemoryClock : Gauge::kSmClock,
                    megahertz);
}
nvml::Return nvmlDeviceGetFanSpeed(nvml::Device device, unsigned int* percent) {
  return tell_gauge(device, Gauge::kFan, percent);
}
nvml::Return nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned int* number) {
  return tell_gauge(device, Gauge::kPcieGeneration, number);
}
nvml::Return nvmlDeviceGetCurrPcieLinkWidth(nvml::Device device, unsigned int* lanes) {
  return tell_gauge(device, Gauge::kPcieLanes, lanes);
}
nvml::Return nvmlDeviceGetTotalEccErrors(nvml::Device device, unsigned int kind,
                                         unsigned int counter, unsigned long long* count) {
  if (kind > nvml::kEccUncorrected || counter != nvml::kEccSinceBoot) return nvml::kInvalidArgument;
  return tell_gauge(
      device, kind == nvml::kEccCorrected ? Gauge::kEccCorrected : Gauge::kEccUncorrected, count);
}
nvml::Return nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Device device,
                                                       unsigned long long* reasons) {
  return tell_gauge(device, Gauge::kThrottle, reasons);
}

// As the real one, only of those that did something since then: here, since the last second.
nvml::Return nvmlDeviceGetProcessUtilization(nvml::Device device, nvml::ProcessUtilization* samples,
                                             unsigned int* count, unsigned long long since) {
  return on_device(device, count, [&](World& world, std::uint32_t index) {
    auto loads = loads_on(world, index);
    if (!loads) return nvml::kNotSupported;
    const auto now = static_cast<unsigned long long>(os::PosixClock().wall().value) * 1'000;
    std::erase_if(*loads,
                  [&](const ProcessLoad& load) { return load.percent == 0 || now <= since; });
    const auto room = samples == nullptr ? 0 : *count;
    *count = static_cast<unsigned int>(loads->size());
    if (loads->empty()) return nvml::kNotFound;
    if (loads->size() > room) return nvml::kInsufficientSize;
    for (std::size_t i = 0; i < loads->size(); ++i) {
      samples[i] = {.pid = static_cast<unsigned int>((*loads)[i].pid),
                    .time_us = now,
                    .gpu = (*loads)[i].percent,
                    .memory = (*loads)[i].percent / 2};
    }
    return nvml::kSuccess;
  });
}

#define NVML_UNSUPPORTED(symbol) \
  nvml::Return symbol() {        \
    return nvml::kNotSupported;  \
  }
#include "abi/nvml_functions.def"

}  // extern "C"
}  // namespace berth::simgpu
