// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "gpu/library.h"

namespace berth::gpu {

using ListProcesses = decltype(&nvmlDeviceGetComputeRunningProcesses_v3);

// Null: this driver does not have it. Those after the blank line may be missing.
struct Nvml::Functions {
  decltype(&nvmlInit_v2) init;
  decltype(&nvmlShutdown) shutdown;
  decltype(&nvmlSystemGetDriverVersion) driver_version;
  decltype(&nvmlDeviceGetCount_v2) count;
  decltype(&nvmlDeviceGetHandleByIndex_v2) device;
  decltype(&nvmlDeviceGetUUID) uuid;
  decltype(&nvmlDeviceGetName) name;
  decltype(&nvmlDeviceGetPciInfo_v3) pci;
  decltype(&nvmlDeviceGetMemoryInfo) memory;

  decltype(&nvmlDeviceGetMemoryInfo_v2) memory_v2;
  ListProcesses compute;
  ListProcesses graphics;
  struct Gauges {
    decltype(&nvmlDeviceGetTemperature) temperature;
    decltype(&nvmlDeviceGetPowerUsage) power;
    decltype(&nvmlDeviceGetEnforcedPowerLimit) power_limit;
    decltype(&nvmlDeviceGetClockInfo) clock;
    decltype(&nvmlDeviceGetFanSpeed) fan;
    decltype(&nvmlDeviceGetCurrPcieLinkGeneration) pcie_generation;
    decltype(&nvmlDeviceGetCurrPcieLinkWidth) pcie_lanes;
    decltype(&nvmlDeviceGetTotalEccErrors) ecc_errors;
    decltype(&nvmlDeviceGetCurrentClocksThrottleReasons) throttle_reasons;
  };
  Gauges gauges;
  decltype(&nvmlDeviceGetUtilizationRates) utilization;
  decltype(&nvmlDeviceGetProcessUtilization) process_utilization;
  const char* (*simulated_world)();
};

namespace {

constexpr std::size_t kListedMax = 4'096;  // Processes of one kind on one device.

// The name of a function that NVML must have and this one lacks; null if there is none.
const char* missing(void* library, Nvml::Functions& functions) {
  const char* lacking = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!find_function(library, name, function) && lacking == nullptr) lacking = name;
  };
  need("nvmlInit_v2", functions.init);
  need("nvmlShutdown", functions.shutdown);
  need("nvmlSystemGetDriverVersion", functions.driver_version);
  need("nvmlDeviceGetCount_v2", functions.count);
  need("nvmlDeviceGetHandleByIndex_v2", functions.device);
  need("nvmlDeviceGetUUID", functions.uuid);
  need("nvmlDeviceGetName", functions.name);
  need("nvmlDeviceGetPciInfo_v3", functions.pci);
  need("nvmlDeviceGetMemoryInfo", functions.memory);
  // Not in drivers before 510, or not in a real one at all. Two versions have the same layout.
  (void)find_function(library, "nvmlDeviceGetMemoryInfo_v2", functions.memory_v2);
  if (!find_function(library, "nvmlDeviceGetComputeRunningProcesses_v3", functions.compute))
    (void)find_function(library, "nvmlDeviceGetComputeRunningProcesses_v2", functions.compute);
  if (!find_function(library, "nvmlDeviceGetGraphicsRunningProcesses_v3", functions.graphics))
    (void)find_function(library, "nvmlDeviceGetGraphicsRunningProcesses_v2", functions.graphics);
  const auto take = [&](const char* name, auto& function) {
    (void)find_function(library, name, function);
  };
  take("nvmlDeviceGetUtilizationRates", functions.utilization);
  take("nvmlDeviceGetTemperature", functions.gauges.temperature);
  take("nvmlDeviceGetPowerUsage", functions.gauges.power);
  take("nvmlDeviceGetEnforcedPowerLimit", functions.gauges.power_limit);
  take("nvmlDeviceGetClockInfo", functions.gauges.clock);
  take("nvmlDeviceGetFanSpeed", functions.gauges.fan);
  take("nvmlDeviceGetCurrPcieLinkGeneration", functions.gauges.pcie_generation);
  take("nvmlDeviceGetCurrPcieLinkWidth", functions.gauges.pcie_lanes);
  take("nvmlDeviceGetTotalEccErrors", functions.gauges.ecc_errors);
  take("nvmlDeviceGetCurrentClocksThrottleReasons", functions.gauges.throttle_reasons);
  take("nvmlDeviceGetProcessUtilization", functions.process_utilization);
  (void)find_function(library, "berthSimulatedWorld", functions.simulated_world);
  return lacking;
}

