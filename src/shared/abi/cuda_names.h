// SPDX-License-Identifier: Apache-2.0
// For each function of the driver `cuX_name`: by what name cuGetProcAddress is asked for it.
#pragma once

namespace berth {

struct CudaName {
  const char* name;
  int since;  // The CUDA version since which the name means this function.
};

// NOLINTBEGIN(readability-identifier-naming): NVIDIA named them.
#define CUDA_FUNCTION(symbol, name, since, parameters) \
  inline constexpr CudaName symbol##_name{#name, since};
#define CUDA_DECLARED(symbol, name, since, parameters) \
  inline constexpr CudaName symbol##_name{#name, since};
#include "abi/cuda_functions.def"
// NOLINTEND(readability-identifier-naming)

}  // namespace berth
