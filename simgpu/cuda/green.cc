// SPDX-License-Identifier: Apache-2.0
// The simulated driver's green contexts: parts of a device that are views of its primary context,
// with which they share all memory. The parts themselves mean nothing here. Any thread may call
// these.
#include <bit>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

// body(driver, that green context)
template <class Body>
CUresult with_green(CUgreenCtx green, Body body) {
  return with_driver([&](Driver& driver) {
    Context* context = driver.living(std::bit_cast<CUcontext>(green));
    const bool is_green = context != nullptr && context->parent != nullptr;
    return is_green ? body(driver, context) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr || type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    if (!driver.device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *resource = {.type = type, .rest = {}};
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* what, CUdevResource* resources,
                                   unsigned int count) {
  if (what == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  *what = std::bit_cast<CUdevResourceDesc>(resources);  // Never looked into.
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc what, CUdevice device,
                          unsigned int flags) {
  constexpr unsigned int kDefaultStream = 1;  // CU_GREEN_CTX_DEFAULT_STREAM
  if (green == nullptr || what == nullptr || flags != kDefaultStream)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Context* made = nullptr;
    const CUresult result = driver.create_green(device, made);
    if (result == CUDA_SUCCESS) *green = std::bit_cast<CUgreenCtx>(made);
    return result;
  });
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  return with_green(green,
                    [](Driver& driver, Context* context) { return driver.destroy_green(context); });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_green(green, [&](Driver&, Context* found) {
    *context = handle_of(found);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