Error not_loaded(const std::string& library) {
  const char* said = ::dlerror();
  const std::string reason = said == nullptr ? "no reason given" : said;
  // The dynamic linker names the file that is not there: this one, or one that this one needs.
  if (reason.starts_with(library) && reason.find("No such file") != std::string::npos) {
    return {Errc::kUnavailable, library +
                                    " is not installed: this machine has no NVIDIA driver, "
                                    "or it is where the dynamic linker does not look "
                                    "(to try Berth without a GPU: BERTH_SIM=1x16GiB)"};
  }
  return {Errc::kUnavailable, library + " cannot be loaded: " + reason};
}

Error not_initialised(const std::string& library, nvml::Return result) {
  const auto because = [&](const std::string& cure) {
    return Error{Errc::kUnavailable, library + ": " + explain(result) + cure};
  };
  switch (result) {
    case nvml::kVersionMismatch:
      return because(
          ": the driver was updated while its kernel module stayed; reboot, or unload "
          "and load the module nvidia");
    case nvml::kDriverNotLoaded:
      return because(": load the kernel module (modprobe nvidia), or install it for this kernel");
    case nvml::kNoPermission:
      return because(": the device files /dev/nvidia* are not open to this user");
    case nvml::kGpuNotFound:
      return because(": the driver is there and sees no GPU");
    default:
      return because("");
  }
}

/// Of a function that writes one value behind its arguments; null: this driver does not have it.
template <class T, class Function, class... Arguments>
NvmlAnswer<T> answered(Function* function, Arguments... arguments) {
  NvmlAnswer<T> answer{.result = nvml::kNotSupported};
  if (function != nullptr) answer.result = function(arguments..., &answer.value);
  return answer;
}

template <class Function, class... Arguments>
NvmlAnswer<std::string> answered_text(Function* function, Arguments... arguments) {
  std::array<char, nvml::kTextMax> text{};
  const nvml::Return result =
      function(arguments..., text.data(), static_cast<unsigned int>(text.size()));
  text.back() = '\0';
  return {result, text.data()};
}

// One kind of processes. The list may grow between two calls; then it is asked again.
nvml::Return list(ListProcesses function, nvml::Device device,
                  std::vector<nvml::ProcessInfoV2>& listed) {
  listed.resize(64);
  for (;;) {
    auto count = static_cast<unsigned int>(listed.size());
    const nvml::Return result = function(device, &count, listed.data());
    if (result == nvml::kSuccess) {
      listed.resize(std::min<std::size_t>(count, listed.size()));
      return result;
    }
    if (result != nvml::kInsufficientSize || listed.size() >= kListedMax) return result;
    listed.resize(
        std::min<std::size_t>(std::max<std::size_t>(count + 16, 2 * listed.size()), kListedMax));
  }
}

}  // namespace

std::string explain(nvml::Return result) {
  const auto* found = std::ranges::find(nvml::kReturnTexts, result, &nvml::ReturnText::value);
  if (found == std::end(nvml::kReturnTexts))
    return "NVML error " + std::to_string(static_cast<std::uint32_t>(result));
  return std::string(found->text) + " (NVML_" + found->name + ")";
}

Result<std::unique_ptr<Nvml>> Nvml::load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return not_loaded(library);
  auto functions = std::make_unique<Functions>();
  if (const char* name = missing(handle, *functions); name != nullptr) {
    ::dlclose(handle);
    return Error{Errc::kUnavailable, library + " has no " + name + ": it is not NVIDIA's library"};
  }
  if (const nvml::Return result = functions->init(); result != nvml::kSuccess) {
    ::dlclose(handle);
    return not_initialised(library, result);
  }
  return std::make_unique<Nvml>(handle, std::move(functions));
}

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  (void)functions_->shutdown();
  ::dlclose(library_);
}

std::optional<std::string> Nvml::simulated_world() const {
  if (functions_->simulated_world == nullptr) return std::nullopt;
  return functions_->simulated_world();
}

std::string Nvml::driver_version() const {
  const NvmlAnswer<std::string> answer = answered_text(functions_->driver_version);
  return answer ? answer.value : "";
}

NvmlAnswer<std::uint32_t> Nvml::count() const {
  return answered<std::uint32_t>(functions_->count);
}

NvmlAnswer<nvml::Device> Nvml::device(std::uint32_t index) const {
  return answered<nvml::Device>(functions_->device, index);
}

NvmlAnswer<std::string> Nvml::uuid(nvml::Device device) const {
  return answered_text(functions_->uuid, device);
}

NvmlAnswer<std::string> Nvml::name(nvml::Device device) const {
  return answered_text(functions_->name, device);
}

NvmlAnswer<std::string> Nvml::pci_bus(nvml::Device device) const {
  nvml::PciInfo info{};
  const nvml::Return result = functions_->pci(device, &info);
  info.bus_id[sizeof(info.bus_id) - 1] = '\0';
  return {result, info.bus_id};
}

