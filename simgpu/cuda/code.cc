// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for what lies in code, for linking it, and for settings that
// change nothing here. A module has each function that it is asked for, since code is never run.
// Any thread with a current context may call these.
#include <algorithm>
#include <bit>
#include <utility>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

using Kind = Handles::Kind;

constexpr int kThreadsMax = 1024;  // Of a block.
constexpr int kRegisters = 32;
constexpr int kCapability = 80;

template <class Handle>
CUresult create(Kind kind, Handle* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    *handle = std::bit_cast<Handle>(driver.handles().create(kind));
    return CUDA_SUCCESS;
  });
}

template <class Handle>
CUresult destroy(Kind kind, Handle handle) {
  return with_context([&](Driver& driver, Context&) {
    return driver.handles().destroy(kind, std::bit_cast<Handles::Handle>(handle))
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
  });
}

// body(), if there is such a one.
template <class Handle, class Body>
CUresult with(Kind kind, Handle handle, Body body) {
  return with_context([&](Driver& driver, Context&) {
    return driver.handles().is(kind, std::bit_cast<Handles::Handle>(handle))
               ? body()
               : CUDA_ERROR_INVALID_HANDLE;
  });
}

// body(what is being linked)
template <class Body>
CUresult with_link(CUlinkState state, Body body) {
  return with_context([&](Driver& driver, Context&) {
    const auto handle = std::bit_cast<Handles::Handle>(state);
    if (!driver.handles().is(Kind::kLink, handle)) return CUDA_ERROR_INVALID_HANDLE;
    body(driver.links()[handle]);
    return CUDA_SUCCESS;
  });
}

constexpr auto kNothing = [] { return CUDA_SUCCESS; };

// A setting of the context that there is in name only.
CUresult tell_setting(std::uint32_t* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver&, Context&) {
    *value = 0;
    return CUDA_SUCCESS;
  });
}
CUresult ignore_setting() {
  return with_context([](Driver&, Context&) { return CUDA_SUCCESS; });
}

}  // namespace

extern "C" {

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    if (!driver.has_image(std::bit_cast<std::uint64_t>(module))) return CUDA_ERROR_INVALID_HANDLE;
    if (*name == '\0') return CUDA_ERROR_NOT_FOUND;
    *function = std::bit_cast<CUfunction>(driver.handles().create(Kind::kFunction));
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  if (value == nullptr || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  return with(Kind::kFunction, function, [&] {
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = kThreadsMax;
        break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = kRegisters;
        break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = kCapability;
        break;
      default:
        *value = 0;
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute /*attribute*/,
                            int /*value*/) {
  return with(Kind::kFunction, function, kNothing);
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache /*config*/) {
  return with(Kind::kFunction, function, kNothing);
}
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig /*config*/) {
  return with(Kind::kFunction, function, kNothing);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize /*dynamic*/,
                                          std::size_t /*dynamic_bytes*/, int limit) {
  if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
  return with(Kind::kFunction, function, [&] {
    *grid = 1;
    *block = limit == 0 ? kThreadsMax : std::min(limit, kThreadsMax);
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkCreate_v2(unsigned int /*count*/, CUjit_option* /*options*/, void** /*values*/,
                         CUlinkState* state) {
  return create(Kind::kLink, state);
}
CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values,
                      CUlinkState* state) {
  return cuLinkCreate_v2(count, options, values, state);
}
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType /*type*/, void* data, std::size_t bytes,
                          const char* /*name*/, unsigned int /*count*/, CUjit_option* /*options*/,
                          void** /*values*/) {
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_link(state, [&](Driver::Link& link) {
    for (Global& global : globals_of({static_cast<const char*>(data), bytes}))
      link.globals.push_back(std::move(global));
  });
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                       const char* name, unsigned int count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}
CUresult cuLinkComplete(CUlinkState state, void** cubin, std::size_t* bytes) {
  if (cubin == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_link(state, [&](Driver::Link& link) {
    link.cubin = cubin_with(link.globals);
    *cubin = link.cubin.data();
    *bytes = link.cubin.size();
  });
}
CUresult cuLinkDestroy(CUlinkState state) {
  (void)with_context([&](Driver& driver, Context&) {
    driver.links().erase(std::bit_cast<Handles::Handle>(state));
    return CUDA_SUCCESS;
  });
  return destroy(Kind::kLink, state);
}

CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* /*what*/,
                           const CUDA_RESOURCE_VIEW_DESC* /*view*/) {
  return resource == nullptr ? CUDA_ERROR_INVALID_VALUE : create(Kind::kTexture, texture);
}
CUresult cuTexObjectDestroy(CUtexObject texture) {
  return destroy(Kind::kTexture, texture);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return tell_setting(reinterpret_cast<std::uint32_t*>(config));
}
CUresult cuCtxSetCacheConfig(CUfunc_cache /*config*/) {
  return ignore_setting();
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return tell_setting(reinterpret_cast<std::uint32_t*>(config));
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig /*config*/) {
  return ignore_setting();
}
CUresult cuProfilerStart() {
  return ignore_setting();
}
CUresult cuProfilerStop() {
  return ignore_setting();
}

// No device sees another's memory.
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    if (!driver.device(device) || !driver.device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    return driver.living(peer) == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                          : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  });
}

// There is no table: what those hold is NVIDIA's, and known to nobody.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  return table == nullptr || id == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

#define CUDA_UNSUPPORTED(symbol, name, since) \
  CUresult symbol() {                         \
    return CUDA_ERROR_NOT_SUPPORTED;          \
  }
#include "abi/cuda_functions.def"

}  // extern "C"
}  // namespace berth::simgpu
