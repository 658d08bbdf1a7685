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

enum CUdriverProcAddressQueryResult : std::uint32_t {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
};

struct CUuuid {
  std::uint8_t bytes[16];
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v1 = unsigned int;
using cuuint64_t = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;

enum CUmemAllocationType : std::uint32_t {};
enum CUmemAllocationHandleType : std::uint32_t {};
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

enum CUmemPool_attribute : std::uint32_t { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5 };
enum CUstreamCaptureStatus : std::uint32_t { CU_STREAM_CAPTURE_STATUS_NONE = 0 };

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
struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size;
  std::size_t alignment;
  unsigned int reserved[4];
};
constexpr unsigned int kArrayLayered = 0x01;          // CUDA_ARRAY3D_LAYERED
constexpr unsigned int kArraySparse = 0x40;           // CUDA_ARRAY3D_SPARSE
constexpr unsigned int kArrayDeferredMapping = 0x80;  // CUDA_ARRAY3D_DEFERRED_MAPPING

struct CUexecAffinityParam;
struct CUctxCreateParams;

}  // namespace berth::guard
