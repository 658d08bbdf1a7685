// SPDX-License-Identifier: Apache-2.0
// Types and values of the CUDA driver's public ABI as cuda.h of CUDA 12 has them, declared by us:
// no toolkit is needed to build. cuda_test.cc holds them against a real cuda.h where one is
// installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {
// NOLINTBEGIN(readability-identifier-naming): NVIDIA named them.

enum CUresult : std::uint32_t {
#define CUDA_RESULT(name, value, text) name = value,
#include "abi/cuda_results.def"
#undef CUDA_RESULT
};

enum CUdevice_attribute : std::uint32_t {
#define CUDA_ATTRIBUTE(name, value, figure) name = value,
#include "abi/cuda_attributes.def"
#undef CUDA_ATTRIBUTE
};

struct CUuuid {
  char bytes[16];
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v1 = unsigned int;  // Of CUDA 2 and 3.0, as are all names that end so.
using cuuint64_t = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUfunction = struct CUfunc_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;

using CUhostFn = void (*)(void* data);
using CUstreamCallback = void (*)(CUstream stream, CUresult result, void* data);

struct CUgraphEdgeData;
struct CUexecAffinityParam;
struct CUctxCreateParams;

enum CUdriverProcAddressQueryResult : std::uint32_t {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};
enum CUstreamCaptureStatus : std::uint32_t {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};
enum CUstreamCaptureMode : std::uint32_t {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

enum CUarray_format : std::uint32_t {
  CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
  CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
  CU_AD_FORMAT_SIGNED_INT8 = 0x08,
  CU_AD_FORMAT_SIGNED_INT16 = 0x09,
  CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
  CU_AD_FORMAT_HALF = 0x10,
  CU_AD_FORMAT_FLOAT = 0x20,
};
constexpr unsigned int kArrayLayered = 0x01;          // CUDA_ARRAY3D_LAYERED, a macro there.
constexpr unsigned int kArraySparse = 0x40;           // CUDA_ARRAY3D_SPARSE
constexpr unsigned int kArrayDeferredMapping = 0x80;  // CUDA_ARRAY3D_DEFERRED_MAPPING
struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  CUarray_format Format;
  unsigned int NumChannels;
};
struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  std::size_t Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
};
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24 && sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40);
/// The same array, as the newer functions describe it.
constexpr CUDA_ARRAY3D_DESCRIPTOR in_three_dimensions(const CUDA_ARRAY_DESCRIPTOR& flat) {
  return {.Width = flat.Width,
          .Height = flat.Height,
          .Depth = 0,
          .Format = flat.Format,
          .NumChannels = flat.NumChannels,
          .Flags = 0};
}
constexpr CUDA_ARRAY3D_DESCRIPTOR in_three_dimensions(const CUDA_ARRAY3D_DESCRIPTOR& deep) {
  return deep;
}
struct CUDA_ARRAY_DESCRIPTOR_v1 {
  unsigned int Width;
  unsigned int Height;
  CUarray_format Format;
  unsigned int NumChannels;
};
struct CUDA_ARRAY3D_DESCRIPTOR_v1 {
  unsigned int Width;
  unsigned int Height;
  unsigned int Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
};
constexpr CUDA_ARRAY3D_DESCRIPTOR in_three_dimensions(const CUDA_ARRAY_DESCRIPTOR_v1& flat) {
  return {.Width = flat.Width,
          .Height = flat.Height,
          .Depth = 0,
          .Format = flat.Format,
          .NumChannels = flat.NumChannels,
          .Flags = 0};
}
constexpr CUDA_ARRAY3D_DESCRIPTOR in_three_dimensions(const CUDA_ARRAY3D_DESCRIPTOR_v1& deep) {
  return {.Width = deep.Width,
          .Height = deep.Height,
          .Depth = deep.Depth,
          .Format = deep.Format,
          .NumChannels = deep.NumChannels,
          .Flags = deep.Flags};
}
struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size;
  std::size_t alignment;
  unsigned int reserved[4];
};

