// SPDX-License-Identifier: Apache-2.0
// The functions of the simulated NVML, from functions.def.
#pragma once

#include "gpu/nvml_abi.h"

extern "C" {
namespace berth::simgpu {
#define NVML_FUNCTION(symbol, parameters) nvml::Return symbol parameters;
#define NVML_UNSUPPORTED(symbol) nvml::Return symbol();
#include "simgpu/nvml/functions.def"
#undef NVML_UNSUPPORTED
#undef NVML_FUNCTION

const char* nvmlErrorString(nvml::Return result);

/// Not NVML's: the name of the world, by which a program knows that its NVML is simulated.
const char* berthSimulatedWorld();
}  // namespace berth::simgpu
}
