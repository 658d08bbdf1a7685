// SPDX-License-Identifier: Apache-2.0
// The functions of the simulated NVML beside those of abi/nvml.h.
#pragma once

#include "abi/nvml.h"

extern "C" {
namespace berth::simgpu {
#define NVML_UNSUPPORTED(symbol) nvml::Return symbol();
#include "abi/nvml_functions.def"

const char* nvmlErrorString(nvml::Return result);

/// Not NVML's: the name of the world, by which a program knows that its NVML is simulated.
const char* berthSimulatedWorld();
}  // namespace berth::simgpu
}