enum CUmemAllocationType : std::uint32_t { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : std::uint32_t { CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1 };
enum CUmemLocationType : std::uint32_t { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
static_assert(sizeof(CUmemAllocationProp) == 32);
enum CUmemPool_attribute : std::uint32_t {
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
};
struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(CUmemPoolProps) == 88);
enum CUpointer_attribute : std::uint32_t {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
enum CUmemorytype : std::uint32_t {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_UNIFIED = 4,
};

enum CUgraphNodeType : std::uint32_t {
  CU_GRAPH_NODE_TYPE_GRAPH = 4,
  CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10,
  CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
};
enum CUgraphMem_attribute : std::uint32_t {
  CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0,
  CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1,
  CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2,
  CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3,
};
struct CUmemAccessDesc;
struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc* accessDescs;
  std::size_t accessDescCount;
  std::size_t bytesize;
  CUdeviceptr dptr;
};
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == 120);
constexpr cuuint64_t kInstantiateAutoFree = 1;  // CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
constexpr cuuint64_t kInstantiateUpload = 2;    // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
enum CUgraphInstantiateResult : std::uint32_t {};
struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  cuuint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
};
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32);

enum CUmemAccess_flags : std::uint32_t { CU_MEM_ACCESS_FLAGS_PROT_NONE = 0 };
enum CUmemAllocationGranularity_flags : std::uint32_t {};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};

enum CUfunction_attribute : std::uint32_t {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_MAX = 16,
};
enum CUfunc_cache : std::uint32_t {};
enum CUsharedconfig : std::uint32_t {};
using CUoccupancyB2DSize = std::size_t (*)(int block);
using CUlinkState = struct CUlinkState_st*;
enum CUjitInputType : std::uint32_t {};
using CUtexObject = unsigned long long;
struct CUDA_RESOURCE_DESC;
struct CUDA_TEXTURE_DESC;
struct CUDA_RESOURCE_VIEW_DESC;
using CUmodule = struct CUmod_st*;
using CUlibrary = struct CUlib_st*;
enum CUjit_option : std::uint32_t {};
enum CUlibraryOption : std::uint32_t {};
enum CUlimit : std::uint32_t {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,
};
enum CUdevResourceType : std::uint32_t { CU_DEV_RESOURCE_TYPE_SM = 1 };
struct CUdevResource {
  CUdevResourceType type;
  unsigned char rest[140];
};

struct CUipcMemHandle {
  char reserved[64];
};
struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};
using CUexternalMemory = struct CUextMemory_st*;
constexpr std::uint32_t kOpaqueDescriptor = 1;  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  std::uint32_t type;
  union {
    int fd;
    const void* all[2];
  } handle;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};
struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
  unsigned long long offset;
  CUDA_ARRAY3D_DESCRIPTOR arrayDesc;
  unsigned int numLevels;
  unsigned int reserved[16];
};

constexpr std::uint32_t kMovedToParent = 1;  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
struct CUDA_CHILD_GRAPH_NODE_PARAMS {
  CUgraph graph;
  std::uint32_t ownership;
};
struct CUDA_MEM_FREE_NODE_PARAMS {
  CUdeviceptr dptr;
};
struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_CHILD_GRAPH_NODE_PARAMS graph;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUDA_MEM_FREE_NODE_PARAMS free;
  };
  long long reserved2;
};

enum CUprocessState : std::uint32_t {
  CU_PROCESS_STATE_RUNNING = 0,
  CU_PROCESS_STATE_LOCKED = 1,
  CU_PROCESS_STATE_CHECKPOINTED = 2,
  CU_PROCESS_STATE_FAILED = 3,
};
struct CUcheckpointLockArgs {
  unsigned int timeoutMs;
  unsigned int reserved0;
  cuuint64_t reserved1[7];
};
struct CUcheckpointCheckpointArgs {
  cuuint64_t reserved[8];
};
struct CUcheckpointGpuPair {
  CUuuid oldUuid;
  CUuuid newUuid;
};
// Of CUDA 13; before, all of it is reserved.
struct CUcheckpointRestoreArgs {
  CUcheckpointGpuPair* gpuPairs;
  unsigned int gpuPairsCount;
  char reserved[44];
  cuuint64_t reserved1;
};
struct CUcheckpointUnlockArgs {
  cuuint64_t reserved[8];
};
static_assert(sizeof(CUcheckpointLockArgs) == 64 && sizeof(CUcheckpointCheckpointArgs) == 64 &&
              sizeof(CUcheckpointRestoreArgs) == 64 && sizeof(CUcheckpointUnlockArgs) == 64);

// NOLINTEND(readability-identifier-naming)
}  // namespace berth
