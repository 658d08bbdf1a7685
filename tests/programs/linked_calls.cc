// SPDX-License-Identifier: Apache-2.0
// For the caller that is linked with a driver: these names, whatever their parameters are.
#include <map>

#include "linked.h"

extern "C" {
int cuInit();
int cuDevicePrimaryCtxRetain();
int cuDevicePrimaryCtxRelease_v2();
int cuDevicePrimaryCtxReset_v2();
int cuCtxSetCurrent();
int cuCtxGetCurrent();
int cuCtxCreate_v2();
int cuCtxDestroy_v2();
int cuMemAlloc_v2();
int cuMemFree_v2();
int cuMemAllocManaged();
int cuMemAllocPitch_v2();
int cuArrayCreate_v2();
int cuArray3DCreate_v2();
int cuArrayDestroy();
int cuMipmappedArrayCreate();
int cuMipmappedArrayDestroy();
int cuMemCreate();
int cuMemRelease();
int cuMemRetainAllocationHandle();
int cuMemAddressReserve();
int cuMemMap();
int cuMemUnmap();
int cuMemAllocAsync();
int cuMemFreeAsync();
int cuDeviceGetDefaultMemPool();
int cuMemPoolSetAttribute();
int cuMemPoolTrimTo();
int cuCtxSynchronize();
int cuMemGetInfo_v2();
int cuDeviceTotalMem_v2();
}

Any linked_call(const std::string& symbol) {
  static const std::map<std::string, Any> kCalls = {
      {"cuInit", reinterpret_cast<Any>(&cuInit)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<Any>(&cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease_v2", reinterpret_cast<Any>(&cuDevicePrimaryCtxRelease_v2)},
      {"cuDevicePrimaryCtxReset_v2", reinterpret_cast<Any>(&cuDevicePrimaryCtxReset_v2)},
      {"cuCtxSetCurrent", reinterpret_cast<Any>(&cuCtxSetCurrent)},
      {"cuCtxGetCurrent", reinterpret_cast<Any>(&cuCtxGetCurrent)},
      {"cuCtxCreate_v2", reinterpret_cast<Any>(&cuCtxCreate_v2)},
      {"cuCtxDestroy_v2", reinterpret_cast<Any>(&cuCtxDestroy_v2)},
      {"cuMemAlloc_v2", reinterpret_cast<Any>(&cuMemAlloc_v2)},
      {"cuMemFree_v2", reinterpret_cast<Any>(&cuMemFree_v2)},
      {"cuMemAllocManaged", reinterpret_cast<Any>(&cuMemAllocManaged)},
      {"cuMemAllocPitch_v2", reinterpret_cast<Any>(&cuMemAllocPitch_v2)},
      {"cuArrayCreate_v2", reinterpret_cast<Any>(&cuArrayCreate_v2)},
      {"cuArray3DCreate_v2", reinterpret_cast<Any>(&cuArray3DCreate_v2)},
      {"cuArrayDestroy", reinterpret_cast<Any>(&cuArrayDestroy)},
      {"cuMipmappedArrayCreate", reinterpret_cast<Any>(&cuMipmappedArrayCreate)},
      {"cuMipmappedArrayDestroy", reinterpret_cast<Any>(&cuMipmappedArrayDestroy)},
      {"cuMemCreate", reinterpret_cast<Any>(&cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<Any>(&cuMemRelease)},
      {"cuMemRetainAllocationHandle", reinterpret_cast<Any>(&cuMemRetainAllocationHandle)},
      {"cuMemAddressReserve", reinterpret_cast<Any>(&cuMemAddressReserve)},
      {"cuMemMap", reinterpret_cast<Any>(&cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<Any>(&cuMemUnmap)},
      {"cuMemAllocAsync", reinterpret_cast<Any>(&cuMemAllocAsync)},
      {"cuMemFreeAsync", reinterpret_cast<Any>(&cuMemFreeAsync)},
      {"cuDeviceGetDefaultMemPool", reinterpret_cast<Any>(&cuDeviceGetDefaultMemPool)},
      {"cuMemPoolSetAttribute", reinterpret_cast<Any>(&cuMemPoolSetAttribute)},
      {"cuMemPoolTrimTo", reinterpret_cast<Any>(&cuMemPoolTrimTo)},
      {"cuCtxSynchronize", reinterpret_cast<Any>(&cuCtxSynchronize)},
      {"cuMemGetInfo_v2", reinterpret_cast<Any>(&cuMemGetInfo_v2)},
      {"cuDeviceTotalMem_v2", reinterpret_cast<Any>(&cuDeviceTotalMem_v2)},
  };
  const auto found = kCalls.find(symbol);
  return found == kCalls.end() ? nullptr : found->second;
}
