// SPDX-License-Identifier: Apache-2.0
// The part of NVML's public ABI that Berth uses, declared by us: the probe calls it, the guard
// stands in front of some of it, the simulated driver offers it. Types and values as nvml.h has
// them since driver 510; `V1` and `V2` name the layouts that a function of that version fills.
// Declarations alone: who calls a function finds it in the library that is loaded.
#pragma once

#include <cstdint>

namespace berth::nvml {

enum Return : std::uint32_t {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kInsufficientResources = 23,
  kArgumentVersion = 25,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kUnknown = 999,
};

struct ReturnText {
  Return value;
  const char* name;  // As nvml.h has it, without NVML_.
  const char* text;
};
inline constexpr ReturnText kReturnTexts[] = {
    {kSuccess, "SUCCESS", "success"},
    {kUninitialized, "ERROR_UNINITIALIZED", "not initialised"},
    {kInvalidArgument, "ERROR_INVALID_ARGUMENT", "invalid argument"},
    {kNotSupported, "ERROR_NOT_SUPPORTED", "not supported"},
    {kNoPermission, "ERROR_NO_PERMISSION", "no permission"},
    {kNotFound, "ERROR_NOT_FOUND", "not found"},
    {kInsufficientSize, "ERROR_INSUFFICIENT_SIZE", "the array is too small"},
    {kDriverNotLoaded, "ERROR_DRIVER_NOT_LOADED", "the driver is not loaded"},
    {kTimeout, "ERROR_TIMEOUT", "timed out"},
    {kIrqIssue, "ERROR_IRQ_ISSUE", "interrupts of a GPU do not arrive"},
    {kLibraryNotFound, "ERROR_LIBRARY_NOT_FOUND", "a library of the driver is missing"},
    {kFunctionNotFound, "ERROR_FUNCTION_NOT_FOUND", "the driver lacks the function"},
    {kGpuIsLost, "ERROR_GPU_IS_LOST", "the GPU has fallen off the bus"},
    {kResetRequired, "ERROR_RESET_REQUIRED", "the GPU must be reset"},
    {kOperatingSystem, "ERROR_OPERATING_SYSTEM", "the operating system refuses the GPU"},
    {kVersionMismatch, "ERROR_LIB_RM_VERSION_MISMATCH",
     "driver and library are of different versions"},
    {kInUse, "ERROR_IN_USE", "in use"},
    {kMemory, "ERROR_MEMORY", "out of host memory"},
    {kNoData, "ERROR_NO_DATA", "no data"},
    {kInsufficientResources, "ERROR_INSUFFICIENT_RESOURCES", "out of resources"},
    {kArgumentVersion, "ERROR_ARGUMENT_VERSION_MISMATCH", "a structure of another version"},
    {kNotReady, "ERROR_NOT_READY", "not ready"},
    {kGpuNotFound, "ERROR_GPU_NOT_FOUND", "no GPU found"},
    {kInvalidState, "ERROR_INVALID_STATE", "invalid state"},
    {kUnknown, "ERROR_UNKNOWN", "unknown error"},
};

using Device = struct DeviceHandle*;

constexpr std::uint32_t kTextMax = 96;  // Names, UUIDs and versions are shorter.

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;  // What the driver keeps for itself included.
};

struct MemoryV2 {
  unsigned int version;  // kMemoryVersion2, set by the caller.
  unsigned long long total;
  unsigned long long reserved;  // What the driver keeps for itself.
  unsigned long long free;
  unsigned long long used;
};
constexpr unsigned int kMemoryVersion2 = sizeof(MemoryV2) | (2U << 24U);

struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};

// Of functions that came before; they end sooner.
struct PciInfoV1 {
  char bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
};
struct PciInfoV2 {
  char bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
};

struct ProcessInfoV1 {
  unsigned int pid;
  unsigned long long used;  // kValueNotAvailable where the driver does not tell.
};
struct ProcessInfoV2 {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
constexpr unsigned long long kValueNotAvailable = ~0ULL;
constexpr unsigned int kNoInstance = ~0U;

struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

/// Of a process, since its sample before.
struct ProcessUtilization {
  unsigned int pid;
  unsigned long long time_us;  // Since 1970.
  unsigned int gpu;            // In percent, as the rest.
  unsigned int memory;
  unsigned int encoder;
  unsigned int decoder;
};

// Arguments that say which.
constexpr unsigned int kClockGraphics = 0;
constexpr unsigned int kClockSm = 1;
constexpr unsigned int kClockMemory = 2;
constexpr unsigned int kEccCorrected = 0;
constexpr unsigned int kEccUncorrected = 1;
constexpr unsigned int kEccSinceBoot = 0;  // Of the driver: NVML calls it volatile.

// What holds the clocks down (nvmlClocksThrottleReason…), as bits.
constexpr unsigned long long kHeldByPowerCap = 0x4;
constexpr unsigned long long kHeldByHardware = 0x8;
constexpr unsigned long long kHeldByHeat = 0x20;
constexpr unsigned long long kHeldByHardwareHeat = 0x40;
constexpr unsigned long long kHeldByPowerBrake = 0x80;

static_assert(sizeof(MemoryV2) == 40 && sizeof(PciInfo) == 68 && sizeof(ProcessInfoV1) == 16 &&
              sizeof(ProcessInfoV2) == 24 && sizeof(ProcessUtilization) == 32);

}  // namespace berth::nvml

extern "C" {
namespace berth {
#define NVML_FUNCTION(symbol, parameters) nvml::Return symbol parameters;
#include "abi/nvml_functions.def"
}  // namespace berth
}
