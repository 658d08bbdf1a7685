// SPDX-License-Identifier: Apache-2.0
// Entries of the library by which the caller of NVML escapes preloading.
#include "library_calls.h"

// NOLINTBEGIN(readability-identifier-naming): NVML's names.
extern "C" {
Function nvmlInit_v2;
Function nvmlDeviceGetHandleByIndex_v2;
Function nvmlDeviceGetMemoryInfo;
Function nvmlDeviceGetMemoryInfo_v2;
}
// NOLINTEND(readability-identifier-naming)

const LibraryCall kLibraryCalls[] = {
    {"nvmlInit_v2", &pass_on<nvmlInit_v2>},
    {"nvmlDeviceGetHandleByIndex_v2", &pass_on<nvmlDeviceGetHandleByIndex_v2>},
    {"nvmlDeviceGetMemoryInfo", &pass_on<nvmlDeviceGetMemoryInfo>},
    {"nvmlDeviceGetMemoryInfo_v2", &pass_on<nvmlDeviceGetMemoryInfo_v2>},
    {nullptr, nullptr}};
