// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's public ABI that the guard stands in front of, declared by us: types
// as cuda.h of CUDA 12 has them. The functions are in hooks.def. abi_test.cc holds both against a
// real cuda.h where one is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::guard {

enum CUresult : std::uint32_t {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};

struct CUuuid {
  std::uint8_t bytes[16];
};

#include "guard/preload/types.def"

}  // namespace berth::guard