NvmlAnswer<MemoryFigures> Nvml::memory(nvml::Device device) const {
  if (functions_->memory_v2 != nullptr) {
    nvml::MemoryV2 memory{.version = nvml::kMemoryVersion2};
    if (functions_->memory_v2(device, &memory) == nvml::kSuccess)
      return {nvml::kSuccess, {{memory.total}, {memory.used}, Bytes{memory.reserved}}};
  }
  nvml::Memory memory{};
  const nvml::Return result = functions_->memory(device, &memory);
  return {result, {{memory.total}, {memory.used}, std::nullopt}};
}

namespace {

NvmlAnswer<std::vector<ProcessFigure>> processes_of(
    nvml::Device device, std::initializer_list<ListProcesses> functions) {
  NvmlAnswer<std::vector<ProcessFigure>> answer{nvml::kNotSupported, {}};
  std::vector<nvml::ProcessInfoV2> listed;
  for (const ListProcesses function : functions) {
    if (function == nullptr) continue;
    const nvml::Return result = list(function, device, listed);
    // Some devices have one kind of processes only.
    if (result == nvml::kNotSupported) continue;
    answer.result = result;
    if (result != nvml::kSuccess) return answer;
    for (const nvml::ProcessInfoV2& entry : listed) {
      const auto pid = static_cast<std::int32_t>(entry.pid);
      // One that computes and draws is in both lists, each time with all that it uses.
      if (std::ranges::find(answer.value, pid, &ProcessFigure::pid) != answer.value.end()) continue;
      const bool known = entry.used != nvml::kValueNotAvailable;
      answer.value.push_back({pid, known ? std::optional(Bytes{entry.used}) : std::nullopt});
    }
  }
  return answer;
}

}  // namespace

NvmlAnswer<std::vector<ProcessFigure>> Nvml::processes(nvml::Device device) const {
  return processes_of(device, {functions_->compute, functions_->graphics});
}

NvmlAnswer<std::vector<ProcessFigure>> Nvml::compute_processes(nvml::Device device) const {
  return processes_of(device, {functions_->compute});
}

NvmlAnswer<nvml::Utilization> Nvml::utilization(nvml::Device device) const {
  return answered<nvml::Utilization>(functions_->utilization, device);
}

NvmlAnswer<std::uint32_t> Nvml::temperature(nvml::Device device) const {
  constexpr unsigned int kCore = 0;
  return answered<std::uint32_t>(functions_->gauges.temperature, device, kCore);
}

NvmlAnswer<std::uint32_t> Nvml::power_milliwatts(nvml::Device device) const {
  return answered<std::uint32_t>(functions_->gauges.power, device);
}

NvmlAnswer<std::uint32_t> Nvml::power_limit_milliwatts(nvml::Device device) const {
  return answered<std::uint32_t>(functions_->gauges.power_limit, device);
}

NvmlAnswer<std::uint32_t> Nvml::clock_mhz(nvml::Device device, unsigned int clock) const {
  return answered<std::uint32_t>(functions_->gauges.clock, device, clock);
}

NvmlAnswer<std::uint32_t> Nvml::fan_percent(nvml::Device device) const {
  return answered<std::uint32_t>(functions_->gauges.fan, device);
}

NvmlAnswer<std::uint32_t> Nvml::pcie_generation(nvml::Device device) const {
  return answered<std::uint32_t>(functions_->gauges.pcie_generation, device);
}

NvmlAnswer<std::uint32_t> Nvml::pcie_lanes(nvml::Device device) const {
  return answered<std::uint32_t>(functions_->gauges.pcie_lanes, device);
}

NvmlAnswer<unsigned long long> Nvml::ecc_errors(nvml::Device device, unsigned int kind) const {
  return answered<unsigned long long>(functions_->gauges.ecc_errors, device, kind,
                                      nvml::kEccSinceBoot);
}

NvmlAnswer<unsigned long long> Nvml::throttle_reasons(nvml::Device device) const {
  return answered<unsigned long long>(functions_->gauges.throttle_reasons, device);
}

NvmlAnswer<std::vector<nvml::ProcessUtilization>> Nvml::process_utilization(
    nvml::Device device, unsigned long long since_us) const {
  NvmlAnswer<std::vector<nvml::ProcessUtilization>> answer{nvml::kNotSupported, {}};
  if (functions_->process_utilization == nullptr) return answer;
  // The driver keeps several samples of each process, and there may be more of them by each call.
  answer.value.resize(128);
  for (;;) {
    auto count = static_cast<unsigned int>(answer.value.size());
    answer.result = functions_->process_utilization(device, answer.value.data(), &count, since_us);
    const bool is_short = answer.result == nvml::kInsufficientSize &&
                          answer.value.size() < kListedMax && count <= kListedMax;
    if (!is_short) {
      const bool none = answer.result == nvml::kNotFound;
      answer.value.resize(answer ? std::min<std::size_t>(count, answer.value.size()) : 0);
      if (none) answer.result = nvml::kSuccess;
      return answer;
    }
    answer.value.resize(std::max<std::size_t>(count, 2 * answer.value.size()));
  }
}

}  // namespace berth::gpu
