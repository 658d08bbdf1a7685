// SPDX-License-Identifier: Apache-2.0
// Holds our declarations of the CUDA driver against a real cuda.h and cudaTypedefs.h, where a
// toolkit is installed: each function has exactly the type that it has there, and is the one that
// the given name means since the given version; results and attributes have the values of there.
#include <gtest/gtest.h>

#include <iostream>

#ifdef REAL_CUDA_H
#define __CUDA_API_VERSION_INTERNAL  // NOLINT: its name. Declares older versions' functions too.
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

#include "abi/cuda_types.h"

// NOLINTBEGIN(readability-identifier-naming): named as NVIDIA names functions.
// Only with a default stream for each thread is there a later form of it.
using PFN_cuStreamSynchronize_v7000 = PFN_cuStreamSynchronize_v7000_ptsz;
using PFN_cuStreamAddCallback_v7000 = PFN_cuStreamAddCallback_v7000_ptsz;

#if CUDA_VERSION < 13000  // What came with CUDA 13 is held against its cuda.h alone.
CUresult cuCtxSynchronize_v2(CUcontext context);
using PFN_cuCtxSynchronize_v13000 = decltype(&cuCtxSynchronize_v2);
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context);
using PFN_cuCtxGetDevice_v13000 = decltype(&cuCtxGetDevice_v2);
#endif

// Made up.
CUresult cuMemAlloc_v3(CUdeviceptr* pointer, std::size_t bytes);
using PFN_cuMemAlloc_v99000 = decltype(&cuMemAlloc_v3);
// NOLINTEND(readability-identifier-naming)

#define SAME_TYPE(symbol, name, since, parameters)                            \
  static_assert(std::is_same_v<decltype(&(symbol)), CUresult(*) parameters>); \
  static_assert(std::is_same_v<decltype(&(symbol)), PFN_##name##_v##since>);
#define CUDA_FUNCTION(symbol, name, since, parameters) SAME_TYPE(symbol, name, since, parameters)
#define CUDA_DECLARED(symbol, name, since, parameters) SAME_TYPE(symbol, name, since, parameters)
#include "abi/cuda_functions.def"

#define CUDA_RESULT(name, value, text) static_assert((name) == (value));
#include "abi/cuda_results.def"

#define CUDA_ATTRIBUTE(name, value, figure) static_assert((name) == (value));
#include "abi/cuda_attributes.def"

static_assert(std::is_same_v<std::underlying_type_t<CUresult>, unsigned int>);
static_assert(std::is_same_v<std::underlying_type_t<CUdevice_attribute>, unsigned int>);
static_assert(std::is_same_v<CUdevice, int> && std::is_same_v<CUdeviceptr, unsigned long long>);
static_assert(std::is_same_v<cuuint64_t, std::uint64_t> && sizeof(CUuuid) == 16);
static_assert(CU_GET_PROC_ADDRESS_SUCCESS == 0 && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == 1 &&
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT == 2);
static_assert(CU_DEVICE_ATTRIBUTE_MAX <= 256);  // kAttributeEnd in device.cc.

#define SAME_SIZE(type) static_assert(sizeof(type) == sizeof(berth::type))
#define SAME_PLACE(type, member) \
  static_assert(offsetof(type, member) == offsetof(berth::type, member))
#define SAME_VALUE(name) \
  static_assert(static_cast<unsigned>(name) == static_cast<unsigned>(berth::name))
SAME_SIZE(CUmemAccessDesc);
SAME_SIZE(CUipcMemHandle);
SAME_SIZE(CUmemPoolPtrExportData);
SAME_SIZE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME_SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME_SIZE(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, numLevels);
SAME_SIZE(CUDA_MEMCPY2D);
SAME_PLACE(CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(CUDA_MEMCPY2D, Height);
SAME_SIZE(CUfunction_attribute);
SAME_VALUE(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME_VALUE(CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(CU_LIMIT_MALLOC_HEAP_SIZE);
SAME_VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(berth::kOpaqueDescriptor == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
SAME_SIZE(CUgraphNodeParams);
SAME_PLACE(CUgraphNodeParams, alloc.bytesize);
SAME_VALUE(CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME_VALUE(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME_VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(CU_MEMORYTYPE_HOST);
SAME_VALUE(CU_MEMORYTYPE_DEVICE);
SAME_VALUE(CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(CU_GRAPH_NODE_TYPE_GRAPH);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
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
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT8);
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT16);
SAME_VALUE(CU_AD_FORMAT_UNSIGNED_INT32);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT8);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT16);
SAME_VALUE(CU_AD_FORMAT_SIGNED_INT32);
SAME_VALUE(CU_AD_FORMAT_HALF);
SAME_VALUE(CU_AD_FORMAT_FLOAT);
SAME_SIZE(CUstreamCaptureStatus);
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
#if CUDA_VERSION >= 13000
SAME_SIZE(CUDA_CHILD_GRAPH_NODE_PARAMS);
SAME_PLACE(CUgraphNodeParams, graph.ownership);
static_assert(berth::kMovedToParent == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
#endif
SAME_SIZE(CUcheckpointLockArgs);
SAME_PLACE(CUcheckpointLockArgs, timeoutMs);
SAME_SIZE(CUcheckpointRestoreArgs);
SAME_VALUE(CU_PROCESS_STATE_FAILED);
#if CUDA_VERSION >= 13000
SAME_SIZE(CUcheckpointGpuPair);
SAME_PLACE(CUcheckpointRestoreArgs, gpuPairsCount);
#endif
#if CUDA_VERSION >= 12040
SAME_SIZE(CUdevResource);
SAME_VALUE(CU_DEV_RESOURCE_TYPE_SM);
#endif

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
