// SPDX-License-Identifier: Apache-2.0
// Functions of the simulated driver beside those of abi/cuda.h: those that it does not support,
// and its version.
#pragma once

#include "abi/cuda.h"

namespace berth::simgpu {

/// Each library of this driver has one of its own.
extern const int kDriverVersion;

}  // namespace berth::simgpu

extern "C" {
namespace berth::simgpu {
#define CUDA_UNSUPPORTED(symbol, name, since) CUresult symbol();
#include "abi/cuda_functions.def"
}  // namespace berth::simgpu
}
