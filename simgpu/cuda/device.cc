// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions that describe devices. Any thread may call them.
#include <algorithm>
#include <cstring>
#include <string>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"
#include "simgpu/world/device_text.h"

namespace berth::simgpu {
namespace {

struct Attribute {
  CUdevice_attribute attribute;
  int value;
};

constexpr Attribute kAttributes[] = {
#define CUDA_ATTRIBUTE(name, value, figure) {name, figure},
#include "abi/cuda_attributes.def"
#undef CUDA_ATTRIBUTE
};
constexpr int kWithPools = 11020;             // And with the attributes from that of pools on.
constexpr std::uint32_t kAttributeEnd = 256;  // None is that high in CUDA 13.

// body(driver, the process's number of the device).
template <class Body>
CUresult with_device(const void* out, CUdevice ordinal, Body body) {
  auto [result, driver, lock] = Driver::lock_initialised();
  if (result != CUDA_SUCCESS) return result;
  const std::optional<std::uint32_t> device = driver->device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return body(*driver, *device);
}

CUresult copy_text(const std::string& text, char* to, int length) {
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(to, text.data(), copied);
  to[copied] = '\0';
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuDeviceGetCount(int* count) {
  auto [result, driver, lock] = Driver::lock_initialised();
  if (result != CUDA_SUCCESS) return result;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(driver->count());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return with_device(device, ordinal, [&](Driver&, std::uint32_t) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return with_device(name, device, [&](Driver& driver, std::uint32_t index) {
    return copy_text(name_text(driver.process_slot().state(index)), name, length);
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return with_device(uuid, device, [&](Driver& driver, std::uint32_t index) {
    std::memcpy(uuid->bytes, driver.process_slot().state(index).uuid.data(), 16);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return with_device(bytes, device, [&](Driver& driver, std::uint32_t index) {
    *bytes = driver.process_slot().state(index).capacity_blocks.load() * kBlockBytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return with_device(value, device, [&](Driver& driver, std::uint32_t index) {
    if (attribute == 0 || attribute >= kAttributeEnd) return CUDA_ERROR_INVALID_VALUE;
    const auto* known = std::ranges::find(kAttributes, attribute, &Attribute::attribute);
    *value = known == std::end(kAttributes) ? 0 : known->value;
    if (attribute >= CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED && kDriverVersion < kWithPools)
      return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
      *value = static_cast<int>(driver.process_slot().place(index)) + 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result =
      cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result != CUDA_SUCCESS) return result;
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return with_device(text, device, [&](Driver& driver, std::uint32_t index) {
    return copy_text(pci_text(driver.process_slot().place(index), 4), text, length);
  });
}

}  // extern "C"
}  // namespace berth::simgpu
