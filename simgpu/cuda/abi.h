// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's public ABI that the simulated driver offers, declared by us: types
// and values as cuda.h of CUDA 12 has them. abi_test.cc holds them against a real cuda.h where
// one is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::simgpu {

enum CUresult : std::uint32_t {
#define CUDA_RESULT(name, value, text) name = value,
#include "simgpu/cuda/results.def"
#undef CUDA_RESULT
};

enum CUdevice_attribute : std::uint32_t {
#define CUDA_ATTRIBUTE(name, value, figure) name = value,
#include "simgpu/cuda/attributes.def"
#undef CUDA_ATTRIBUTE
};

struct CUuuid {
  char bytes[16];
};

#include "guard/preload/types.def"
#include "simgpu/cuda/types.def"

/// Each library of this driver has one of its own.
extern const int kDriverVersion;

}  // namespace berth::simgpu

extern "C" {
namespace berth::simgpu {
#define CUDA_FUNCTION(symbol, name, since, parameters) CUresult symbol parameters;
#define CUDA_UNSUPPORTED(symbol, name, since) CUresult symbol();
#include "simgpu/cuda/functions.def"
#undef CUDA_FUNCTION
#undef CUDA_UNSUPPORTED
/// What the first context of a process on a device takes. No real driver tells that.
CUresult berthSimulatedContextBytes(std::size_t* bytes);
/// What the driver counts for the calling process on a device.
CUresult berthSimulatedUsedBytes(std::size_t* bytes, CUdevice device);
}  // namespace berth::simgpu
}
