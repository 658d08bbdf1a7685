// SPDX-License-Identifier: Apache-2.0
// An NVML as drivers before 510 have it, for tests: no second layout of memory, the second version
// of the process lists, and answers that a simulated driver never gives. It is no simulated one:
// nothing marks it as ours. Any thread may call it.
#include <bit>
#include <cstdio>

#include "abi/nvml.h"

namespace {

namespace nvml = berth::nvml;

constexpr unsigned int kProcesses = 200;

nvml::Return say(char* text, unsigned int length, const char* what) {
  (void)std::snprintf(text, length, "%s", what);
  return nvml::kSuccess;
}

// Device 0 tells everything it can, 1 has no memory figures, 2 has no UUID.
unsigned int index_of(nvml::Device device) {
  return static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] nvml::Return nvmlInit_v2() {
  return nvml::kSuccess;
}
[[gnu::visibility("default")]] nvml::Return nvmlShutdown() {
  return nvml::kSuccess;
}

[[gnu::visibility("default")]] nvml::Return nvmlSystemGetDriverVersion(char* text,
                                                                       unsigned int length) {
  return say(text, length, "470.00");
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 3;
  return nvml::kSuccess;
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetHandleByIndex_v2(unsigned int index,
                                                                          nvml::Device* device) {
  *device = std::bit_cast<nvml::Device>(std::uintptr_t{index} + 1);
  return nvml::kSuccess;
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetUUID(nvml::Device device, char* text,
                                                              unsigned int length) {
  if (index_of(device) == 2) return say(text, length, "none");
  return say(text, length,
             index_of(device) == 0 ? "GPU-00000000-0000-4000-8000-000000000001"
                                   : "GPU-00000000-0000-4000-8000-000000000002");
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetName(nvml::Device /*device*/, char* text,
                                                              unsigned int length) {
  return say(text, length, "Old GPU");
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetPciInfo_v3(nvml::Device /*device*/,
                                                                    nvml::PciInfo* info) {
  return say(info->bus_id, sizeof(info->bus_id), "00000000:0A:00.0");
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device device,
                                                                    nvml::Memory* memory) {
  if (index_of(device) == 1) return nvml::kNotSupported;
  *memory = {.total = 1000, .free = 400, .used = 600};
  return nvml::kSuccess;
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetComputeRunningProcesses_v2(
    nvml::Device /*device*/, unsigned int* count, nvml::ProcessInfoV2* processes) {
  const unsigned int room = *count;
  *count = kProcesses;
  if (room < kProcesses) return nvml::kInsufficientSize;
  // Pids that Linux never gives, the first one without a figure.
  for (unsigned int i = 0; i < kProcesses; ++i) {
    processes[i] = {.pid = 0x7000'0000U + i, .used = i == 0 ? nvml::kValueNotAvailable : i};
  }
  return nvml::kSuccess;
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetGraphicsRunningProcesses_v2(
    nvml::Device /*device*/, unsigned int* /*count*/, nvml::ProcessInfoV2* /*processes*/) {
  return nvml::kNotSupported;
}

}  // extern "C"
