// SPDX-License-Identifier: Apache-2.0
// Holds our declarations of the CUDA driver against a real cuda.h and cudaTypedefs.h, where a
// toolkit is installed: each function has exactly the type that it has there, and is the one that
// the given name means since the given version; results and attributes have the values of there.
#include <gtest/gtest.h>

#include <iostream>

#ifdef REAL_CUDA_H
#define __CUDA_API_VERSION_INTERNAL  // NOLINT: its name. Declares older versions' functions too.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

// Only with a default stream for each thread is there a later form of it.
using PFN_cuStreamSynchronize_v7000 = PFN_cuStreamSynchronize_v7000_ptsz;

#if CUDA_VERSION < 13000  // What came with CUDA 13 is held against its cuda.h alone.
CUresult cuCtxSynchronize_v2(CUcontext context);
using PFN_cuCtxSynchronize_v13000 = decltype(&cuCtxSynchronize_v2);
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context);
using PFN_cuCtxGetDevice_v13000 = decltype(&cuCtxGetDevice_v2);
#endif

#define CUDA_FUNCTION(symbol, name, since, parameters)                        \
  static_assert(std::is_same_v<decltype(&(symbol)), CUresult(*) parameters>); \
  static_assert(std::is_same_v<decltype(&(symbol)), PFN_##name##_v##since>);
#include "simgpu/cuda/functions.def"

#define CUDA_RESULT(name, value, text) static_assert((name) == (value));
#include "simgpu/cuda/results.def"

#define CUDA_ATTRIBUTE(name, value, figure) static_assert((name) == (value));
#include "simgpu/cuda/attributes.def"

static_assert(std::is_same_v<std::underlying_type_t<CUresult>, unsigned int>);
static_assert(std::is_same_v<std::underlying_type_t<CUdevice_attribute>, unsigned int>);
static_assert(std::is_same_v<CUdevice, int> && std::is_same_v<CUdeviceptr, unsigned long long>);
static_assert(std::is_same_v<cuuint64_t, std::uint64_t> && sizeof(CUuuid) == 16);
static_assert(CU_GET_PROC_ADDRESS_SUCCESS == 0 && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == 1 &&
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT == 2);
static_assert(CU_DEVICE_ATTRIBUTE_MAX <= 256);  // kAttributeEnd in device.cc.

TEST(CudaAbi, IsThatOfTheToolkitInstalledHere) {
  std::cout << "our declarations are those of CUDA " << CUDA_VERSION << '\n';
}
#else
TEST(CudaAbi, IsThatOfTheToolkitInstalledHere) {
  std::cout << "SKIPPED: no cuda.h in CUDA_HOME or /usr/local/cuda, so our declarations of the "
               "driver are not held against the real ones\n";
  GTEST_SKIP();
}
#endif
