// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's public ABI, as far as Berth has to do with it: the simulated driver offers
// these functions, the guard stands in front of some, berth-mover calls others. Declarations alone:
// who calls a function finds it in the driver that is loaded.
#pragma once

#include "abi/cuda_types.h"

extern "C" {
namespace berth {
// NOLINTBEGIN(readability-identifier-naming): NVIDIA named them.
#define CUDA_FUNCTION(symbol, name, since, parameters) CUresult symbol parameters;
#define CUDA_DECLARED(symbol, name, since, parameters) CUresult symbol parameters;
#include "abi/cuda_functions.def"
/// What the first context of a process on a device takes. No real driver tells that.
CUresult berthSimulatedContextBytes(std::size_t* bytes);
/// What the driver counts for the calling process on a device. No real one either.
CUresult berthSimulatedUsedBytes(std::size_t* bytes, CUdevice device);
CUresult berthSimulatedLoad(unsigned int percent, CUdevice device);
// NOLINTEND(readability-identifier-naming)
}  // namespace berth
}
