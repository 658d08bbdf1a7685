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

enum CUdriverProcAddressQueryResult : std::uint32_t {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};

struct CUuuid {
  char bytes[16];
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using cuuint64_t = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUfunction = struct CUfunc_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;

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
enum CUarray_flags : std::uint32_t {  // Macros, in cuda.h.
  CUDA_ARRAY3D_LAYERED = 0x01,
  CUDA_ARRAY3D_SPARSE = 0x40,
  CUDA_ARRAY3D_DEFERRED_MAPPING = 0x80,
};
struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size;
  std::size_t alignment;
  unsigned int reserved[4];
};

enum CUmemAllocationType : std::uint32_t { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : std::uint32_t {};
enum CUmemLocationType : std::uint32_t { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAccess_flags : std::uint32_t { CU_MEM_ACCESS_FLAGS_PROT_NONE = 0 };
enum CUmemAllocationGranularity_flags : std::uint32_t {};
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
enum CUmemPool_attribute : std::uint32_t {
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUexecAffinityParam;
struct CUctxCreateParams;

/// Each library of this driver has one of its own.
extern const int kDriverVersion;

}  // namespace berth::simgpu

extern "C" {
namespace berth::simgpu {
#define CUDA_FUNCTION(symbol, name, since, parameters) CUresult symbol parameters;
#include "simgpu/cuda/functions.def"
#undef CUDA_FUNCTION
/// What the first context of a process on a device takes. No real driver tells that.
CUresult berthSimulatedContextBytes(std::size_t* bytes);
/// What the driver counts for the calling process on a device.
CUresult berthSimulatedUsedBytes(std::size_t* bytes, CUdevice device);
}  // namespace berth::simgpu
}
