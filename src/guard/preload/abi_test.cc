// SPDX-License-Identifier: Apache-2.0
// Holds the guard's table of functions against a real cuda.h and cudaTypedefs.h, where a toolkit is
// installed: each has exactly the type that it has there, and is the one that the given name means
// since the given version; the types and values that the guard declares are those of there.
#include <gtest/gtest.h>

#include <iostream>

#ifdef REAL_CUDA_H
#define __CUDA_API_VERSION_INTERNAL  // NOLINT: its name. Declares older versions' functions too.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

#include "guard/preload/cuda.h"

// The simulated driver's alone.
CUresult berthSimulatedContextBytes(std::size_t* bytes);

// Only with a default stream for each thread is there a later form of it.
using PFN_cuStreamSynchronize_v7000 = PFN_cuStreamSynchronize_v7000_ptsz;
using PFN_cuStreamAddCallback_v7000 = PFN_cuStreamAddCallback_v7000_ptsz;

#if CUDA_VERSION < 13000  // What came with CUDA 13 is held against its cuda.h alone.
CUresult cuCtxSynchronize_v2(CUcontext context);
using PFN_cuCtxSynchronize_v13000 = decltype(&cuCtxSynchronize_v2);
#endif

#define HOOK(symbol, name, since, parameters)                                 \
  static_assert(std::is_same_v<decltype(&(symbol)), CUresult(*) parameters>); \
  static_assert(std::is_same_v<decltype(&(symbol)), PFN_##name##_v##since>);
#define CALLED(symbol, parameters) \
  static_assert(std::is_same_v<decltype(&(symbol)), CUresult(*) parameters>);
#include "guard/preload/hooks.def"

#define SAME_VALUE(name) \
  static_assert(static_cast<unsigned>(name) == static_cast<unsigned>(berth::guard::name))
SAME_VALUE(CUDA_SUCCESS);
SAME_VALUE(CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(CUDA_ERROR_NOT_FOUND);
SAME_VALUE(CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME_VALUE(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME_VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(CU_MEMORYTYPE_HOST);
SAME_VALUE(CU_MEMORYTYPE_DEVICE);
SAME_VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(CU_GRAPH_NODE_TYPE_GRAPH);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);

#define SAME_SIZE(type) static_assert(sizeof(type) == sizeof(berth::guard::type))
SAME_SIZE(CUresult);
SAME_SIZE(CUuuid);
SAME_SIZE(CUdevice);
SAME_SIZE(CUdeviceptr);
SAME_SIZE(cuuint64_t);
SAME_SIZE(CUmemGenericAllocationHandle);
SAME_SIZE(CUmemAllocationProp);
SAME_SIZE(CUmemPoolProps);
SAME_SIZE(CUmemPool_attribute);
SAME_SIZE(CUpointer_attribute);
SAME_SIZE(CUmemorytype);
SAME_SIZE(CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(CUDA_ARRAY3D_DESCRIPTOR);
SAME_SIZE(CUDA_ARRAY_DESCRIPTOR_v1);
SAME_SIZE(CUDA_ARRAY3D_DESCRIPTOR_v1);
SAME_SIZE(CUdeviceptr_v1);
SAME_SIZE(CUDA_ARRAY_MEMORY_REQUIREMENTS);
SAME_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_SIZE(CUgraphNodeType);
SAME_SIZE(CUgraphMem_attribute);
SAME_SIZE(CUstreamCaptureMode);
static_assert(berth::guard::kInstantiateUpload == CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
static_assert(berth::guard::kArrayLayered == CUDA_ARRAY3D_LAYERED);
static_assert(berth::guard::kArraySparse == CUDA_ARRAY3D_SPARSE);
static_assert(berth::guard::kArrayDeferredMapping == CUDA_ARRAY3D_DEFERRED_MAPPING);
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT8);
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT16);
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT32);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT8);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT16);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT32);
SAME_VALUE(CU_AD_FORMAT_HALF);
SAME_VALUE(CU_AD_FORMAT_FLOAT);
SAME_SIZE(CUstreamCaptureStatus);
#define SAME_PLACE(type, member) \
  static_assert(offsetof(type, member) == offsetof(berth::guard::type, member))
SAME_PLACE(CUmemAllocationProp, location.type);
SAME_PLACE(CUmemAllocationProp, location.id);
SAME_PLACE(CUmemPoolProps, location.type);
SAME_PLACE(CUmemPoolProps, location.id);
SAME_PLACE(CUDA_MEM_ALLOC_NODE_PARAMS, poolProps);
SAME_PLACE(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_PLACE(CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
SAME_PLACE(CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_PLACE(CUDA_ARRAY_DESCRIPTOR_v1, NumChannels);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR_v1, Depth);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR_v1, Flags);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Flags);

TEST(GuardAbi, IsThatOfTheToolkitInstalledHere) {
  std::cout << "the guard's table is that of CUDA " << CUDA_VERSION << '\n';
}
#else
TEST(GuardAbi, IsThatOfTheToolkitInstalledHere) {
  std::cout << "SKIPPED: no cuda.h in CUDA_HOME or /usr/local/cuda, so the guard's table of "
               "functions is not held against the real ones\n";
  GTEST_SKIP();
}
#endif
